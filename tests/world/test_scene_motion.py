"""Scene control: parts move as the bodies of a scene do, and the model only paints."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import kin4d
from kin4d.episodes.store import shipped_episodes
from kin4d.errors import InputError
from kin4d.geometry.clip import Clip
from kin4d.geometry.primitives import box
from kin4d.geometry.skin import Skin, SkinAnimation
from kin4d.kinematics.arms import load_arm
from kin4d.world.episode_observation import episode_observation
from kin4d.world.model import load_world_model
from kin4d.world.object_world.segmentation import BACKGROUND
from kin4d.world.scene_motion import scene_motion

EPISODE = shipped_episodes().episode(1)
CAMERA = EPISODE.video.camera


def sliding(way: float, *, frames: int, fps: float, middle: np.ndarray, **changes) -> Clip:
    """A flat tile, 8 cm wide, that slides along x."""
    mesh = box((0.08, 0.08, 0.01), name="tile")
    moves = np.tile(np.eye(4), (frames, 1, 1, 1))
    moves[:, 0, :3, 3] = middle + np.linspace(0, way, frames)[:, None] * [1.0, 0.0, 0.0]
    skin = Skin.rigid(np.zeros(len(mesh.vertices), int), ("tile",))
    animation = SkinAnimation(
        joints=skin.joints, weights=skin.weights, names=skin.names, transforms=moves
    )
    given = {"skin": animation, **changes}
    return Clip(mesh=mesh, vertices=mesh.vertices + moves[:, 0, None, :3, 3], fps=fps, **given)


@pytest.fixture(scope="module")
def middle() -> np.ndarray:
    """[3] m: the middle of what the first frame shows of the part with the most pixels."""
    assert EPISODE.parts is not None
    mask = EPISODE.parts.mask[0]
    counts = np.bincount(mask.ravel())
    counts[:2] = 0
    seen = EPISODE.video.xyz[0][mask == counts.argmax()]
    return CAMERA.pose[:3, :3] @ seen.mean(0) + CAMERA.pose[:3, 3]


def test_links_take_their_pixels_along(middle: np.ndarray) -> None:
    observation = episode_observation(EPISODE)
    seconds = (len(observation) - 1) * observation.seconds
    # Three frames for all of it: between them it goes straight on.
    clip = sliding(0.2, frames=3, fps=2 / seconds, middle=middle)
    motion = scene_motion(observation, [clip])
    assert motion.motions.shape == (len(observation), 1, 4, 4)
    np.testing.assert_allclose(motion.motions[0, 0], np.eye(4), atol=1e-12)
    along = CAMERA.world_to_camera[:3, 0]
    np.testing.assert_allclose(motion.motions[-1, 0, :3, 3], 0.2 * along, atol=1e-9)
    quarter = motion.motions[(len(observation) - 1) // 4, 0, :3, 3]
    np.testing.assert_allclose(quarter, 0.05 * along, atol=1e-9)
    shown = motion.part == 0
    assert shown.sum() > 10
    assert not (shown & (observation.robot.mask[0] > 0)).any()
    points = observation.xyz[shown] @ CAMERA.pose[:3, :3].T + CAMERA.pose[:3, 3]
    assert np.abs(points - middle).max() < 0.12


def test_what_hides_the_body_is_not_moved(middle: np.ndarray) -> None:
    observation = episode_observation(EPISODE)
    ray = middle - CAMERA.pose[:3, 3]
    far = sliding(0.2, frames=3, fps=1.0, middle=middle + 0.1 * ray / np.linalg.norm(ray))
    assert (scene_motion(observation, [far]).part == BACKGROUND).all()


def test_the_model_paints_what_it_is_given(middle: np.ndarray) -> None:
    observation, model = episode_observation(EPISODE), load_world_model("tiny")
    given = scene_motion(observation, [sliding(0.1, frames=2, fps=0.2, middle=middle)])
    video, motion = model.imagine_parts(observation, motion=given)  # pyright: ignore
    assert motion is given
    np.testing.assert_array_equal(video.rgb[0], observation.image)
    seen = given.part == 0
    before = observation.xyz[seen].mean(0)
    goal = given.motions[-1, 0] @ [*before, 1.0]
    pixel = CAMERA.K @ goal[:3]
    x, y = np.rint(pixel[:2] / pixel[2]).astype(int)
    near = np.s_[max(y - 3, 0) : y + 4, max(x - 3, 0) : x + 4]
    assert np.nanmin(np.linalg.norm(video.xyz[-1][near] - goal[:3], axis=-1)) < 0.02
    still = model.imagine_parts(  # pyright: ignore
        observation,
        motion=scene_motion(observation, [sliding(0.0, frames=2, fps=1, middle=middle)]),
    )[0]
    assert (video.rgb[-1] != still.rgb[-1]).any(-1).sum() > 10


def test_imagine_takes_a_scene_as_clips_or_as_a_file(middle: np.ndarray, tmp_path: Path) -> None:
    clip = sliding(0.1, frames=5, fps=2.0, middle=middle)
    actions = kin4d.Actions(
        kind="joint", values=EPISODE.joints, names=EPISODE.joint_names, fps=EPISODE.fps
    )
    given = {
        "image": EPISODE.video.rgb[0],
        "robot": load_arm(EPISODE.robot).body,
        "actions": actions,
        "camera": CAMERA,
        "depth": EPISODE.video.xyz[0, ..., 2],
        "frames": 5,
    }
    given_clip = kin4d.imagine(**given, control="scene", scene=clip)
    clip.save(tmp_path / "scene.npz")
    read = kin4d.imagine(**given, control="scene", scene=tmp_path / "scene.npz")
    np.testing.assert_array_equal(given_clip.rgb, read.rgb)
    large = kin4d.imagine(**given, control="scene", scene=[clip], size=(192, 128))
    assert large.rgb.shape[1:3] == (128, 192)

    soft = sliding(0.1, frames=2, fps=1.0, middle=middle, skin=None)
    for options, message in (
        ({"control": "scene"}, "control 'scene' and no scene"),
        ({"scene": clip}, "control 'robot' and a scene"),
        ({"control": "text"}, "robot, scene"),
        ({"control": "scene", "scene": clip, "num_samples": 2}, "one sample"),
        ({"control": "scene", "scene": soft}, "'tile' deforms"),
        ({"control": "scene", "scene": []}, "rigid links in the scene"),
        ({"control": "scene", "scene": tmp_path / "none.npz"}, "none.npz"),
    ):
        with pytest.raises(InputError, match=message):
            kin4d.imagine(**given, **options)
