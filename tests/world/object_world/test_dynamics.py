"""Part dynamics: rigid motion, invariant to position, learned from samples."""

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
from kin4d.world.object_world.dynamics_windows import sample_windows
from kin4d.world.object_world.part_rollout import rollout_parts
from kin4d.world.object_world.train import train_dynamics


def _sample(seed: int, frames: int = 20, *, carried: bool = True, scene: str = ""):
    """A box on a table, and a hand that moves it in the second half."""
    rng = np.random.default_rng(seed)
    box = rng.uniform(-0.02, 0.02, (60, 3)) + np.array([0.3, 0.0, 0.03])
    table = rng.uniform(-0.2, 0.2, (200, 3)) * np.array([1, 1, 0]) + np.array([0.3, 0, 0])
    motion = rng.uniform(-0.1, 0.1, 3) * [1, 1, 0]
    progress = np.clip(np.linspace(-1, 1, frames), 0, 1)[:, None, None]
    shell = np.concatenate([box * [1, 1, 0] + [[0, 0, 0.06]], box + np.array([0.035, 0, 0])])
    hand = (
        shell
        + progress * motion
        + (np.clip(np.linspace(1, -1, frames), 0, 1) * 0.2)[:, None, None] * np.array([0, 0, 1.0])
    )
    motions = np.tile(np.eye(4), (frames, 2, 1, 1))
    motions[:, 1, :3, 3] = carried * progress[:, 0] * motion
    return make_dynamics_sample(
        robot_points=hand,
        xyz=np.concatenate([box, table]),
        part=np.concatenate([np.ones(60, int), np.full(200, -1)]),
        motions=motions,
        seconds=0.1,
        gripper_opening=np.linspace(1, 0, frames),
        ee_tracking_error=np.linspace(0, 0.02, 3 * frames).reshape(-1, 3),
        scene=scene,
        seed=seed,
    )


def test_grasped_motion_is_that_of_the_nearby_points():
    torch.manual_seed(0)
    position = 0.05 * torch.randn(2, 40, 3, dtype=torch.float64)
    rotation = torch.tensor([[0.02, 0.0, 0.03], [0.0, -0.04, 0.0]], dtype=torch.float64)
    translation = torch.tensor([[0.01, 0.0, 0.0], [0.0, 0.02, -0.01]], dtype=torch.float64)
    steps = position @ rotvec_to_matrix(rotation).mT - position + translation[:, None]
    found, rotated = grasped_motion(position, steps, torch.zeros(2, 40, dtype=torch.float64))
    torch.testing.assert_close(found, translation, atol=1e-3, rtol=0)
    torch.testing.assert_close(rotated, rotation, atol=2e-3, rtol=0)


def test_motion_does_not_depend_on_position_and_matches_the_pose():
    torch.manual_seed(0)
    dynamics = PartDynamics(DynamicsConfig()).eval()
    torch.nn.init.normal_(dynamics.decide[-1].weight, std=0.05)
    robot_points, parts, others, owner, proprioception = _sample(1).tensors()
    away = torch.tensor([0.7, -0.4, 0.0])
    poses = rollout_parts(dynamics, robot_points, parts, others, owner, proprioception, 0.1)
    elsewhere = rollout_parts(
        dynamics, robot_points + away, parts + away, others + away, owner, proprioception, 0.1
    )
    torch.testing.assert_close(elsewhere[..., :3], poses[..., :3], atol=1e-3, rtol=0)
    state = dynamics.initial_state(parts)
    step = torch.tensor([0.1])
    state, _ = dynamics.step(
        state, robot_points[:1], robot_points[1:2], others[None], step, proprioception[None, :2]
    )
    torch.testing.assert_close(
        state.points, transformed_points(state.pose, parts), atol=1e-5, rtol=0
    )


@pytest.mark.parametrize("sense", ["opening", "lag"])
def test_proprioception_changes_the_prediction_if_known(sense):
    torch.manual_seed(0)
    dynamics = PartDynamics(DynamicsConfig()).eval()
    torch.nn.init.normal_(dynamics.decide[-1].weight, std=0.05)
    *arrays, proprioception = _sample(1).tensors()
    columns = torch.tensor([sense == "opening"] + [sense == "lag"] * 3)
    nothing, unknown = (
        torch.where(columns, 0.0, proprioception),
        torch.where(columns, torch.nan, proprioception),
    )
    final_poses = [
        rollout_parts(dynamics, *arrays, one, 0.1)[-1] for one in (proprioception, nothing, unknown)
    ]
    assert all(end.isfinite().all() for end in final_poses)
    assert not torch.allclose(final_poses[0], final_poses[1], atol=1e-6)
    assert not torch.allclose(final_poses[1], final_poses[2], atol=1e-6)
    without_input = PartDynamics(DynamicsConfig(**{sense: False})).eval()
    assert torch.equal(
        rollout_parts(without_input, *arrays, proprioception, 0.1),
        rollout_parts(without_input, *arrays, unknown, 0.1),
    )


def test_tracking_error_rotates_with_the_scene():
    sample = _sample(1)
    batch = next(sample_windows([sample], batch=16, length=6, seed=0))
    ee_tracking_error = batch.proprioception[..., 1:]
    known = ee_tracking_error.isfinite().flatten(1).all(1)
    assert 0 < known.sum() < 16
    ee_tracking_error = ee_tracking_error[known]
    size = ee_tracking_error.norm(dim=-1)
    moved_inputs = torch.from_numpy(sample.proprioception[:, 1:]).norm(dim=-1)
    assert (size[..., None] - moved_inputs).abs().amin(-1).max() < 1e-6
    directions = ee_tracking_error[:, -1] / size[:, -1:]
    assert directions[:, 2].std() < 0.02 < directions[:, 0].std()


def test_samples_differ_and_are_reproducible_by_seed():
    torch.manual_seed(0)
    dynamics = PartDynamics(DynamicsConfig()).eval()
    arrays = _sample(2).tensors()
    most_likely = rollout_parts(dynamics, *arrays, 0.1)
    first, again = (
        rollout_parts(dynamics, *arrays, 0.1, torch.Generator().manual_seed(3)) for _ in range(2)
    )
    assert torch.equal(first, again)
    assert not torch.equal(first, most_likely)


def test_averaging_views_makes_motion_rotate_with_the_scene():
    """Predictions from one view depend on the orientation of the scene; from many, less so."""
    torch.manual_seed(0)
    dynamics = PartDynamics(DynamicsConfig()).eval()
    torch.nn.init.normal_(dynamics.decide[-1].weight, std=0.05)
    robot_points, parts, others, owner, proprioception = _sample(2).tensors()
    c, s = np.cos(0.9), np.sin(0.9)
    rotation = torch.tensor([[c, -s, 0], [s, c, 0], [0, 0, 1]], dtype=torch.float32)
    rotated = proprioception.clone()
    rotated[:, 1:] = proprioception[:, 1:] @ rotation.T

    def final_poses(views: int) -> tuple[torch.Tensor, torch.Tensor]:
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr("kin4d.world.object_world.part_rollout.VIEWS", views)
            one = rollout_parts(dynamics, robot_points, parts, others, owner, proprioception, 0.1)[
                -1
            ]
            moved_inputs = [points @ rotation.T for points in (robot_points, parts, others)]
            other = rollout_parts(dynamics, *moved_inputs, owner, rotated, 0.1)[-1]
        points_one = transformed_points(one, parts)
        return points_one, transformed_points(other, moved_inputs[1]) @ rotation

    (one, other), (many, others_too) = final_poses(1), final_poses(8)
    assert (many - others_too).norm(dim=-1).mean() < 0.5 * (one - other).norm(dim=-1).mean()
    torch.testing.assert_close(
        torch.linalg.det(rollout_parts(dynamics, *_sample(2).tensors(), 0.1)[..., :3]),
        torch.ones(20, 1),
        atol=1e-4,
        rtol=0,
    )


def test_samples_are_saved_and_scenes_without_parts_skipped(tmp_path):
    sample = _sample(3)
    save_dynamics_samples(tmp_path / "samples.npz", [sample, _sample(4)])
    loaded = load_dynamics_samples(tmp_path / "samples.npz")[0]
    np.testing.assert_allclose(loaded.robot_points, sample.robot_points, atol=3e-5)
    np.testing.assert_allclose(loaded.motions, sample.motions)
    np.testing.assert_array_equal(loaded.owner, sample.owner)
    np.testing.assert_array_equal(loaded.proprioception, sample.proprioception)
    room = np.full(9, -1)
    none = np.zeros((20, 0, 4, 4))
    empty = make_dynamics_sample(
        robot_points=sample.robot_points, xyz=np.zeros((9, 3)), part=room, motions=none, seconds=0.1
    )
    assert empty is None


def test_windows_depend_on_seed_and_step_alone():
    samples = [_sample(5), _sample(6)]
    stream = sample_windows(samples, batch=4, length=5, seed=1)
    next(stream)
    second = next(stream)
    again = next(sample_windows(samples, batch=4, length=5, seed=1, step=1))
    assert torch.equal(second.robot, again.robot)
    assert second.poses.shape == (4, 7, 3, 4)


def test_successes_and_near_misses_are_in_one_batch():
    hit, miss = (_sample(7, carried=carried, scene="lift/7") for carried in (True, False))
    batch = next(sample_windows([hit, miss, _sample(8)], batch=8, length=8, seed=0))
    together, apart = batch.poses[6], batch.poses[7]
    torch.testing.assert_close(together[1, :, 3], apart[1, :, 3], atol=6e-3, rtol=0)
    moved = (batch.poses[6:, -1, :, 3] - batch.poses[6:, 1, :, 3]).norm(dim=-1)
    assert sorted(moved > 0.01) == [False, True]


@pytest.mark.slow
def test_dynamics_learns_a_carried_object(tmp_path):
    samples = [_sample(seed) for seed in range(6)]
    batch = next(sample_windows(samples, batch=16, length=6, seed=9))
    torch.manual_seed(0)
    before = float(dynamics_loss(PartDynamics(DynamicsConfig()), batch, 0.0)[0].detach())
    dynamics = train_dynamics(
        samples,
        tmp_path,
        train_config=TrainConfig(steps=120, warmup_steps=10, ema_decay=0.9),
        batch=16,
        length=6,
    )
    assert float(dynamics_loss(dynamics, batch, 0.0)[0]) < 0.5 * before
    assert evaluate_dynamics(dynamics, samples)["ratio"] < 0.6
