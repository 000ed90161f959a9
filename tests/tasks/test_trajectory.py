"""Paths: actions lead through the poses of their legs."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from kin4d.kinematics.actions import integrate
from kin4d.kinematics.conventions import values_to_poses
from kin4d.tasks.trajectory import RATE, Trajectory, grasp_pose

_METRES = st.floats(-0.3, 0.3)
_ANGLES = st.floats(-1.2, 1.2)


@settings(max_examples=30, deadline=None)
@given(st.tuples(_METRES, _METRES, _METRES), _ANGLES, _ANGLES)
def test_looking_is_rigid_and_tilts_the_approach(at, yaw: float, tilt: float) -> None:
    pose = grasp_pose(np.array(at), yaw=yaw, tilt=tilt)
    assert np.allclose(pose[:3, :3].T @ pose[:3, :3], np.eye(3))
    assert np.linalg.det(pose[:3, :3]) > 0
    assert np.isclose(pose[2, 2], -np.cos(tilt))
    assert np.isclose(pose[2, 0], 0.0)  # fingers close level


@settings(max_examples=30, deadline=None)
@given(st.lists(st.tuples(_METRES, _METRES, _ANGLES), min_size=1, max_size=4))
def test_actions_end_where_the_path_does(ways) -> None:
    trajectory = Trajectory(grasp_pose(np.zeros(3)))
    for x, y, yaw in ways:
        trajectory.go(grasp_pose(np.array([x, y, 0.1]), yaw=yaw))
    trajectory.grip(0.0).wait(0.2)
    actions = trajectory.actions()
    poses = integrate(values_to_poses(actions.values, "rotvec"), trajectory.start, frame="base")
    assert np.abs(poses[-1] - trajectory.end).max() < 1e-6
    assert actions.fps == RATE
    assert actions.gripper is not None
    assert actions.gripper[-1] == 0.0
    assert abs(len(actions) / RATE - sum(leg.seconds for leg in trajectory.legs)) < 1 / RATE
