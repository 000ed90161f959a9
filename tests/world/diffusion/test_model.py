"""A generator answers the call that every world model answers."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from kin4d.errors import InputError
from kin4d.geometry.camera import Camera
from kin4d.geometry.pointmap import PointmapVideo
from kin4d.world.diffusion.codec import PcaCodec
from kin4d.world.diffusion.latent_video import LatentVideoModel, save_latent_video_model
from kin4d.world.diffusion.model import DiffusionWorldModel, video_batch_of
from kin4d.world.observation import Observation


@pytest.fixture
def observation(clips: Callable) -> Observation:
    some = clips([1])
    camera = Camera(
        K=np.array([[32.0, 0, 16], [0, 32, 8], [0, 0, 1]]), pose=np.eye(4), width=32, height=16
    )
    robot = PointmapVideo(
        rgb=some.robot_rgb[0],
        xyz=some.robot_xyz[0].astype(np.float32),
        mask=some.robot_mask[0],
        camera=camera,
        fps=10.0,
        names=("robot",),
    )
    points = np.zeros((9, 1, 3), np.float32)
    return Observation(
        image=some.first_rgb[0],
        xyz=some.first_xyz[0].astype(np.float32),
        robot=robot,
        robot_points=points,
        robot_dense_points=points,
        language="push the block",
        actions=some.actions[0],
    )


def test_the_robot_is_shown_exactly(
    observation: Observation, toy: Callable, pca: PcaCodec, tmp_path: Path
) -> None:
    save_latent_video_model(tmp_path / "weights.safetensors", LatentVideoModel(toy(), pca), {})
    world = DiffusionWorldModel.load(tmp_path)
    assert world.size == (16, 32)
    for seed in (None, 3):
        video = world.imagine(observation, seed=seed)
        robot = video.mask == 1
        assert robot.sum() > 0.9 * observation.robot.mask.sum()
        assert np.array_equal(video.rgb[robot], observation.robot.rgb[robot])
        assert np.array_equal(video.xyz[robot], observation.robot.xyz[robot])


@pytest.mark.parametrize("control", ["text", "embedding", "none", "mask"])
def test_models_that_are_not_shown_the_robot_must_imagine_it(
    control: str, observation: Observation, toy: Callable, pca: PcaCodec
) -> None:
    video = DiffusionWorldModel(LatentVideoModel(toy(control=control), pca)).imagine(observation)
    last = observation.robot.mask[-1] == 1
    assert not np.array_equal(video.rgb[-1][last], observation.robot.rgb[-1][last])


def test_situations_of_other_sizes_are_refused(observation: Observation, toy: Callable) -> None:
    with pytest.raises(InputError, match="differ from those of the model"):
        video_batch_of([observation], toy(frames=13))
    with pytest.raises(InputError, match="actions"):
        video_batch_of([replace(observation, actions=None)], toy(control="embedding"))


def test_arms_with_fewer_joints_are_padded(observation: Observation, toy: Callable) -> None:
    narrow = replace(observation, actions=observation.actions[:, :2])
    found = video_batch_of([narrow, observation], toy(control="embedding")).actions
    assert found.shape == (2, 9, 3)
    assert np.array_equal(found[0, :, :2], found[1, :, :2])
    assert not found[0, :, 2].any()
    with pytest.raises(InputError, match="numbers per action"):
        video_batch_of([observation], toy(control="embedding", actions=2))
