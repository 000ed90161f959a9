"""The response of an arm's servos: as in MuJoCo until something is touched."""

from __future__ import annotations

import numpy as np
import pytest

pytest.importorskip("mujoco")

from kin4d.envs.mujoco_env import MujocoEnv
from kin4d.envs.servo_response import ServoResponse

SEED = 920_000_000


def test_it_is_as_late_as_the_simulated_arm() -> None:
    env = MujocoEnv(task="lift")
    env.reset(seed=SEED)
    response = ServoResponse(env.scene)
    up = np.tile([0.0, 0.0, 0.02, 0.0, 0.0, 0.0, 1.0], (6, 1))
    env.step_chunk(up)
    commanded = env._servo.q
    # In two pieces, as chunks come: it goes on from where it was.
    env.reset(seed=SEED)
    targets = env._servo.targets(up)
    found = np.concatenate([response.follow(targets[:2]), response.follow(targets[2:])])
    env._carry_out(targets)
    true = env._look()[2]
    np.testing.assert_allclose(found[-1], true, atol=1e-6)
    assert np.abs(found[-1] - commanded).max() > 0.01


def test_nothing_holds_it_back() -> None:
    env = MujocoEnv(task="lift")
    env.reset(seed=SEED)
    down = np.tile([0.0, 0.0, -0.02, 0.0, 0.0, 0.0, 0.0], (20, 1))
    targets = env._servo.targets(down)
    free = ServoResponse(env.scene).follow(targets)[-1]
    env._carry_out(targets)
    held = env._look()[2]
    arm = env.arm
    low = [arm.grasp_pose(q)[2, 3] for q in (targets[-1], free, held)]
    assert low[1] == pytest.approx(low[0], abs=0.03)  # through the table
    assert low[2] > low[1] + 0.03
