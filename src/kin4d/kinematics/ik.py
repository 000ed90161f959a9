"""Inverse kinematics: coordinates that put a link at target poses, and the errors that are left.

Damped least squares on the full six-degree-of-freedom pose. Joint limits always hold. A target
that is not reached is reported with its remaining error.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import torch
from torch import Tensor

from kin4d.bodies.articulated import ArticulatedBody
from kin4d.bodies.body import check_coordinates
from kin4d.errors import InputError
from kin4d.kinematics.chain import Chain, chain_to

if TYPE_CHECKING:
    from kin4d.kinematics.ik_solver import SolverSettings

TOLERANCE = (1e-5, 1e-5)


@dataclass(frozen=True, kw_only=True)
class IkConfig:
    """How poses are solved for.

    Attributes:
        iterations: Of Levenberg-Marquardt, at most, from each start of `solve_ik`.
        tracking_iterations: The same for each frame of `track_poses`, which has no restarts.
        metres_per_radian: Position error (m) that weighs as much as one radian: about the length
            of a forearm.
        damping: Of the first iteration.
        posture_steps: Steps towards the posture, at most, in `solve_ik`.
        tracking_gain: Share of the distance to the posture that a frame of `track_poses` goes.
        cold_starts: Random starts of a trajectory without `q_start`.
    """

    iterations: int = 30
    tracking_iterations: int = 100
    metres_per_radian: float = 0.3
    damping: float = 1e-3
    posture_steps: int = 60
    tracking_gain: float = 0.2
    cold_starts: int = 64


CONFIG = IkConfig()


@dataclass(frozen=True, eq=False)
class IkResult:
    """The solution for each target, reached or not.

    Attributes:
        q: [..., k] float64 coordinates of the whole body, always within its limits for the joints
            that move the link, and as they were for all others.
        converged: [...] bool, whether both errors are within the tolerance.
        position_error: [...] metres left.
        rotation_error: [...] radians left.
        at_limit: [..., k] bool, joints that are at a limit.
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
    config: IkConfig = CONFIG,
    seed: int = 0,
) -> IkResult:
    """Coordinates that put `link` at each of `targets`, every target on its own.

    Args:
        body: A tree of joints.
        targets: [..., 4, 4] world poses, metres.
        link: Which link goes there; by default the robot's end effector.
        q_start: [k] or [..., k] where to start: each solve tries this first. The joints that do
            not move the link (a gripper's, say) keep these values. Default: posture, else q0.
        posture: [k] preferred coordinates: a redundant arm moves towards them in the null space.
        tolerance: Position (m) and rotation (rad) error that counts as reached.
        restarts: Random starts within the limits, tried in turn while none has succeeded.
        config: Iterations, weights and damping.
        seed: Of the random starts.
    """
    chain, poses, batch = _prepare(body, targets, link)
    preferred = None if posture is None else _vector(body, posture, "posture")
    if q_start is None:
        q_start = body.q0 if preferred is None else preferred
    start = check_coordinates(body, q_start).detach().to("cpu", torch.float64)
    try:
        start = start.expand(*batch, len(body.q0)).reshape(-1, len(body.q0)).numpy()
    except RuntimeError:
        raise InputError(
            "the starts do not match the targets",
            value=tuple(start.shape),
            allowed=f"[{len(body.q0)}] or {[*batch, len(body.q0)]}",
        ) from None
    settings = _settings(config, tolerance, preferred)
    others = _random_starts(chain, restarts, seed)
    solutions = _search(chain, poses, start, others, preferred, settings)
    return _result(chain, start, solutions, settings, batch)


def track_poses(
    body: ArticulatedBody,
    targets: Tensor | np.ndarray,
    *,
    link: str | None = None,
    q_start: Tensor | np.ndarray | None = None,
    posture: Tensor | np.ndarray | None = None,
    tolerance: tuple[float, float] = TOLERANCE,
    max_step: float = 1.0,
    config: IkConfig = CONFIG,
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
            from random starts, and the solution that reaches most frames is kept.
        posture: [k] preferred coordinates, approached gradually where the arm is redundant.
        tolerance: Position (m) and rotation (rad) error that counts as reached.
        max_step: The most a joint may move from one frame to the next, rad or m.
        config: Iterations, weights and damping.
        seed: Of the random starts of a first frame without `q_start`.
    """
    chain, poses, batch = _prepare(body, targets, link)
    if len(batch) != 1 or batch[0] == 0:
        raise InputError("a trajectory is [T >= 1, 4, 4] poses", value=(*batch, 4, 4))
    if not max_step > 0:
        raise InputError("max_step must be positive", value=max_step)
    preferred = None if posture is None else _vector(body, posture, "posture")
    search = _settings(config, tolerance, None)
    tracking = search._replace(
        iterations=config.tracking_iterations,
        posture_steps=int(posture is not None),
        posture_gain=config.tracking_gain,
    )
    if q_start is not None:
        starts = _vector(body, q_start, "q_start")[None]
    else:
        count = config.cold_starts
        starts = np.tile(body.q0.numpy() if preferred is None else preferred, (count, 1))
        others = _random_starts(chain, count - 1, seed)
        starts[1:, chain.coordinates] = others
        first = np.repeat(poses[:1], count, axis=0)
        starts[:, chain.coordinates] = _search(chain, first, starts, others, None, search).q
    best, start, most = None, starts[0], -1
    for candidate in starts:
        solutions = _track(chain, poses, candidate, preferred, tracking, max_step)
        reached = int(_converged(solutions, tracking).sum())
        if reached > most:
            best, start, most = solutions, candidate, reached
        if reached == len(poses):
            break
    assert best is not None
    return _result(chain, np.tile(start, (len(poses), 1)), best, tracking, batch)


class _Solutions(NamedTuple):
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
    settings: SolverSettings,
) -> _Solutions:
    """Each of targets [N, 3, 4] on its own, from starts [N, k], then from restarts [R, n]."""
    from kin4d.kinematics.ik_solver import solve_pose

    q, limits = _clamped(chain, starts), (chain.lower, chain.upper)
    preferred = np.zeros(q.shape[1]) if posture is None else _clamped(chain, posture)
    report = [
        solve_pose(chain, row, target, *limits, settings, restarts, preferred)
        for row, target in zip(q, targets, strict=True)
    ]
    return _Solutions(q, *np.array(report).reshape(-1, 3).T)


def _track(
    chain: Chain,
    targets: np.ndarray,
    start: np.ndarray,
    posture: np.ndarray | None,
    settings: SolverSettings,
    max_step: float,
) -> _Solutions:
    """Targets [T, 3, 4] in order, each from the one before, the first from `start` [k]."""
    from kin4d.kinematics.ik_solver import solve_pose

    row, lower, upper = _clamped(chain, start), chain.lower, chain.upper
    preferred = np.zeros(len(row)) if posture is None else _clamped(chain, posture)
    restarts = np.empty((0, len(row)))
    q, report = np.empty((len(targets), len(row))), np.empty((len(targets), 3))
    for t, target in enumerate(targets):
        if t:
            lower = np.maximum(chain.lower, row - max_step)
            upper = np.minimum(chain.upper, row + max_step)
        report[t] = solve_pose(chain, row, target, lower, upper, settings, restarts, preferred)
        q[t] = row
    return _Solutions(q, *report.T)


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
    """[count, n] uniform within the limits; joints without limits within one revolution."""
    free = np.where(np.isfinite(chain.upper), chain.upper - 2 * np.pi, -np.pi)
    lower = np.where(np.isfinite(chain.lower), chain.lower, free)
    upper = np.where(np.isfinite(chain.upper), chain.upper, lower + 2 * np.pi)
    return np.random.default_rng(seed).uniform(lower, upper, (count, len(lower)))


def _clamped(chain: Chain, q: np.ndarray) -> np.ndarray:
    return np.ascontiguousarray(q[..., chain.coordinates].clip(chain.lower, chain.upper))


def _settings(
    config: IkConfig, tolerance: tuple[float, float], posture: np.ndarray | None
) -> SolverSettings:
    """Of a search from one start after another."""
    from kin4d.kinematics.ik_solver import SolverSettings

    values = np.array(tolerance, np.float64)
    if values.shape != (2,) or not (values > 0).all():
        raise InputError(
            "a tolerance is two positive numbers", value=tolerance, allowed="(metres, radians)"
        )
    return SolverSettings(
        position_tolerance=float(values[0]),
        rotation_tolerance=float(values[1]),
        iterations=config.iterations,
        metres_per_radian=config.metres_per_radian,
        damping=config.damping,
        posture_steps=0 if posture is None else config.posture_steps,
        posture_gain=1.0,
    )


def _converged(solutions: _Solutions, settings: SolverSettings) -> np.ndarray:
    """[N] bool."""
    near = solutions.position <= settings.position_tolerance
    return near & (solutions.rotation <= settings.rotation_tolerance)


def _result(
    chain: Chain,
    start: np.ndarray,
    solutions: _Solutions,
    settings: SolverSettings,
    batch: tuple[int, ...],
) -> IkResult:
    q, at_limit = start.copy(), np.zeros(start.shape, bool)
    q[:, chain.coordinates] = solutions.q
    at_limit[:, chain.coordinates] = (
        np.minimum(solutions.q - chain.lower, chain.upper - solutions.q) < 1e-9
    )
    return IkResult(
        q=torch.from_numpy(q.reshape(*batch, start.shape[1])),
        converged=torch.from_numpy(_converged(solutions, settings).reshape(batch)),
        position_error=torch.from_numpy(solutions.position.reshape(batch).copy()),
        rotation_error=torch.from_numpy(solutions.rotation.reshape(batch).copy()),
        at_limit=torch.from_numpy(at_limit.reshape(*batch, start.shape[1])),
        iterations=torch.from_numpy(solutions.iterations.reshape(batch).astype(np.int64)),
    )
