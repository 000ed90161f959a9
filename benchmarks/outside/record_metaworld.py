"""Record episodes of Meta-World by its own scripted policies, hits and misses.

pip install metaworld
MUJOCO_GL=egl python record_metaworld.py -o rollouts
"""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np
from metaworld import policies
from metaworld.env_dict import ALL_V3_ENVIRONMENTS_GOAL_OBSERVABLE as ENVIRONMENTS
from robot_model import write_robot
from rollouts import Recorder, View, save_rollout

TASKS = {
    "door-open": ("SawyerDoorOpenV3Policy", "opened"),
    "door-close": ("SawyerDoorCloseV3Policy", "closed"),
    "drawer-open": ("SawyerDrawerOpenV3Policy", "opened"),
    "drawer-close": ("SawyerDrawerCloseV3Policy", "closed"),
    "window-open": ("SawyerWindowOpenV3Policy", "opened"),
    "window-close": ("SawyerWindowCloseV3Policy", "closed"),
    "push": ("SawyerPushV3Policy", "pushed"),
    "pick-place": ("SawyerPickPlaceV3Policy", "lifted"),
}
HIDDEN = (4,)  # group of collision geoms
ROBOT = "right_arm_base_link"  # without its pedestal, which is part of the room
STEPS = 110
SETTLED = 12  # steps that a recording goes on after success


def record(task: str, seed: int, *, miss: bool, output: Path) -> None:
    """One episode; a miss acts as if all that is seen were some centimetres aside."""
    policy_name, aim = TASKS[task]
    environment = ENVIRONMENTS[f"{task}-v3-goal-observable"](seed=seed)
    observation, _ = environment.reset()
    rng = np.random.default_rng([seed, 28])
    aside = np.zeros(3)
    if miss:
        angle = rng.uniform(0, 2 * np.pi)
        aside = rng.uniform(0.06, 0.1) * np.array([np.cos(angle), np.sin(angle), 0])
        aside[2] = rng.uniform(0.02, 0.1)
    policy = getattr(policies, policy_name)()
    recorder = Recorder(
        environment.model,
        environment.data,
        ROBOT,
        HIDDEN,
        environment.model.opt.timestep * environment.frame_skip,
    )
    recorder.keep()
    success, after = False, 0
    for _ in range(STEPS):
        seen = observation.copy()
        for first in (4, 22):  # the object, now and in the frame before
            seen[first : first + 3] += aside
        action = np.clip(policy.get_action(seen), -1, 1)
        observation, _, _, _, info = environment.step(action)
        recorder.keep()
        success = success or bool(info["success"])
        after += success
        if after > SETTLED:
            break
    side = (25, 75) if aim in ("pushed", "lifted") else (70, 120)
    view = View(
        target=tuple(np.array([0.0, 0.62, 0.1]) + rng.uniform(-0.05, 0.05, 3)),
        distance=float(rng.uniform(0.85, 1.2)),
        azimuth=float(270 + rng.choice([-1, 1]) * rng.uniform(*side)),
        elevation=float(rng.uniform(-45, -22)),
    )
    arrays = recorder.film(
        view,
        {
            "name": f"metaworld-{task}-{seed}-{'miss' if miss else 'hit'}",
            "source": "metaworld",
            "task": task.replace("-", "_"),
            "aim": aim,
            "variant": "miss" if miss else "hit",
            "success": success,
            "seed": seed,
            "robot": "robots/sawyer.xml",
            "licence": "MIT",
        },
    )
    save_rollout(output / f"metaworld-{task}-{seed}-{'miss' if miss else 'hit'}.npz", arrays)
    robot = output / "robots" / "sawyer.xml"
    if not robot.exists():
        write_robot(environment.model, ROBOT, HIDDEN, robot)
    print(task, seed, "miss" if miss else "hit", "success" if success else "failure", flush=True)


def main() -> None:
    """All tasks; two hits to a miss."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("-o", "--output", type=Path, required=True)
    parser.add_argument("--each", type=int, default=3, help="episodes of each task")
    parser.add_argument("--seed", type=int, default=0, help="of the first episode")
    parser.add_argument("--tasks", nargs="+", default=list(TASKS))
    options = parser.parse_args()
    for task in options.tasks:
        for number in range(options.each):
            record(task, options.seed + number, miss=number % 3 == 2, output=options.output)


if __name__ == "__main__":
    main()
