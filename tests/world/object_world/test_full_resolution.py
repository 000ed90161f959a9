"""Videos drawn at the first image's own resolution, with the motions of a small one."""

from dataclasses import replace

import numpy as np
import pytest
from PIL import Image

import kin4d
from kin4d.episodes.store import shipped_episodes
from kin4d.errors import InputError
from kin4d.world.episode_observation import episode_body, episode_observation
from kin4d.world.model import load_world_model
from kin4d.world.object_world.full_resolution import imagine_large
from kin4d.world.object_world.model import ObjectWorldModel

EPISODE = shipped_episodes().episode(1)


@pytest.fixture(scope="module")
def model() -> ObjectWorldModel:
    model = load_world_model("tiny")
    assert isinstance(model, ObjectWorldModel)
    return model


def test_the_same_size_gives_the_same_parts_and_nearly_the_same_video(model):
    observation = episode_observation(EPISODE)
    small, motion = model.imagine_parts(observation)
    same, drawn = imagine_large(model, observation, observation)
    np.testing.assert_array_equal(motion.motions, drawn.motions)
    assert (motion.part == drawn.part).mean() > 0.99
    assert np.abs(small.rgb.astype(int) - same.rgb).mean() < 0.6


@pytest.mark.parametrize("depth", [True, False])
def test_a_large_video_shows_the_same_motion_with_the_first_image_kept(model, depth):
    video = EPISODE.video
    camera = video.camera.resized(288, 192)
    image = np.asarray(Image.fromarray(video.rgb[0]).resize((288, 192), Image.Resampling.BICUBIC))
    metres = video.xyz[0, ..., 2].repeat(3, 0).repeat(3, 1)
    actions = kin4d.Actions(
        kind="joint", values=EPISODE.joints, names=EPISODE.joint_names, fps=EPISODE.fps
    )
    given = {
        "image": image,
        "robot": episode_body(EPISODE),
        "actions": actions,
        "camera": camera,
        "depth": metres if depth else None,
        "frames": 0,
        "measured_gripper": True,
        "weights": model,
    }
    large = kin4d.imagine(**given, size=(288, 192))
    assert large.rgb.shape == (len(EPISODE), 192, 288, 3)
    np.testing.assert_array_equal(large.rgb[0], image)
    with pytest.warns(match="resized"):
        small = kin4d.imagine(**given)
    shrunk = large.rgb.reshape(len(EPISODE), 64, 3, 96, 3, 3).mean((2, 4))
    assert np.abs(shrunk - small.rgb).mean() < 6
    assert ((large.mask[-1, 1::3, 1::3] == 1) == (small.mask[-1] == 1)).mean() > 0.97
    with pytest.raises(InputError, match=r"size of the video.*96 x 64"):
        kin4d.imagine(**given, size=(30, 20))


def test_other_models_have_one_size(model):
    class Other:
        size, frames = (64, 96), None

    with pytest.raises(InputError, match="predict pixels, not motions"):
        kin4d.imagine(
            EPISODE.video.rgb[0],
            episode_body(EPISODE),
            kin4d.Actions(
                kind="joint", values=EPISODE.joints, names=EPISODE.joint_names, fps=EPISODE.fps
            ),
            replace(EPISODE.video.camera),
            weights=Other(),
            size=(288, 192),
        )
