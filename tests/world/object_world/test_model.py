"""ObjectWorldModel: from weights on disk to frames; invalid weights are refused."""

from dataclasses import replace

import numpy as np
import pytest
import torch

from kin4d.errors import InputError
from kin4d.training.checkpoint import load_tensors, save_tensors
from kin4d.world.model import load_world_model
from kin4d.world.object_world.depth import DepthConfig, DepthNet
from kin4d.world.object_world.dynamics import DynamicsConfig, PartDynamics
from kin4d.world.object_world.model import ObjectWorldModel
from kin4d.world.object_world.refinement import RefineConfig, RefineNet
from kin4d.world.object_world.segmentation import PartSegmenter, SegmenterConfig

pytest.importorskip("mujoco")
WIDTHS = (8, 16)


@pytest.fixture(scope="module")
def observation():
    from kin4d.tasks.record import EpisodeSpec, make_episode
    from kin4d.world.episode_observation import episode_observation

    return episode_observation(make_episode(EpisodeSpec(task="lift", seed=4), frames=5))


@pytest.fixture
def model():
    torch.manual_seed(0)
    model = ObjectWorldModel(
        PartSegmenter(SegmenterConfig(widths=WIDTHS)),
        PartDynamics(DynamicsConfig(width=16, memory=16)).eval(),
        RefineNet(RefineConfig(widths=WIDTHS)),
        DepthNet(DepthConfig(widths=WIDTHS)),
    )
    for network in (model.segmentation, model.refinement, model.depth):
        torch.nn.init.normal_(network.network.leave.weight, std=0.1)
    return model


def test_frames_contain_the_exact_robot_and_start_with_the_image(model, observation):
    nothing = np.full(observation.image.shape[:2], -1)
    video = model.imagine(observation, part=nothing)
    assert len(video) == 5
    np.testing.assert_array_equal(video.rgb[0], observation.image)
    robot = video.mask == 1
    assert robot[1:].any()
    np.testing.assert_array_equal(video.xyz[1:][robot[1:]], observation.robot.xyz[1:][robot[1:]])


def test_weights_are_saved_and_loaded(model, observation, tmp_path):
    file = tmp_path / "world.safetensors"
    model.save(file, {"hours": 1})
    loaded = load_world_model(file)
    np.testing.assert_array_equal(loaded.imagine(observation).rgb, model.imagine(observation).rgb)


def test_depth_is_predicted_where_none_is_given(model, observation):
    without_depth = replace(observation, xyz=np.full_like(observation.xyz, np.nan))
    predicted = model.with_depth(without_depth).xyz
    assert np.isfinite(predicted).all()
    robot = observation.robot.mask[0] > 0
    np.testing.assert_array_equal(predicted[robot], observation.robot.xyz[0][robot])
    with pytest.raises(InputError, match="without depth"):
        ObjectWorldModel(model.segmentation, model.dynamics).imagine(without_depth)


def test_other_weights_are_refused(model, tmp_path):
    file = tmp_path / "world.safetensors"
    model.save(file, {})
    save_tensors(tmp_path / "x.safetensors", {"a": torch.zeros(1)}, {"model": "neurok"})
    with pytest.raises(InputError, match="another model"):
        ObjectWorldModel.load(tmp_path / "x.safetensors")
    tensors, about = load_tensors(file)
    about["config"]["dynamics"]["wheels"] = 4
    save_tensors(tmp_path / "newer.safetensors", tensors, about)
    with pytest.raises(InputError, match="upgrade kin4d"):
        ObjectWorldModel.load(tmp_path / "newer.safetensors")
    with pytest.raises(InputError, match="no such weights"):
        ObjectWorldModel.load("huge")
    file.write_bytes(file.read_bytes()[:1000])
    with pytest.raises(InputError):
        ObjectWorldModel.load(file)
