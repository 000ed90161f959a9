"""Movers: points carried as a rigid body, wherever in the room, and learned from lessons."""

import numpy as np
import pytest
import torch

from kin4d.geometry.transforms import rotvec_to_matrix
from kin4d.training import TrainConfig
from kin4d.world.object_world.contact_features import grasped_motion, transformed_points
from kin4d.world.object_world.dynamics import DynamicsConfig, PartDynamics
from kin4d.world.object_world.dynamics_loss import dynamics_loss, evaluate_dynamics
from kin4d.world.object_world.dynamics_sample import (
    load_dynamics_samples,
    make_dynamics_sample,
    save_dynamics_samples,
)
from kin4d.world.object_world.rollout import rollout_parts
from kin4d.world.object_world.train import train_dynamics
from kin4d.world.object_world.windows import sample_windows


def _lesson(seed: int, frames: int = 20, *, carried: bool = True, scene: str = ""):
    """A box on a table, and a hand that carries it along in the second half."""
    dice = np.random.default_rng(seed)
    box = dice.uniform(-0.02, 0.02, (60, 3)) + np.array([0.3, 0.0, 0.03])
    table = dice.uniform(-0.2, 0.2, (200, 3)) * np.array([1, 1, 0]) + np.array([0.3, 0, 0])
    way = dice.uniform(-0.1, 0.1, 3) * [1, 1, 0]
    progress = np.clip(np.linspace(-1, 1, frames), 0, 1)[:, None, None]
    shell = np.concatenate([box * [1, 1, 0] + [[0, 0, 0.06]], box + np.array([0.035, 0, 0])])
    hand = (
        shell
        + progress * way
        + (np.clip(np.linspace(1, -1, frames), 0, 1) * 0.2)[:, None, None] * np.array([0, 0, 1.0])
    )
    motions = np.tile(np.eye(4), (frames, 2, 1, 1))
    motions[:, 1, :3, 3] = carried * progress[:, 0] * way
    return make_dynamics_sample(
        track=hand,
        xyz=np.concatenate([box, table]),
        part=np.concatenate([np.ones(60, int), np.full(200, -1)]),
        motions=motions,
        seconds=0.1,
        opening=np.linspace(1, 0, frames),
        lag=np.linspace(0, 0.02, 3 * frames).reshape(-1, 3),
        scene=scene,
        seed=seed,
    )


def test_what_is_next_to_the_robot_is_carried_exactly_as_it_moves():
    torch.manual_seed(0)
    place = 0.05 * torch.randn(2, 40, 3, dtype=torch.float64)
    turn = torch.tensor([[0.02, 0.0, 0.03], [0.0, -0.04, 0.0]], dtype=torch.float64)
    shift = torch.tensor([[0.01, 0.0, 0.0], [0.0, 0.02, -0.01]], dtype=torch.float64)
    steps = place @ rotvec_to_matrix(turn).mT - place + shift[:, None]
    found, turned = grasped_motion(place, steps, torch.zeros(2, 40, dtype=torch.float64))
    torch.testing.assert_close(found, shift, atol=1e-3, rtol=0)
    torch.testing.assert_close(turned, turn, atol=2e-3, rtol=0)


def test_a_part_moves_the_same_anywhere_on_the_table_and_its_pose_says_how():
    torch.manual_seed(0)
    dynamics = PartDynamics(DynamicsConfig()).eval()
    torch.nn.init.normal_(dynamics.decide[-1].weight, std=0.05)
    track, parts, others, owner, felt = _lesson(1).tensors()
    away = torch.tensor([0.7, -0.4, 0.0])
    poses = rollout_parts(dynamics, track, parts, others, owner, felt, 0.1)
    elsewhere = rollout_parts(dynamics, track + away, parts + away, others + away, owner, felt, 0.1)
    torch.testing.assert_close(elsewhere[..., :3], poses[..., :3], atol=1e-3, rtol=0)
    state = dynamics.begin(parts)
    step = torch.tensor([0.1])
    state, _ = dynamics.step(state, track[:1], track[1:2], others[None], step, felt[None, :2])
    torch.testing.assert_close(
        state.points, transformed_points(state.pose, parts), atol=1e-5, rtol=0
    )


@pytest.mark.parametrize("sense", ["opening", "lag"])
def test_what_the_robot_feels_matters_if_it_is_known(sense):
    torch.manual_seed(0)
    dynamics = PartDynamics(DynamicsConfig()).eval()
    torch.nn.init.normal_(dynamics.decide[-1].weight, std=0.05)
    *arrays, felt = _lesson(1).tensors()
    columns = torch.tensor([sense == "opening"] + [sense == "lag"] * 3)
    nothing, unknown = torch.where(columns, 0.0, felt), torch.where(columns, torch.nan, felt)
    ends = [rollout_parts(dynamics, *arrays, one, 0.1)[-1] for one in (felt, nothing, unknown)]
    assert all(end.isfinite().all() for end in ends)
    assert not torch.allclose(ends[0], ends[1], atol=1e-6)
    assert not torch.allclose(ends[1], ends[2], atol=1e-6)
    deaf = PartDynamics(DynamicsConfig(**{sense: False})).eval()
    assert torch.equal(
        rollout_parts(deaf, *arrays, felt, 0.1), rollout_parts(deaf, *arrays, unknown, 0.1)
    )


def test_what_the_robot_feels_turns_with_the_room():
    lesson = _lesson(1)
    some = next(sample_windows([lesson], batch=16, length=6, seed=0))
    lag = some.felt[..., 1:]
    told = lag.isfinite().flatten(1).all(1)
    assert 0 < told.sum() < 16
    lag = lag[told]
    size = lag.norm(dim=-1)
    there = torch.from_numpy(lesson.felt[:, 1:]).norm(dim=-1)
    assert (size[..., None] - there).abs().amin(-1).max() < 1e-6
    ways = lag[:, -1] / size[:, -1:]
    assert ways[:, 2].std() < 0.02 < ways[:, 0].std()


def test_futures_differ_by_chance_and_agree_by_seed():
    torch.manual_seed(0)
    dynamics = PartDynamics(DynamicsConfig()).eval()
    arrays = _lesson(2).tensors()
    likely = rollout_parts(dynamics, *arrays, 0.1)
    first, again = (
        rollout_parts(dynamics, *arrays, 0.1, torch.Generator().manual_seed(3)) for _ in range(2)
    )
    assert torch.equal(first, again)
    assert not torch.equal(first, likely)


def test_views_make_motions_turn_with_the_room():
    """Asked about one view, a dynamics says what depends on where north is; of many, less so."""
    torch.manual_seed(0)
    dynamics = PartDynamics(DynamicsConfig()).eval()
    torch.nn.init.normal_(dynamics.decide[-1].weight, std=0.05)
    track, parts, others, owner, felt = _lesson(2).tensors()
    c, s = np.cos(0.9), np.sin(0.9)
    turn = torch.tensor([[c, -s, 0], [s, c, 0], [0, 0, 1]], dtype=torch.float32)
    turned = felt.clone()
    turned[:, 1:] = felt[:, 1:] @ turn.T

    def ends(views: int) -> tuple[torch.Tensor, torch.Tensor]:
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr("kin4d.world.object_world.rollout.VIEWS", views)
            one = rollout_parts(dynamics, track, parts, others, owner, felt, 0.1)[-1]
            there = [points @ turn.T for points in (track, parts, others)]
            other = rollout_parts(dynamics, *there, owner, turned, 0.1)[-1]
        places = transformed_points(one, parts)
        return places, transformed_points(other, there[1]) @ turn

    (one, other), (many, others_too) = ends(1), ends(8)
    assert (many - others_too).norm(dim=-1).mean() < 0.5 * (one - other).norm(dim=-1).mean()
    torch.testing.assert_close(
        torch.linalg.det(rollout_parts(dynamics, *_lesson(2).tensors(), 0.1)[..., :3]),
        torch.ones(20, 1),
        atol=1e-4,
        rtol=0,
    )


def test_lessons_survive_the_disk_and_skip_what_shows_no_part(tmp_path):
    lesson = _lesson(3)
    save_dynamics_samples(tmp_path / "lessons.npz", [lesson, _lesson(4)])
    back = load_dynamics_samples(tmp_path / "lessons.npz")[0]
    np.testing.assert_allclose(back.track, lesson.track, atol=3e-5)
    np.testing.assert_allclose(back.motions, lesson.motions)
    np.testing.assert_array_equal(back.owner, lesson.owner)
    np.testing.assert_array_equal(back.felt, lesson.felt)
    room = np.full(9, -1)
    none = np.zeros((20, 0, 4, 4))
    said = make_dynamics_sample(
        track=lesson.track, xyz=np.zeros((9, 3)), part=room, motions=none, seconds=0.1
    )
    assert said is None


def test_windows_depend_on_seed_and_step_alone():
    lessons = [_lesson(5), _lesson(6)]
    stream = sample_windows(lessons, batch=4, length=5, seed=1)
    next(stream)
    second = next(stream)
    again = next(sample_windows(lessons, batch=4, length=5, seed=1, step=1))
    assert torch.equal(second.robot, again.robot)
    assert second.poses.shape == (4, 7, 3, 4)


def test_hits_and_the_misses_they_nearly_were_are_seen_side_by_side():
    hit, miss = (_lesson(7, carried=carried, scene="lift/7") for carried in (True, False))
    batch = next(sample_windows([hit, miss, _lesson(8)], batch=8, length=8, seed=0))
    together, apart = batch.poses[6], batch.poses[7]
    torch.testing.assert_close(together[1, :, 3], apart[1, :, 3], atol=6e-3, rtol=0)
    moved = (batch.poses[6:, -1, :, 3] - batch.poses[6:, 1, :, 3]).norm(dim=-1)
    assert sorted(moved > 0.01) == [False, True]


@pytest.mark.slow
def test_a_dynamics_learns_what_a_hand_carries(tmp_path):
    lessons = [_lesson(seed) for seed in range(6)]
    batch = next(sample_windows(lessons, batch=16, length=6, seed=9))
    torch.manual_seed(0)
    before = float(dynamics_loss(PartDynamics(DynamicsConfig()), batch, 0.0)[0].detach())
    dynamics = train_dynamics(
        lessons, tmp_path, plan=TrainConfig(steps=120, warm=10, average=0.9), batch=16, length=6
    )
    assert float(dynamics_loss(dynamics, batch, 0.0)[0]) < 0.5 * before
    assert evaluate_dynamics(dynamics, lessons)["ratio"] < 0.6
