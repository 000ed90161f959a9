"""Record episodes of robosuite by scripted motions of the hand, hits and misses.

pip install robosuite
MUJOCO_GL=egl python record_robosuite.py -o rollouts
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import robosuite
from robot_model import write_robot
from rollouts import Recorder, View, save_rollout

HIDDEN = (0,)  # group of collision geoms
ROBOT = "robot0_link0"  # without its mount, which is part of the room
OPEN, CLOSED = -1.0, 1.0
CONTROL_HZ = 20
_STEP = 0.05  # m that the hand goes at most per action of size 1
_TURN = 0.5  # rad, the same

Motion = Iterator[tuple[np.ndarray, float, float]]
"""Targets of the hand, one after the other: place [3] m, yaw rad, gripper."""


@dataclass(frozen=True)
class Task:
    """A robosuite environment and how the hand moves in it.

    Attributes:
        environment: Its name.
        aim: What a hit does.
        target: Name of the observation that the hand goes to.
        motion: Targets, given observations, where to grasp [3] m, and its yaw.
        options: Of the environment.
        reach: m from the target to where the hand grasps, in the target's own axes.
        distance: How much farther away the camera is than for small objects.
        side: Degrees of the camera off the direction that faces the robot.
    """

    environment: str
    aim: str
    target: str
    motion: Callable[[dict[str, np.ndarray], np.ndarray, float, np.random.Generator], Motion]
    options: dict[str, Any]
    reach: tuple[float, float, float] = (0.0, 0.0, 0.0)
    side: tuple[float, float] = (15.0, 75.0)
    distance: float = 1.0


def lift(
    seen: dict[str, np.ndarray], at: np.ndarray, yaw: float, rng: np.random.Generator
) -> Motion:
    """Down, close, up and sideways."""
    yield at + _by(0, 0, 0.12), yaw, OPEN
    yield at, yaw, OPEN
    yield at, yaw, CLOSED
    yield at + _by(*rng.uniform(-0.08, 0.08, 2), rng.uniform(0.12, 0.2)), yaw, CLOSED


def stack(
    seen: dict[str, np.ndarray], at: np.ndarray, yaw: float, rng: np.random.Generator
) -> Motion:
    """One cube onto the other, then let go and back up."""
    below = seen["cubeB_pos"]
    yield at + _by(0, 0, 0.1), yaw, OPEN
    yield at, yaw, OPEN
    yield at, yaw, CLOSED
    yield at + _by(0, 0, 0.13), yaw, CLOSED
    yield np.append(below[:2], at[2] + 0.13), yaw, CLOSED
    yield np.append(below[:2], below[2] + 0.055), yaw, CLOSED
    yield np.append(below[:2], below[2] + 0.055), yaw, OPEN
    yield np.append(below[:2], below[2] + 0.15), yaw, OPEN


def push(
    seen: dict[str, np.ndarray], at: np.ndarray, yaw: float, rng: np.random.Generator
) -> Motion:
    """Closed fingers, beside the cube, then through where it is."""
    angle = rng.uniform(0, 2 * np.pi)
    way = np.array([np.cos(angle), np.sin(angle), 0.0])
    yield at - 0.1 * way + (0, 0, 0.12), 0.0, CLOSED
    yield at - 0.1 * way + (0, 0, 0.005), 0.0, CLOSED
    yield at + rng.uniform(0.06, 0.14) * way + (0, 0, 0.005), 0.0, CLOSED


def open_door(
    seen: dict[str, np.ndarray], at: np.ndarray, yaw: float, rng: np.random.Generator
) -> Motion:
    """Over the door, down behind its free edge, then forwards."""
    edge = at + _by(0.05, 0, 0)
    yield edge + _by(0, 0.25, 0.42), 0.0, CLOSED
    yield edge + _by(0, -0.2, 0.42), 0.0, CLOSED
    yield edge + _by(0, -0.2, 0.2), 0.0, CLOSED
    yield edge + _by(-0.02, rng.uniform(0.0, 0.12), 0.2), 0.0, CLOSED


TASKS = {
    "lift": Task("Lift", "lifted", "cube", lift, {}),
    "push": Task("Lift", "pushed", "cube", push, {}),
    "stack": Task("Stack", "lifted", "cubeA", stack, {}),
    "can": Task("PickPlaceCan", "lifted", "Can", lift, {}, (0, 0, 0.02)),
    "nut": Task("NutAssemblySquare", "lifted", "SquareNut", lift, {}, (0.054, 0, 0.0)),
    "door": Task(
        "Door",
        "opened",
        "handle",
        open_door,
        {"use_latch": False},
        side=(75.0, 115.0),
        distance=1.4,
    ),
}


def record(name: str, seed: int, *, miss: bool, output: Path) -> None:
    """One episode; in a miss the hand goes to a place some centimetres aside."""
    task, rng = TASKS[name], np.random.default_rng([seed, 28])
    np.random.seed(seed)  # noqa: NPY002 - robosuite 1.5 places objects by it
    environment = robosuite.make(
        task.environment,
        robots="Panda",
        has_renderer=False,
        has_offscreen_renderer=False,
        use_camera_obs=False,
        control_freq=CONTROL_HZ,
        horizon=1000,
        seed=seed,
        **task.options,
    )
    seen = environment.reset()
    model, data = environment.sim.model._model, environment.sim.data._data
    model.vis.global_.fovy = 45.0
    for _ in range(6):  # objects are dropped a little above the table
        seen = environment.step(np.append(np.zeros(6), OPEN))[0]
    recorder = Recorder(model, data, ROBOT, HIDDEN, 1 / CONTROL_HZ)
    recorder.keep()
    at, yaw = _grasp(seen, task)
    if miss:
        angle = rng.uniform(0, 2 * np.pi)
        at = at + rng.uniform(0.05, 0.09) * np.array([np.cos(angle), np.sin(angle), 0])
    zero = _yaw(seen["robot0_eef_quat"])
    start = seen[f"{task.target}_pos"].copy()
    highest = start[2]
    for place, turned, gripper in task.motion(seen, at, yaw, rng):
        for step in range(40):
            error = place - seen["robot0_eef_pos"]
            turn = (turned - (_yaw(seen["robot0_eef_quat"]) - zero) + np.pi / 2) % np.pi - np.pi / 2
            action = np.zeros(7)
            action[:3] = np.clip(2.5 * error / _STEP * 0.4, -0.8, 0.8)
            action[5] = np.clip(1.5 * turn / _TURN, -1, 1)
            action[6] = gripper
            seen = environment.step(action)[0]
            recorder.keep()
            highest = max(highest, seen[f"{task.target}_pos"][2])
            if np.linalg.norm(error) < 0.012 and abs(turn) < 0.08 and step >= 10:
                break
    moved = float(np.linalg.norm(seen[f"{task.target}_pos"] - start))
    success = {
        "lifted": highest - start[2] > 0.04,
        "pushed": moved > 0.03,
        "opened": moved > 0.05,
    }[task.aim]
    table = np.append(at[:2], start[2])
    base = data.body(ROBOT).xpos
    view = View(
        target=tuple(0.85 * table + 0.15 * base + (0, 0, 0.1) + rng.uniform(-0.04, 0.04, 3)),
        distance=float(rng.uniform(0.7, 1.0) * task.distance),
        azimuth=float(180 + rng.choice([-1, 1]) * rng.uniform(*task.side)),
        elevation=float(rng.uniform(-42, -20)),
    )
    variant = "miss" if miss else "hit"
    arrays = recorder.film(
        view,
        {
            "name": f"robosuite-{name}-{seed}-{variant}",
            "source": "robosuite",
            "task": name,
            "aim": task.aim,
            "variant": variant,
            "success": bool(success),
            "seed": seed,
            "robot": "robots/panda.xml",
            "licence": "MIT",
        },
    )
    save_rollout(output / f"robosuite-{name}-{seed}-{variant}.npz", arrays)
    robot = output / "robots" / "panda.xml"
    if not robot.exists():
        write_robot(model, ROBOT, HIDDEN, robot)
    print(name, seed, variant, "success" if success else "failure", flush=True)


def _grasp(seen: dict[str, np.ndarray], task: Task) -> tuple[np.ndarray, float]:
    """Where the hand grasps, m, and how it is turned about the vertical, rad."""
    place = seen[f"{task.target}_pos"]
    quaternion = seen.get(f"{task.target}_quat", np.array([0, 0, 0, 1.0]))
    yaw = _yaw(quaternion)
    c, s = np.cos(yaw), np.sin(yaw)
    x, y, z = task.reach
    return place + _by(c * x - s * y, s * x + c * y, z), yaw


def _by(x: float, y: float, z: float) -> np.ndarray:
    """[3] m."""
    return np.array([x, y, z])


def _yaw(quaternion: np.ndarray) -> float:
    """Of a quaternion x, y, z, w."""
    x, y, z, w = quaternion
    return float(np.arctan2(2 * (w * z + x * y), 1 - 2 * (y * y + z * z)))


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
