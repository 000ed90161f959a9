"""`kin4d.imagine` on the files of the demo, with the weights that ship."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import kin4d
from kin4d.episodes.store import shipped_episodes
from kin4d.errors import InputError
from kin4d.export.video import read_image
from kin4d.geometry.camera import Camera
from kin4d.kinematics.arms import load_arm
from kin4d.world.episode_observation import episode_body
from kin4d.world.imagine import ImagineWarning
from kin4d.world.support_plane import SupportPlane

DEMO = Path(kin4d.__file__).parent / "assets" / "demo"
GIVEN = {
    "image": DEMO / "first.png",
    "robot": "kin4d_arm",
    "actions": DEMO / "joints.npz",
    "camera": DEMO / "camera.json",
    "depth": DEMO / "depth.png",
}


def test_video_starts_with_the_image_and_samples_differ_from_it():
    video = kin4d.imagine(**GIVEN, frames=25, num_samples=2, seed=1)
    camera = Camera.load(GIVEN["camera"])
    assert video.rgb.shape == (25, camera.height, camera.width, 3)
    assert video.q.shape == (25, len(video.coordinates))
    assert np.isfinite(video.xyz).mean() > 0.9
    assert (video.mask == 1).any((1, 2)).all()
    (sample,) = video.samples
    np.testing.assert_array_equal(sample.rgb[0], video.rgb[0])
    assert (sample.rgb[-1] != video.rgb[-1]).any()


def test_bad_input_is_refused_with_its_value():
    with pytest.raises(InputError, match="number of samples"):
        kin4d.imagine(**GIVEN, num_samples=0)
    with pytest.raises(InputError, match="depth and its camera differ in size"):
        kin4d.imagine(**{**GIVEN, "depth": np.ones((3, 4))})
    with pytest.raises(InputError, match=r"shape of the depth image.*\[H, W\]"):
        kin4d.imagine(**{**GIVEN, "depth": np.ones((64, 96, 3))})
    for name in ("image", "robot", "actions", "camera", "depth"):
        with pytest.raises(InputError, match=f"{name} to imagine from .*'int'.*a path"):
            kin4d.imagine(**{**GIVEN, name: 3})
    for file, message in (
        (GIVEN["actions"], "not a readable image"),
        ("missing.npy", "missing.npy does not exist"),
    ):
        with pytest.raises(InputError, match=message):
            kin4d.imagine(**{**GIVEN, "depth": file})


def test_other_image_sizes_are_resized_with_a_warning():
    camera = Camera.load(GIVEN["camera"])
    wide = camera.resized(2 * camera.width, 2 * camera.height)
    image = read_image(GIVEN["image"]).repeat(2, 0).repeat(2, 1)
    with pytest.warns(ImagineWarning, match="resized to"):
        video = kin4d.imagine(**{**GIVEN, "image": image, "camera": wide, "depth": None}, frames=2)
    assert video.rgb.shape[1:3] == (camera.height, camera.width)


@pytest.mark.parametrize("with_depth", [True, False])
def test_an_episode_gives_the_same_video_as_its_image_robot_joints_and_camera(with_depth: bool):
    episode = shipped_episodes().episode(1)
    video, joints = episode.video, episode.joints
    assert joints is not None
    actions = kin4d.Actions(kind="joint", values=joints, names=episode.joint_names, fps=episode.fps)
    expected = kin4d.imagine(
        video.rgb[0],
        load_arm(episode.robot).body,
        actions,
        video.camera,
        depth=video.xyz[0, ..., 2] if with_depth else None,
        frames=0,
        measured_gripper=True,
    )
    found = kin4d.imagine_episode(episode, depth=with_depth)
    np.testing.assert_array_equal(found.rgb, expected.rgb)
    np.testing.assert_array_equal(found.xyz, expected.xyz)
    np.testing.assert_array_equal(found.q, joints)
    # The robot stands where the recording shows it.
    assert ((found.mask[0] == 1) == episode.robot_mask[0]).mean() > 0.99


def test_the_table_is_found_or_given_and_the_base_moves_with_its_camera():
    found = kin4d.imagine(**GIVEN, frames=3)
    assert found.support.source == "depth"
    assert found.support.height == pytest.approx(0.0, abs=0.004)
    assert found.fit.iou > 0.9
    given = kin4d.imagine(**GIVEN, frames=3, table_height=-0.2)
    assert given.support.height == -0.2
    assert given.support.source == "given"
    pose = np.eye(4)
    pose[:3, :3] = [[0, -1, 0], [1, 0, 0], [0, 0, 1]]
    pose[:3, 3] = 0.3, -2.0, 0.5
    camera, body = Camera.load(GIVEN["camera"]), kin4d.load_robot("kin4d_arm")
    moved = replace(camera, pose=pose @ np.linalg.inv(body.root) @ camera.pose)
    same = kin4d.imagine(**{**GIVEN, "camera": moved}, frames=3, base_pose=pose)
    assert np.abs(same.rgb.astype(int) - found.rgb).mean() < 0.2
    assert same.support.height == pytest.approx(found.support.height, abs=1e-3)
    with pytest.raises(InputError, match="both a table height and a plane"):
        kin4d.imagine(**GIVEN, table_height=0.0, plane=SupportPlane.at_height(0.0))
    with pytest.raises(InputError, match=r"base.*rigid"):
        kin4d.imagine(**GIVEN, base_pose=2 * np.eye(4))


def test_given_masks_are_followed(tmp_path):
    episode = shipped_episodes().episode(1)
    assert episode.parts is not None
    video, labels = episode.video, np.maximum(episode.parts.mask[0].astype(int) - 1, 0)
    actions = kin4d.Actions(
        kind="joint", values=episode.joints, names=episode.joint_names, fps=episode.fps
    )
    given = {
        "image": video.rgb[0],
        "robot": episode_body(episode),
        "actions": actions,
        "camera": video.camera,
        "depth": video.xyz[0, ..., 2],
        "frames": 0,
        "measured_gripper": True,
    }
    file = tmp_path / "masks.npy"
    np.save(file, labels)
    moved = kin4d.imagine(**given, masks=file)
    still = kin4d.imagine(**given, masks=np.zeros_like(labels))
    part = labels == 1
    away = np.abs(moved.rgb[-1].astype(int) - moved.rgb[0])[part].mean()
    assert away > 3 * np.abs(still.rgb[-1].astype(int) - still.rgb[0])[part].mean()
    with pytest.raises(InputError, match=r"masks of parts.*\[H, W\] integers"):
        kin4d.imagine(**given, masks=np.zeros(labels.shape))
    with pytest.raises(InputError, match="masks and its camera differ in size"):
        kin4d.imagine(**given, masks=labels[1:])


def test_an_episode_without_joints_is_refused():
    episode = replace(shipped_episodes().episode(0), joints=None, joint_names=())
    with pytest.raises(InputError, match="no joint positions"):
        kin4d.imagine_episode(episode)


def test_the_robot_of_an_episode_stands_at_the_base_of_the_episode():
    simulated = shipped_episodes().episode(1)
    imported = replace(simulated, base=np.eye(4))
    for episode in (simulated, imported):
        np.testing.assert_allclose(episode_body(episode).root, episode.base)
