"""Rigid worlds: from weights on disk to frames, and what is refused."""

from dataclasses import replace

import numpy as np
import pytest
import torch

from kin4d.errors import InputError
from kin4d.training.checkpoint import load_tensors, save_tensors
from kin4d.world.rigid.gauge import Gauge, GaugeConfig
from kin4d.world.rigid.model import RigidWorld
from kin4d.world.rigid.mover import Mover, MoverConfig
from kin4d.world.rigid.painter import Painter, PainterConfig
from kin4d.world.rigid.seer import Seer, SeerConfig
from kin4d.world.world import World

pytest.importorskip("mujoco")
WIDTHS = (8, 16)


@pytest.fixture(scope="module")
def situation():
    from kin4d.data.episodes.lessons import situation_of
    from kin4d.data.tasks.record import Take, make_episode

    return situation_of(make_episode(Take(task="lift", seed=4), frames=5))


@pytest.fixture
def world():
    torch.manual_seed(0)
    made = RigidWorld(
        Seer(SeerConfig(widths=WIDTHS)),
        Mover(MoverConfig(width=16, memory=16)).eval(),
        Painter(PainterConfig(widths=WIDTHS)),
        Gauge(GaugeConfig(widths=WIDTHS)),
    )
    for network in (made.seer, made.painter, made.gauge):
        torch.nn.init.normal_(network.network.leave.weight, std=0.1)
    return made


def test_frames_have_the_robot_exactly_and_begin_with_the_picture(world, situation):
    nothing = np.full(situation.image.shape[:2], -1)
    video = world.imagine(situation, part=nothing)
    assert len(video) == 5
    np.testing.assert_array_equal(video.rgb[0], situation.image)
    robot = video.mask == 1
    assert robot[1:].any()
    np.testing.assert_array_equal(video.xyz[1:][robot[1:]], situation.robot.xyz[1:][robot[1:]])


def test_weights_come_back_as_they_were(world, situation, tmp_path):
    file = tmp_path / "world.safetensors"
    world.save(file, {"hours": 1})
    back = World.from_pretrained(file)
    np.testing.assert_array_equal(back.imagine(situation).rgb, world.imagine(situation).rgb)


def test_depth_is_told_where_none_is_given(world, situation):
    blind = replace(situation, xyz=np.full_like(situation.xyz, np.nan))
    told = world.measured(blind).xyz
    assert np.isfinite(told).all()
    robot = situation.robot.mask[0] > 0
    np.testing.assert_array_equal(told[robot], situation.robot.xyz[0][robot])
    with pytest.raises(InputError, match="without depth"):
        RigidWorld(world.seer, world.mover).imagine(blind)


def test_other_weights_are_refused(world, tmp_path):
    file = tmp_path / "world.safetensors"
    world.save(file, {})
    save_tensors(tmp_path / "x.safetensors", {"a": torch.zeros(1)}, {"model": "neurok"})
    with pytest.raises(InputError, match="another model"):
        RigidWorld.load(tmp_path / "x.safetensors")
    tensors, about = load_tensors(file)
    about["config"]["mover"]["wheels"] = 4
    save_tensors(tmp_path / "newer.safetensors", tensors, about)
    with pytest.raises(InputError, match="upgrade kin4d"):
        RigidWorld.load(tmp_path / "newer.safetensors")
    with pytest.raises(InputError, match="no such weights"):
        RigidWorld.load("huge")
    file.write_bytes(file.read_bytes()[:1000])
    with pytest.raises(InputError):
        RigidWorld.load(file)
