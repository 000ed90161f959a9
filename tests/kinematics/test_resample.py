from __future__ import annotations

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from kin4d.bodies import pendulum
from kin4d.errors import InputError
from kin4d.kinematics.actions import Actions, integrate
from kin4d.kinematics.control import actions_to_q, q_to_actions
from kin4d.kinematics.conventions import values_to_poses
from kin4d.kinematics.resample import resample, resampled_fps


@settings(max_examples=30, deadline=None)
@given(before=st.integers(1, 60), after=st.integers(2, 60))
def test_ends_and_duration_are_kept(before, after) -> None:
    q = np.random.default_rng(before).normal(size=(before, 3))
    out = resample(q, after)
    assert out.shape == (after, 3)
    np.testing.assert_allclose(out[[0, -1]], q[[0, -1]])
    if before > 1:
        actions = resample(Actions(kind="joint", values=q, fps=15.0), after)
        assert (after - 1) / actions.fps == pytest.approx((before - 1) / 15.0)
        np.testing.assert_allclose(actions.values, out)


def test_one_frame_keeps_its_rate() -> None:
    assert resampled_fps(15.0, 60, 1) == resampled_fps(15.0, 1, 49) == 15.0


def test_straight_lines_stay_straight() -> None:
    q = torch.linspace(0, 1, 11, dtype=torch.float64)[:, None]
    torch.testing.assert_close(resample(q, 49)[:, 0], torch.linspace(0, 1, 49, dtype=torch.float64))
    assert len(resample(q)) == 49


def test_rotations_take_the_shortest_turn_at_even_speed() -> None:
    values = np.zeros((2, 7))
    values[:, 3] = 1.0
    values[1, 3:] = -np.cos(0.4), 0, 0, -np.sin(0.4)  # 0.8 rad about z, written as its negative
    actions = Actions(kind="pose", values=values, fps=1, rotation="quaternion_wxyz")
    poses = values_to_poses(resample(actions, 5).values, "quaternion_wxyz")
    angles = np.arctan2(poses[:, 1, 0], poses[:, 0, 0])
    np.testing.assert_allclose(angles, np.linspace(0, 0.8, 5), atol=1e-12)


@pytest.mark.parametrize("frame", ["base", "tool"])
@pytest.mark.parametrize("frames", [10, 49, 130])
def test_deltas_lead_to_the_same_place(arm, wave, frame, frames) -> None:
    for kind in ("joint_delta", "pose_delta"):
        actions = q_to_actions(wave, arm, kind=kind, fps=15, frame=frame)
        out = resample(actions, frames)
        assert len(out) == frames
        assert frames / out.fps == pytest.approx(len(wave) / 15)
        if kind == "joint_delta":
            np.testing.assert_allclose(out.values.sum(0), actions.values.sum(0), atol=1e-12)
            continue
        ends = [
            integrate(values_to_poses(a.values, "rotvec"), np.eye(4), frame=frame)[-1]
            for a in (actions, out)
        ]
        np.testing.assert_allclose(ends[0], ends[1], atol=1e-9)


def test_resampled_poses_can_still_be_followed(arm, wave) -> None:
    actions = resample(q_to_actions(wave, arm, kind="pose", fps=15), 20)
    _, report = actions_to_q(actions, arm, q_start=wave[0])
    assert report.converged.all()


def test_joints_without_limits_go_the_short_way_round() -> None:
    body = pendulum(count=1)
    wrapped = np.array([[3.0], [-3.0]])
    assert resample(wrapped, 3)[1, 0] == pytest.approx(0.0)
    middle = resample(wrapped, 3, body=body)[1, 0]
    assert middle == pytest.approx(np.pi)
    assert (
        resample(Actions(kind="joint", values=wrapped, fps=1), 3, body=body).values[1, 0] == middle
    )


def test_the_gripper_comes_along_and_bad_counts_are_refused() -> None:
    actions = Actions(kind="joint", values=np.zeros((3, 2)), fps=1, gripper=[0.0, 0.5, 1.0])
    np.testing.assert_allclose(resample(actions, 5).gripper, [0, 0.25, 0.5, 0.75, 1])
    with pytest.raises(InputError, match="at least 1"):
        resample(actions, 0)
