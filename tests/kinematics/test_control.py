from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import torch

from kin4d.errors import InputError
from kin4d.kinematics.actions import Actions
from kin4d.kinematics.control import actions_to_q, q_to_actions


def tool_poses(body, q):
    return body.link_poses(q)[..., body.link_index("tool"), :, :]


@pytest.mark.parametrize("kind", ["joint", "joint_delta"])
def test_joint_actions_round_trip(arm, wave, kind) -> None:
    actions = q_to_actions(wave, arm, kind=kind, fps=15, q_start=arm.q0)
    q, report = actions_to_q(actions, arm, q_start=arm.q0)
    assert report is None
    torch.testing.assert_close(q, wave, atol=1e-12, rtol=0)


@pytest.mark.parametrize("frame", ["base", "tool"])
@pytest.mark.parametrize("rotation", ["rotvec", "quaternion_wxyz", "euler_xyz", "rot6d"])
@pytest.mark.parametrize("kind", ["pose", "pose_delta"])
def test_pose_actions_round_trip(arm, wave, kind, rotation, frame) -> None:
    actions = q_to_actions(wave, arm, kind=kind, fps=15, rotation=rotation, frame=frame)
    q, report = actions_to_q(actions, arm, q_start=wave[0])
    assert report is not None
    assert report.converged.all()
    torch.testing.assert_close(tool_poses(arm, q), tool_poses(arm, wave), atol=3e-5, rtol=0)
    assert q.diff(dim=0).abs().max() < 0.3


def test_poses_are_in_the_base_frame(arm) -> None:
    actions = q_to_actions(arm.q0[None], arm, kind="pose", fps=15, rotation="matrix")
    expected = np.linalg.inv(arm.root) @ tool_poses(arm, arm.q0).numpy()
    np.testing.assert_allclose(actions.values[0, :3], expected[:3, 3], atol=1e-12)
    np.testing.assert_allclose(actions.values[0, 3:], expected[:3, :3].ravel(), atol=1e-12)


def test_absolute_poses_need_no_start(arm, wave) -> None:
    actions = q_to_actions(wave, arm, kind="pose", fps=15)
    q, report = actions_to_q(actions, arm)
    assert report.converged.all()
    torch.testing.assert_close(tool_poses(arm, q), tool_poses(arm, wave), atol=3e-5, rtol=0)


def test_deltas_that_lead_out_of_reach_are_reported(arm) -> None:
    values = np.zeros((30, 6))
    values[:, 0] = 0.1
    actions = Actions(kind="pose_delta", values=values, fps=15)
    _, report = actions_to_q(actions, arm)
    assert report.converged[0]
    assert not report.converged[-1]
    assert report.position_error[-1] > 1.0


def test_joint_columns_go_by_name_or_by_the_arm(arm) -> None:
    values = np.arange(1.0, 8.0)[None] / 10
    q, _ = actions_to_q(Actions(kind="joint", values=values, fps=15), arm)
    torch.testing.assert_close(q[0, :7], torch.tensor(values[0]))
    assert q[0, 7] == arm.q0[7]
    names = ("joint3", "left")
    named = Actions(kind="joint_delta", values=np.array([[0.1, 0.01]]), fps=15, names=names)
    q, _ = actions_to_q(named, arm)
    change = (q[0] - arm.q0).tolist()
    assert change == pytest.approx([0, 0, 0.1, 0, 0, 0, 0, 0.01])


def test_wrong_joints_name_the_right_ones(arm) -> None:
    actions = Actions(kind="joint", values=np.zeros((2, 6)), fps=15)
    with pytest.raises(InputError, match=r"got 6.*7 columns: joint1, .*joint7; or all 8"):
        actions_to_q(actions, arm)
    with pytest.raises(InputError, match=r"'elbow'.*joint1, joint2"):
        actions_to_q(replace(actions, names=("elbow", *"abcde")), arm)
    with pytest.raises(InputError, match="one configuration"):
        actions_to_q(actions, arm, q_start=torch.zeros(2, 8))
    with pytest.raises(InputError, match="unknown kind"):
        q_to_actions(torch.zeros(2, 8), arm, kind="torque", fps=15)
