"""Inverse kinematics: coordinates that put a link where it should be, and an honest report.

Damped least squares on the full six-degree-of-freedom pose. Joint limits always hold. A target
that is not reached is reported with what is left of its error, never passed off as reached.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

from kin4d.bodies.articulated import ArticulatedBody
from kin4d.bodies.body import check_coordinates
from kin4d.errors import InputError
from kin4d.kinematics.chain import Chain, chain_to

TOLERANCE = (1e-5, 1e-5)
_SEARCH_ITERATIONS, _FOLLOW_ITERATIONS = 30, 100
_SEARCH_SLIDES, _FOLLOW_GAIN = 60, 0.2
_COLD_STARTS = 64


@dataclass(frozen=True, eq=False)
class IkResult:
    """What was found for each target, reached or not.

    Attributes:
        q: [..., k] float64 coordinates of the whole body, always within its limits for the joints
            that move the link, and as they were for all others.
        converged: [...] bool, whether both errors are within the tolerance.
        position_error: [...] metres left.
        rotation_error: [...] radians left.
        at_limit: [..., k] bool, joints that rest against a limit.
        iterations: [...] int64, steps taken, all attempts together.
    """

    q: Tensor
    converged: Tensor
    position_error: Tensor
    rotation_error: Tensor
    at_limit: Tensor
    iterations: Tensor

    def __str__(self) -> str:
        missed = int((~self.converged).sum())
        if not missed:
            return f"{self.converged.numel()} targets reached"
        return (
            f"{missed} of {self.converged.numel()} targets not reached, by up to "
            f"{1e3 * self.position_error.max():.3g} mm and "
            f"{self.rotation_error.rad2deg().max():.3g} degrees"
        )


def solve_ik(
    body: ArticulatedBody,
    targets: Tensor | np.ndarray,
    *,
    link: str | None = None,
    q_start: Tensor | np.ndarray | None = None,
    posture: Tensor | np.ndarray | None = None,
    tolerance: tuple[float, float] = TOLERANCE,
    restarts: int = 100,
    seed: int = 0,
) -> IkResult:
    """Coordinates that put `link` at each of `targets`, every target on its own.

    Args:
        body: A tree of joints.
        targets: [..., 4, 4] world poses, metres.
        link: Which link goes there; by default the robot's end effector.
        q_start: [k] or [..., k] where to start: each solve tries this first. The joints that do
            not move the link (a gripper's, say) keep these values. Default: posture, else q0.
        posture: [k] preferred coordinates: where the arm has freedom to spare it comes as near to
            them as a slide along the solutions takes it.
        tolerance: Position (m) and rotation (rad) error that counts as reached.
        restarts: Random starts within the limits, tried in turn while none has succeeded.
        seed: Of the random starts.
    """
    chain, poses, batch = _prepare(body, targets, link)
    goal = None if posture is None else _vector(body, posture, "posture")
    if q_start is None:
        q_start = body.q0 if goal is None else goal
    start = check_coordinates(body, q_start).detach().to("cpu", torch.float64)
    try:
        start = start.expand(*batch, len(body.q0)).reshape(-1, len(body.q0)).numpy()
    except RuntimeError:
        raise InputError(
            "the starts do not match the targets",
            value=tuple(start.shape),
            allowed=f"[{len(body.q0)}] or {[*batch, len(body.q0)]}",
        ) from None
    restart = _random_starts(chain, restarts, seed)
    found = _search(chain, poses, start, restart, goal, _tolerance(tolerance))
    return _result(chain, start, found, tolerance, batch)


def track_poses(
    body: ArticulatedBody,
    targets: Tensor | np.ndarray,
    *,
    link: str | None = None,
    q_start: Tensor | np.ndarray | None = None,
    posture: Tensor | np.ndarray | None = None,
    tolerance: tuple[float, float] = TOLERANCE,
    max_step: float = 1.0,
    seed: int = 0,
) -> IkResult:
    """Coordinates that take `link` along a trajectory smoothly: each frame starts from the last.

    A frame that cannot be reached from the one before comes as near as it can, is reported, and
    the rest goes on from there; the arm never leaps to another solution.

    Args:
        body: A tree of joints.
        targets: [T, 4, 4] world poses, metres.
        link: Which link goes there; by default the robot's end effector.
        q_start: [k] where the first frame's solve starts. Without it the first frame is solved
            from cold, and of several solutions the one that reaches most frames is kept.
        posture: [k] preferred coordinates, approached gradually where the arm has freedom.
        tolerance: Position (m) and rotation (rad) error that counts as reached.
        max_step: The most a joint may move from one frame to the next, rad or m.
        seed: Of the random starts of a cold first frame.
    """
    chain, poses, batch = _prepare(body, targets, link)
    if len(batch) != 1 or batch[0] == 0:
        raise InputError("a trajectory is [T >= 1, 4, 4] poses", value=(*batch, 4, 4))
    if not max_step > 0:
        raise InputError("max_step must be positive", value=max_step)
    goal = None if posture is None else _vector(body, posture, "posture")
    limit = _tolerance(tolerance)
    if q_start is not None:
        starts = _vector(body, q_start, "q_start")[None]
    else:
        starts = np.tile(body.q0.numpy() if goal is None else goal, (_COLD_STARTS, 1))
        others = _random_starts(chain, _COLD_STARTS - 1, seed)
        starts[1:, chain.coordinates] = others
        first = np.repeat(poses[:1], _COLD_STARTS, axis=0)
        starts[:, chain.coordinates] = _search(chain, first, starts, others, None, limit).q
    best, start = None, starts[0]
    for candidate in starts:
        found = _track(chain, poses, candidate, goal, limit, max_step)
        reached = int(_converged(found, tolerance).sum())
        if best is None or reached > int(_converged(best, tolerance).sum()):
            best, start = found, candidate
        if reached == len(poses):
            break
    assert best is not None
    return _result(chain, np.tile(start, (len(poses), 1)), best, tolerance, batch)


class _Found(NamedTuple):
    """Solutions q [N, n], position errors [N] (m), rotation errors [N] (rad), iterations [N]."""

    q: np.ndarray
    position: np.ndarray
    rotation: np.ndarray
    iterations: np.ndarray


def _search(
    chain: Chain,
    targets: np.ndarray,
    starts: np.ndarray,
    restarts: np.ndarray,
    posture: np.ndarray | None,
    tolerance: np.ndarray,
) -> _Found:
    """Each of targets [N, 3, 4] on its own, from starts [N, k], then from restarts [R, n]."""
    from kin4d.kinematics.ik_solver import solve_pose

    q, limits = _clamped(chain, starts), (chain.lower, chain.upper)
    goal = np.zeros(q.shape[1]) if posture is None else _clamped(chain, posture)
    slides = 0 if posture is None else _SEARCH_SLIDES
    report = [
        solve_pose(
            chain, row, target, *limits, tolerance, _SEARCH_ITERATIONS, restarts, goal, 1.0, slides
        )
        for row, target in zip(q, targets, strict=True)
    ]
    return _Found(q, *np.array(report).reshape(-1, 3).T)


def _track(
    chain: Chain,
    targets: np.ndarray,
    start: np.ndarray,
    posture: np.ndarray | None,
    tolerance: np.ndarray,
    max_step: float,
) -> _Found:
    """Targets [T, 3, 4] in order, each from the one before, the first from `start` [k]."""
    from kin4d.kinematics.ik_solver import solve_pose

    row, lower, upper = _clamped(chain, start), chain.lower, chain.upper
    goal = np.zeros(len(row)) if posture is None else _clamped(chain, posture)
    slides, none = int(posture is not None), np.empty((0, len(row)))
    q, report = np.empty((len(targets), len(row))), np.empty((len(targets), 3))
    for t, target in enumerate(targets):
        if t:
            lower = np.maximum(chain.lower, row - max_step)
            upper = np.minimum(chain.upper, row + max_step)
        report[t] = solve_pose(
            chain, row, target, lower, upper, tolerance, _FOLLOW_ITERATIONS, none, goal,
            _FOLLOW_GAIN, slides,
        )  # fmt: skip
        q[t] = row
    return _Found(q, *report.T)


def _prepare(
    body: ArticulatedBody, targets: Tensor | np.ndarray, link: str | None
) -> tuple[Chain, np.ndarray, tuple[int, ...]]:
    """The chain, the targets as [N, 3, 4] and their batch shape."""
    chain = chain_to(body, link)
    poses = torch.as_tensor(targets).detach().to("cpu", torch.float64).numpy()
    if poses.ndim < 2 or poses.shape[-2:] != (4, 4):
        raise InputError("targets are rigid 4x4 poses", value=poses.shape, allowed="[..., 4, 4]")
    flat = poses.reshape(-1, 4, 4)
    bad = np.flatnonzero(~np.isfinite(flat).all((1, 2)))
    if len(bad):
        raise InputError(f"target {bad[0]} holds NaN or infinite values")
    rotation = flat[:, :3, :3]
    gap = np.abs(rotation.swapaxes(1, 2) @ rotation - np.eye(3)).max((1, 2), initial=0.0)
    bad = np.flatnonzero((gap > 1e-4) | (np.linalg.det(rotation) < 0))
    if len(bad):
        raise InputError(
            f"target {bad[0]} is not a rigid transform",
            value=rotation[bad[0]].round(4).tolist(),
            allowed="a rotation matrix to within 1e-4",
        )
    return chain, np.ascontiguousarray(flat[:, :3]), poses.shape[:-2]


def _vector(body: ArticulatedBody, q: Tensor | np.ndarray, what: str) -> np.ndarray:
    vector = check_coordinates(body, q).detach().to("cpu", torch.float64).numpy()
    if vector.ndim != 1:
        raise InputError(f"{what} is one configuration", value=vector.shape)
    return vector


def _random_starts(chain: Chain, count: int, seed: int) -> np.ndarray:
    """[count, n] uniform within the limits; joints without limits within a turn."""
    free = np.where(np.isfinite(chain.upper), chain.upper - 2 * np.pi, -np.pi)
    lower = np.where(np.isfinite(chain.lower), chain.lower, free)
    upper = np.where(np.isfinite(chain.upper), chain.upper, lower + 2 * np.pi)
    return np.random.default_rng(seed).uniform(lower, upper, (count, len(lower)))


def _clamped(chain: Chain, q: np.ndarray) -> np.ndarray:
    return np.ascontiguousarray(q[..., chain.coordinates].clip(chain.lower, chain.upper))


def _tolerance(tolerance: tuple[float, float]) -> np.ndarray:
    values = np.array(tolerance, np.float64)
    if values.shape != (2,) or not (values > 0).all():
        raise InputError(
            "a tolerance is two positive numbers", value=tolerance, allowed="(metres, radians)"
        )
    return values


def _converged(found: _Found, tolerance: tuple[float, float]) -> np.ndarray:
    return (found.position <= tolerance[0]) & (found.rotation <= tolerance[1])


def _result(
    chain: Chain,
    start: np.ndarray,
    found: _Found,
    tolerance: tuple[float, float],
    batch: tuple[int, ...],
) -> IkResult:
    q, at_limit = start.copy(), np.zeros(start.shape, bool)
    q[:, chain.coordinates] = found.q
    at_limit[:, chain.coordinates] = np.minimum(found.q - chain.lower, chain.upper - found.q) < 1e-9
    return IkResult(
        q=torch.from_numpy(q.reshape(*batch, start.shape[1])),
        converged=torch.from_numpy(_converged(found, tolerance).reshape(batch)),
        position_error=torch.from_numpy(found.position.reshape(batch).copy()),
        rotation_error=torch.from_numpy(found.rotation.reshape(batch).copy()),
        at_limit=torch.from_numpy(at_limit.reshape(*batch, start.shape[1])),
        iterations=torch.from_numpy(found.iterations.reshape(batch).astype(np.int64)),
    )
