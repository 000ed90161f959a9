"""Inverse kinematics: how often and how fast poses are reached, beside mink in the same run."""

from __future__ import annotations

import time
from collections.abc import Callable

import numpy as np
import torch

from kin4d.benchmarks.report import Check, Report
from kin4d.bodies.robot.registry import load_robot
from kin4d.bodies.robot.robot_body import RobotBody
from kin4d.extras import require
from kin4d.geometry.transforms import matrix_to_rotvec
from kin4d.kinematics.chain import chain_to
from kin4d.kinematics.conventions import matrix_to_rotation
from kin4d.kinematics.ik import solve_ik, track_poses

ROBOTS = ("panda", "ur5", "xarm7")
MAX_POSITION_ERROR, MAX_ROTATION_ERROR = 1e-3, np.radians(0.1)
_FRAMES = 49


def run(*, quick: bool, seed: int) -> Report:
    """Cold solves of random reachable poses, and 49-frame trajectories, on three arms."""
    poses, rival_poses, paths = (100, 10, 3) if quick else (1000, 200, 20)
    report = Report(
        notes=[
            "A pose is drawn by forward kinematics of joint values uniform within the limits. It "
            "is reached if forward kinematics of the answer is within 1 mm and 0.1 degree of it "
            "and every joint is within its limits.",
            f"Cold: every solve starts from the robot's rest values, then from up to 100 random "
            f"ones. mink starts from the same values, on the first {rival_poses} of the poses, "
            "with full steps (dt 1) of its QP on daqp, at most 30 per start, and the damping that "
            "was fastest of those tried (lm_damping 0, 0.001, 0.1, 1).",
            "Single is one call per pose, set-up included; batch is one call for all of them, its "
            "times the mean.",
            f"A trajectory is {_FRAMES} frames of straight motion in joint space, warm-started.",
        ]
    )
    for name in ROBOTS:
        body = load_robot(name, missing="skip")
        rng = np.random.default_rng(seed)
        _cold(report, body, name, poses, rival_poses, rng)
        _trajectories(report, body, name, paths, rng)
    return report


def _cold(
    report: Report,
    body: RobotBody,
    name: str,
    poses: int,
    rival_poses: int,
    rng: np.random.Generator,
) -> None:
    targets = _poses(body, _random(body, rng, poses))
    solve_ik(body, targets[:1])  # compiles
    begin = time.perf_counter()
    answer = solve_ik(body, targets).q
    batch = np.full(poses, (time.perf_counter() - begin) / poses)
    _, single = _each(lambda target: solve_ik(body, target).q, targets)
    rival = MinkSolver(body)
    theirs, rival_times = _each(rival.cold, targets[:rival_poses])
    found = {
        "kin4d, batch": (answer, batch),
        "kin4d, single": (answer, single),
        "mink": (theirs, rival_times),
    }
    for method, (q, times) in found.items():
        report.rows.append(
            {
                "robot": name,
                "cold solve": method,
                "poses": len(q),
                "reached": _reached(body, q, targets[: len(q)]),
                "median ms": 1e3 * float(np.median(times)),
                "p95 ms": 1e3 * float(np.quantile(times, 0.95)),
            }
        )
    report.checks.append(
        Check(f"{name}: random poses reached", _reached(body, answer, targets), 0.995, True)
    )
    for method, times in (("batch", batch), ("single", single)):
        ratio = float(np.median(rival_times) / np.median(times))
        report.ratios[f"{name}: mink's median time per solve / kin4d's ({method})"] = ratio


def _trajectories(
    report: Report, body: RobotBody, name: str, paths: int, rng: np.random.Generator
) -> None:
    ends = _random(body, rng, 2 * paths).reshape(2, paths, -1)
    # The middle of the range, and a distance an arm covers in a few seconds.
    middle = _middle(body)
    start = middle + 0.5 * (ends[0] - middle)
    stop = start + (ends[1] - start).clip(-1.0, 1.0)
    share = np.linspace(0, 1, _FRAMES)[:, None]
    moves = [torch.from_numpy(a + share * (b - a)) for a, b in zip(start, stop, strict=True)]
    targets = torch.stack([_poses(body, q) for q in moves])
    rival = MinkSolver(body)
    warm = {
        "kin4d": lambda pair: track_poses(body, pair[1], q_start=pair[0][0]).q,
        "mink": lambda pair: rival.warm(pair[1], pair[0][0]),
    }
    for method, solve in warm.items():
        answers, times = _each(solve, list(zip(moves, targets, strict=True)))
        report.rows.append(
            {
                "robot": name,
                "trajectory": method,
                "trajectories": paths,
                "frames reached": _reached(body, answers.flatten(0, 1), targets.flatten(0, 1)),
                "largest joint step": float(answers.diff(dim=1).abs().max()),
                "median ms": 1e3 * float(np.median(times)),
                "p95 ms": 1e3 * float(np.quantile(times, 0.95)),
            }
        )
        if method == "kin4d":
            seconds = float(np.quantile(times, 0.95))
            report.checks.append(Check(f"{name}: 49-frame trajectory, p95, s", seconds, 0.2))


class MinkSolver:
    """The same chain of joints in MuJoCo, solved by mink."""

    def __init__(self, body: RobotBody) -> None:
        self._mink = mink = require("mink", extra="bench", purpose="solving with mink")
        self._body, self._chain = body, chain_to(body)
        self._configuration = mink.Configuration(chain_model(body))
        self._task = mink.FrameTask(
            body.end_effector, "body", position_cost=1.0, orientation_cost=0.3, lm_damping=0.1
        )
        self._limits = [mink.ConfigurationLimit(self._configuration.model, gain=1.0)]

    def cold(self, target: torch.Tensor) -> torch.Tensor:
        """q [k] from the rest values, then from random ones, as `solve_ik` does."""
        rng = np.random.default_rng(0)
        starts = [self._body.q0.numpy()[self._chain.coordinates]]
        starts += list(rng.uniform(self._chain.lower, self._chain.upper, (100, len(starts[0]))))
        for start in starts:
            self._configuration.update(start)
            if self._solve(target, 30):
                break
        return self._answer()

    def warm(self, targets: torch.Tensor, start: torch.Tensor) -> torch.Tensor:
        """q [T, k], each frame from the last."""
        self._configuration.update(start.numpy()[self._chain.coordinates])
        rows = []
        for target in targets:
            self._solve(target, 100)
            rows.append(self._answer())
        return torch.stack(rows)

    def _solve(self, target: torch.Tensor, iterations: int) -> bool:
        self._task.set_target(self._mink.SE3.from_matrix(target.numpy()))
        for _ in range(iterations):
            error = self._task.compute_error(self._configuration)
            if np.linalg.norm(error[:3]) < 1e-5 and np.linalg.norm(error[3:]) < 1e-5:
                return True
            velocity = self._mink.solve_ik(
                self._configuration, [self._task], 1.0, "daqp", damping=1e-6, limits=self._limits
            )
            self._configuration.integrate_inplace(velocity, 1.0)
            if np.abs(velocity).max() < 1e-6:
                return False
        return False

    def _answer(self) -> torch.Tensor:
        q = self._body.q0.clone()
        q[self._chain.coordinates] = torch.from_numpy(self._configuration.q.copy())
        return q


def chain_model(body: RobotBody):
    """A MuJoCo model of the links from the root to the end effector, with the same names."""
    mujoco = require("mujoco", extra="bench", purpose="solving with mink")
    spec = mujoco.MjSpec()
    parent, frame = spec.worldbody, body.root
    for i in body.joints_above(body.end_effector):
        joint = body.joints[i]
        frame = frame @ joint.origin
        parent = parent.add_body(
            name=joint.child,
            pos=frame[:3, 3],
            quat=matrix_to_rotation(frame[None, :3, :3], "quaternion_wxyz")[0],
            mass=1.0,
            inertia=[0.01, 0.01, 0.01],
            explicitinertial=True,
        )
        frame = np.eye(4)
        if joint.kind != "fixed":
            kinds = {
                "revolute": mujoco.mjtJoint.mjJNT_HINGE,
                "prismatic": mujoco.mjtJoint.mjJNT_SLIDE,
            }
            limited = bool(np.isfinite(joint.limits).all())
            parent.add_joint(
                name=joint.name,
                type=kinds[joint.kind],
                axis=joint.axis,
                limited=limited,
                range=joint.limits if limited else (0.0, 0.0),
            )
    spec.compiler.degree = False
    return spec.compile()


def _each(solve: Callable, items) -> tuple[torch.Tensor, np.ndarray]:
    """Answers stacked, and the seconds each took."""
    answers, times = [], []
    for item in items:
        begin = time.perf_counter()
        answers.append(solve(item))
        times.append(time.perf_counter() - begin)
    return torch.stack(answers), np.array(times)


def _poses(body: RobotBody, q: torch.Tensor | np.ndarray) -> torch.Tensor:
    with torch.no_grad():
        return body.link_poses(torch.as_tensor(q))[..., body.end_effector_index, :, :]


def _random(body: RobotBody, rng: np.random.Generator, count: int) -> np.ndarray:
    lower, upper = body.limits.clamp(-np.pi * 2, np.pi * 2).T.numpy()
    return rng.uniform(lower, upper, (count, len(lower)))


def _middle(body: RobotBody) -> np.ndarray:
    return body.limits.clamp(-np.pi * 2, np.pi * 2).mean(1).numpy()


def _reached(body: RobotBody, q: torch.Tensor, targets: torch.Tensor) -> float:
    """Share of answers that put the end effector on target, within the joint limits."""
    found = _poses(body, q)
    position = (found - targets)[..., :3, 3].norm(dim=-1)
    relative = found[..., :3, :3].mT @ targets[..., :3, :3]
    rotation = matrix_to_rotvec(relative).norm(dim=-1)
    within = ((q >= body.limits[:, 0] - 1e-9) & (q <= body.limits[:, 1] + 1e-9)).all(-1)
    good = (position <= MAX_POSITION_ERROR) & (rotation <= MAX_ROTATION_ERROR) & within
    return float(good.double().mean())
