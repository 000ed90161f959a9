"""Demonstrations: what an expert does in MuJoCo, with disturbances from which it recovers.

The expert follows its path by feedback: it is pushed off at random, and every chunk of actions that
is learned leads from where the hand is back to the path and along it. Without that, a policy never
sees what its own errors lead to.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields
from pathlib import Path

import numpy as np
from scipy.spatial.transform import Rotation

from kin4d.envs.mujoco_env import MujocoEnv
from kin4d.errors import InputError
from kin4d.files import atomic_path, read_arrays
from kin4d.policies.learned.inputs import body_states, image_points, prompt_words, proprioception
from kin4d.progress import track
from kin4d.reading import reading

FIRST_SEED = 700_000_000
"""Of the scenes; world models and benchmarks use others."""
_IMAGE_EVERY = 2  # steps
_NEAR, _NEAR_ANGLE = 0.006, 0.06  # m, rad from a pose of the path at which the next one follows
_FASTEST, _FASTEST_TURN = 0.03, 0.2  # m, rad per action back to the path
_JITTER, _DRIFT, _DRIFT_SHARE = 0.0012, 0.006, 0.04  # m per action; share of steps that begin one
_DRIFT_STEPS = (3, 8)
_TURN = 4.0  # rad per m of disturbance


@dataclass(frozen=True, eq=False, kw_only=True)
class Demonstrations:
    """N moments of demonstrations.

    Attributes:
        proprioception: [N, P].
        bodies: [N, S].
        prompt: [N, W].
        actions: [N, H, 7] that follow.
        demo: [N] which demonstration.
        rgb: [M, h, w, 3] uint8, of the moments `seen`.
        points: [M, h, w, 3] float16 m.
        seen: [M] moments with an image.
    """

    proprioception: np.ndarray
    bodies: np.ndarray
    prompt: np.ndarray
    actions: np.ndarray
    demo: np.ndarray
    rgb: np.ndarray
    points: np.ndarray
    seen: np.ndarray

    def __len__(self) -> int:
        return len(self.demo)

    def of_demos(self, chosen: Sequence[int] | np.ndarray) -> Demonstrations:
        """Those of some demonstrations only."""
        kept = np.isin(self.demo, chosen)
        new = np.cumsum(kept) - 1
        shown = kept[self.seen]
        rows = {
            field.name: getattr(self, field.name)[kept]
            for field in fields(self)
            if field.name not in ("rgb", "points", "seen")
        }
        return Demonstrations(
            **rows,
            rgb=self.rgb[shown],
            points=self.points[shown],
            seen=new[self.seen[shown]],
        )

    @classmethod
    def join(cls, parts: Sequence[Demonstrations]) -> Demonstrations:
        """All of several; demonstrations are numbered anew."""
        starts = np.cumsum([0, *(len(part) for part in parts)])
        firsts = np.cumsum([0, *(int(part.demo.max(initial=-1)) + 1 for part in parts)])
        columns = {
            field.name: np.concatenate([getattr(part, field.name) for part in parts])
            for field in fields(cls)
        }
        columns["seen"] = np.concatenate(
            [part.seen + start for part, start in zip(parts, starts, strict=False)]
        )
        columns["demo"] = np.concatenate(
            [part.demo + first for part, first in zip(parts, firsts, strict=False)]
        )
        return cls(**columns)


class PathFollower:
    """An expert that follows a path by feedback.

    Args:
        poses: [T, 4, 4] of the path.
        openings: [T] of the gripper.
    """

    def __init__(self, poses: np.ndarray, openings: np.ndarray) -> None:
        self._poses, self._openings = poses, openings

    def plan(self, pose: np.ndarray, at: int, count: int) -> tuple[np.ndarray, int]:
        """Actions [count, 7] from a pose [4, 4] on, towards pose `at` of the path and along it.

        Also where on the path the hand is after the first of them.
        """
        actions, pose, after = np.zeros((count, 7)), pose.copy(), at
        for i in range(count):
            target = self._poses[min(at, len(self._poses) - 1)]
            step = target[:3, 3] - pose[:3, 3]
            turn = Rotation.from_matrix(target[:3, :3] @ pose[:3, :3].T).as_rotvec()
            step *= min(1.0, _FASTEST / max(float(np.linalg.norm(step)), 1e-9))
            turn *= min(1.0, _FASTEST_TURN / max(float(np.linalg.norm(turn)), 1e-9))
            opening = self._openings[min(at, len(self._poses) - 1)]
            actions[i] = [*step, *turn, opening]
            pose[:3, 3] += step
            pose[:3, :3] = Rotation.from_rotvec(turn).as_matrix() @ pose[:3, :3]
            left = np.linalg.norm(target[:3, 3] - pose[:3, 3])
            angle = Rotation.from_matrix(target[:3, :3] @ pose[:3, :3].T).magnitude()
            at += bool(left < _NEAR and angle < _NEAR_ANGLE)
            after = at if i == 0 else after
        return actions, after


def record_demonstration(
    env: MujocoEnv, *, seed: int, horizon: int, images: bool, attempt: int = 0
) -> Demonstrations | None:
    """One demonstration; None if the disturbances made it fail.

    Args:
        env: The task; pose deltas.
        seed: Of the scene.
        horizon: Actions that are learned of each moment.
        images: Whether images are kept.
        attempt: Other disturbances.
    """
    rng = np.random.default_rng([seed, attempt, 2001])
    observation, info = env.reset(seed=seed)
    follower = PathFollower(*env.scene.spec.trajectory.sample())
    at, drift, drift_left, over = 0, np.zeros(6), 0, False
    rows: dict[str, list] = {name: [] for name in ("p", "b", "a", "rgb", "points", "seen")}
    words = prompt_words(env.task_description)
    while not over:
        seen = env.policy_observation(observation)
        chunk, at = follower.plan(env.commanded_pose, at, horizon)
        rows["p"].append(proprioception(seen))
        rows["b"].append(body_states(seen))
        rows["a"].append(chunk)
        if images and len(rows["p"]) % _IMAGE_EVERY == 1:
            rgb, points = image_points(seen)
            rows["rgb"].append(rgb)
            rows["points"].append(points)
            rows["seen"].append(len(rows["p"]) - 1)
        if drift_left == 0 and rng.random() < _DRIFT_SHARE:
            drift, drift_left = _DRIFT * rng.normal(size=6), int(rng.integers(*_DRIFT_STEPS))
        noise = _JITTER * rng.normal(size=6) + (drift if drift_left else 0.0)
        noise[3:] *= _TURN
        drift_left = max(drift_left - 1, 0)
        action = chunk[0] + [*noise, 0.0]
        observation, _, done, cut, info = env.step_chunk(action[None])
        over = done or cut
    if not info["is_success"]:
        return None
    count = len(rows["p"])
    empty = {"rgb": (0, 1, 1, 3), "points": (0, 1, 1, 3), "seen": (0,)}
    kinds = {"rgb": np.uint8, "points": np.float16, "seen": np.int64}
    pictures = {
        name: np.array(rows[name] if images else np.zeros(empty[name]), kind)
        for name, kind in kinds.items()
    }
    return Demonstrations(
        proprioception=np.array(rows["p"]),
        bodies=np.array(rows["b"]),
        prompt=np.tile(words, (count, 1)),
        actions=np.array(rows["a"], np.float32),
        demo=np.zeros(count, np.int64),
        **pictures,
    )


def task_demonstrations(
    task: str,
    count: int,
    *,
    arm: str = "kin4d_arm",
    horizon: int = 16,
    images: bool = False,
    cache: Path | None = None,
) -> Demonstrations:
    """`count` successful demonstrations of a task, always the same ones.

    Args:
        task: Its name.
        count: How many.
        arm: Which robot.
        horizon: Actions that are learned of each moment.
        images: Whether images are kept.
        cache: Folder in which they are kept for other runs.
    """
    file = None
    if cache is not None:
        known = {
            kind: cache / f"{task}-{arm}-{count}-{horizon}-{kind}.npz"
            for kind in ("images", "states")  # those with images hold the states too
        }
        file = known["images" if images else "states"]
        for found in known.values() if not images else [file]:
            if found.is_file():
                with reading(found, "file of demonstrations"):
                    return Demonstrations(**read_arrays(found, what="demonstrations"))
    env = MujocoEnv(task=task, arm=arm, max_steps=160)
    made: list[Demonstrations] = []
    for number in track(range(count), f"demonstrations of {task}"):
        seed = FIRST_SEED + number
        for attempt in range(8):
            demo = record_demonstration(
                env, seed=seed, horizon=horizon, images=images, attempt=attempt
            )
            if demo is not None:
                made.append(demo)
                break
    if not made:
        raise InputError(f"the expert never does '{task}'", value=count, hint="use another task")
    joined = Demonstrations.join(made)
    if file is not None:
        file.parent.mkdir(parents=True, exist_ok=True)
        with atomic_path(file) as temporary, temporary.open("wb") as opened:
            np.savez(opened, **{one.name: getattr(joined, one.name) for one in fields(joined)})
    return joined
