from __future__ import annotations

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from kin4d.bodies import pendulum
from kin4d.errors import InputError
from kin4d.geometry.transforms import matrix_to_rotvec, rigid, rotvec_to_matrix
from kin4d.kinematics.ik import solve_ik, track_poses


def tool_poses(body, q: torch.Tensor) -> torch.Tensor:
    return body.link_poses(q)[..., body.link_index("tool"), :, :]


def random_q(body, count: int, seed: int = 0) -> torch.Tensor:
    lower, upper = body.limits.T.numpy()
    return torch.tensor(np.random.default_rng(seed).uniform(lower, upper, (count, len(lower))))


def residuals(body, q: torch.Tensor, targets: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    found = tool_poses(body, q)
    turn = targets[..., :3, :3] @ found[..., :3, :3].mT
    return (targets - found)[..., :3, 3].norm(dim=-1), matrix_to_rotvec(turn).norm(dim=-1)


def test_random_reachable_poses_are_reached_from_cold(arm) -> None:
    targets = tool_poses(arm, random_q(arm, 300))
    result = solve_ik(arm, targets)
    assert result.converged.double().mean() >= 0.995
    position, rotation = residuals(arm, result.q, targets)
    torch.testing.assert_close(position, result.position_error, atol=1e-9, rtol=0)
    torch.testing.assert_close(rotation, result.rotation_error, atol=1e-7, rtol=0)
    assert position[result.converged].max() <= 1e-5
    assert rotation[result.converged].max() <= 1.1e-5
    # The gripper does not move the tool, so nothing moves the gripper.
    assert (result.q[:, 7] == arm.q0[7]).all()


def test_a_batch_gives_what_single_solves_give(arm) -> None:
    targets = tool_poses(arm, random_q(arm, 6)).reshape(2, 3, 4, 4)
    batch = solve_ik(arm, targets)
    assert batch.q.shape == (2, 3, 8)
    assert batch.converged.shape == (2, 3)
    torch.testing.assert_close(solve_ik(arm, targets[1, 2]).q, batch.q[1, 2], rtol=0, atol=0)
    assert solve_ik(arm, torch.empty(0, 4, 4)).q.shape == (0, 8)


def test_a_start_near_the_solution_is_kept(arm) -> None:
    q = random_q(arm, 50) * 0.9
    q = q.clamp(arm.limits[:, 0], arm.limits[:, 1])
    start = q + 0.01
    result = solve_ik(arm, tool_poses(arm, q), q_start=start, restarts=0)
    assert result.converged.all()
    assert (result.q - q)[:, :7].abs().max() < 0.2
    torch.testing.assert_close(result.q[:, 7], start[:, 7], rtol=0, atol=0)


@settings(max_examples=60, deadline=None)
@given(
    position=st.tuples(*[st.floats(-3, 3)] * 3),
    rotvec=st.tuples(*[st.floats(-3, 3)] * 3),
    start=st.tuples(*[st.floats(-10, 10)] * 8),
)
def test_limits_hold_and_reports_are_honest_for_any_target(arm, position, rotvec, start) -> None:
    target = rigid(
        rotvec_to_matrix(torch.tensor(rotvec, dtype=torch.float64)),
        torch.tensor(position, dtype=torch.float64),
    )
    result = solve_ik(arm, target, q_start=torch.tensor(start), restarts=3)
    moved = result.q[:7]
    assert (moved >= arm.limits[:7, 0]).all()
    assert (moved <= arm.limits[:7, 1]).all()
    assert result.q[7] == torch.tensor(start)[7]
    left = residuals(arm, result.q, target)
    torch.testing.assert_close(left[0], result.position_error, atol=1e-8, rtol=1e-8)
    torch.testing.assert_close(left[1], result.rotation_error, atol=1e-6, rtol=1e-6)
    assert bool(result.converged) == bool(max(*left) <= 1e-5) or abs(max(*left) - 1e-5) < 1e-7


def test_an_unreachable_target_is_reported_with_what_is_left(arm) -> None:
    target = tool_poses(arm, arm.q0).clone()
    target[:3, 3] = torch.tensor([5.0, 0.0, 0.5])
    result = solve_ik(arm, target)
    assert not result.converged
    # 5 m from the origin, less the root's 0.2 m, less at most the arm's reach.
    assert 3.2 < result.position_error < 4.8
    assert "not reached" in str(result)
    assert "targets reached" in str(solve_ik(arm, tool_poses(arm, arm.q0)))


def test_a_joint_against_its_limit_is_named() -> None:
    body = pendulum(count=1)
    body.limits[:] = torch.tensor([-0.5, 0.5])
    target = body.link_poses(torch.tensor([0.9], dtype=torch.float64))[1]
    result = solve_ik(body, target, link="rod1")
    assert not result.converged
    assert result.at_limit.tolist() == [True]
    torch.testing.assert_close(result.q, body.limits[:, 1])
    assert result.rotation_error.item() == pytest.approx(0.4, abs=1e-6)


def test_whole_turns_are_undone() -> None:
    body = pendulum(count=1)
    target = body.link_poses(torch.tensor([2.5], dtype=torch.float64))[1]
    start = torch.tensor([20.0], dtype=torch.float64)
    result = solve_ik(body, target, link="rod1", q_start=start)
    assert result.converged
    assert abs(result.q - start) <= torch.pi + 1e-9


def test_posture_pulls_without_disturbing_the_pose(arm) -> None:
    posture = arm.q0.clone()
    posture[2] = 1.2
    targets = tool_poses(arm, random_q(arm, 40, seed=3))
    free = solve_ik(arm, targets, q_start=posture)
    pulled = solve_ik(arm, targets, q_start=posture, posture=posture)
    assert pulled.converged[free.converged].all()
    assert max(residuals(arm, pulled.q, targets)[0]) <= 1e-5

    def distance(q):
        return (q - posture)[:, :7].norm(dim=-1)

    assert (distance(pulled.q) <= distance(free.q) + 1e-9).all()
    assert (distance(pulled.q) < distance(free.q) - 0.05).double().mean() > 0.5


def test_posture_is_where_no_slide_comes_nearer(arm) -> None:
    q = arm.q0 + 0.1
    result = solve_ik(arm, tool_poses(arm, q), q_start=q, posture=arm.q0)
    twist = arm.link_twists(result.q)[arm.link_index("tool")][:, :7]
    slide = torch.linalg.svd(twist).Vh[6]  # the one way to move without moving the tool
    assert not result.at_limit.any()
    assert abs(slide @ (arm.q0 - result.q)[:7]) < 1e-3


def test_follow_is_smooth_and_exact(arm, wave) -> None:
    targets = tool_poses(arm, wave)
    for options in ({"q_start": wave[0]}, {"q_start": wave[0], "posture": arm.q0}, {}):
        result = track_poses(arm, targets, **options)
        assert result.converged.all()
        assert result.q.diff(dim=0).abs().max() < 0.3
    near = track_poses(arm, targets, q_start=wave[0])
    assert near.q.diff(dim=0).abs().max() < 2 * wave.diff(dim=0).abs().max()


def test_follow_reports_the_frames_out_of_reach_and_recovers(arm, wave) -> None:
    targets = tool_poses(arm, wave).clone()
    away = torch.cat([torch.linspace(0, 1, 10), torch.linspace(1, 0, 10)]).to(targets)
    targets[15:35, 0, 3] += 1.5 * away
    result = track_poses(arm, targets, q_start=wave[0], max_step=0.4)
    assert result.converged[:15].all()
    assert not result.converged[24:26].any()
    assert result.position_error[25] > 0.1
    assert result.converged[40:].all()
    assert result.q.diff(dim=0).abs().max() <= 0.4 + 1e-12
    lower, upper = arm.limits.T
    assert ((result.q >= lower) & (result.q <= upper)).all()


def test_a_leap_is_refused_not_taken(arm) -> None:
    q = random_q(arm, 2, seed=5)
    result = track_poses(arm, tool_poses(arm, q), q_start=q[0], max_step=0.1)
    assert result.converged.tolist() == [True, False]
    assert (result.q[1] - result.q[0]).abs().max() <= 0.1 + 1e-12


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"targets": torch.eye(3)}, "4x4"),
        ({"targets": torch.full((4, 4), torch.nan)}, "target 0 holds NaN"),
        ({"targets": 2 * torch.eye(4)}, "not a rigid transform"),
        ({"targets": torch.diag(torch.tensor([1.0, 1, -1, 1]))}, "not a rigid transform"),
        ({"q_start": torch.zeros(5)}, r"\[\.\.\., 8\] for joint1"),
        ({"q_start": torch.zeros(3, 8)}, "do not match the targets"),
        ({"posture": torch.zeros(2, 8)}, "one configuration"),
        ({"tolerance": (0.0, 1e-3)}, "two positive numbers"),
        ({"link": "nothing"}, "no link 'nothing'"),
    ],
)
def test_bad_input(arm, change, words) -> None:
    with pytest.raises(InputError, match=words):
        solve_ik(**{"body": arm, "targets": torch.eye(4), **change})


def test_bad_trajectories(arm) -> None:
    with pytest.raises(InputError, match="trajectory"):
        track_poses(arm, torch.eye(4))
    with pytest.raises(InputError, match="max_step"):
        track_poses(arm, torch.eye(4)[None], max_step=0.0)
