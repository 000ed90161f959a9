"""Initial states: coordinates and velocities from positions and velocities of points."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor
from torch.nn.attention import SDPBackend, sdpa_kernel

from kin4d.bodies.body import Body
from kin4d.errors import InputError

Points = Callable[[Tensor], Tensor]
"""The map q [k] -> points [N, 3], m."""


class InitialState(NamedTuple):
    """Coordinates that fit given points, and how well.

    Attributes:
        q: [k] coordinates.
        qd: [k] velocities, 1/s.
        position_error: Metres, root mean square.
        velocity_error: m/s, root mean square.
    """

    q: np.ndarray
    qd: np.ndarray
    position_error: float
    velocity_error: float


def initial_state(
    body: Body,
    *,
    positions: np.ndarray | None = None,
    velocities: np.ndarray | None = None,
    vertices: np.ndarray | None = None,
    q: np.ndarray | None = None,
    tolerance: float | None = None,
    iterations: int = 50,
) -> InitialState:
    """(q, qd) = argmin |x - F(q)|^2 + |v - J(q) qd|^2 over given vertices, as in the paper.

    q by Gauss-Newton (damped, within the limits), then qd by linear least squares.

    Args:
        body: The body.
        positions: [N, 3] m; None to keep `q`.
        velocities: [N, 3] m/s; None for rest.
        vertices: [N] which vertices they are of; all of them if not given. A vertex given twice
            with different values is an error.
        q: [k] where to begin, by default the body's rest.
        tolerance: Metres (and m/s) of error above which the given values count as contradictory.
        iterations: Most steps of Gauss-Newton.
    """
    count = len(body.rest.vertices)
    index = np.arange(count) if vertices is None else np.asarray(vertices, np.int64)
    if index.ndim != 1 or (len(index) and not (index.min() >= 0 and index.max() < count)):
        raise InputError("vertices of a start", value=index.shape, allowed=f"[N], 0 to {count - 1}")
    positions = _checked("positions", positions, index)
    velocities = _checked("velocities", velocities, index)
    start = body.q0 if q is None else torch.as_tensor(np.asarray(q, np.float64))
    rows = torch.from_numpy(index)

    def points(coordinates: Tensor) -> Tensor:
        return body.vertices(coordinates)[rows]

    state, position_error = start.clone(), 0.0
    if positions is not None:
        target = torch.from_numpy(positions)
        state, position_error = _fit(body, points, start, target, iterations)
    velocity, velocity_error = torch.zeros_like(state), 0.0
    if velocities is not None:
        jacobian = _jacobian(points, state).reshape(3 * len(index), -1)
        target = torch.from_numpy(velocities).reshape(-1)
        velocity = _least_squares(jacobian, target, 1e-12)
        velocity_error = _rms(jacobian @ velocity - target)
    if tolerance is not None and max(position_error, velocity_error) > tolerance:
        raise InputError(
            f"the positions or velocities contradict each other or the body: the closest state "
            f"misses them by {position_error:.3g} m and {velocity_error:.3g} m/s",
            allowed=f"at most {tolerance:g}",
            hint="give fewer points, or motions the body can make",
        )
    return InitialState(
        state.numpy().copy(), velocity.detach().numpy().copy(), position_error, velocity_error
    )


def _checked(name: str, value: np.ndarray | None, index: np.ndarray) -> np.ndarray | None:
    """`value` as [N, 3] float64; refuses two values for one vertex."""
    if value is None:
        return None
    array = np.asarray(value, np.float64)
    if array.shape != (len(index), 3) or not np.isfinite(array).all():
        raise InputError(
            f"{name} of a start", value=array.shape, allowed=f"finite [{len(index)}, 3]"
        )
    order = np.argsort(index, kind="stable")
    same = np.flatnonzero(index[order][1:] == index[order][:-1])
    apart = np.linalg.norm(array[order][same + 1] - array[order][same], axis=1)
    if len(same) and apart.max() > 1e-9:
        vertex = int(index[order][same[apart.argmax()]])
        raise InputError(
            f"contradictory {name}: vertex {vertex} is given twice, {apart.max():.3g} apart"
        )
    return array


def _fit(
    body: Body, points: Points, start: Tensor, target: Tensor, iterations: int
) -> tuple[Tensor, float]:
    """Levenberg-Marquardt within the limits: q [k] and the error, m."""
    lower, upper = body.limits.T
    q, damping = start.clone(), 1e-6
    gap = (target - points(q)).reshape(-1)
    for _ in range(iterations):
        jacobian = _jacobian(points, q).reshape(len(gap), -1)
        step = _least_squares(jacobian, gap, damping)
        trial = torch.minimum(torch.maximum(q + step, lower), upper)
        trial_gap = (target - points(trial)).reshape(-1)
        if trial_gap.square().sum() < gap.square().sum():
            moved = float((trial - q).abs().max())
            q, gap, damping = trial, trial_gap, max(damping / 4, 1e-12)
            if moved < 1e-12:
                break
        elif damping > 1e3:
            break
        else:
            damping *= 10
    return q, _rms(gap)


def _jacobian(points: Points, q: Tensor) -> Tensor:
    # Forward-mode derivatives exist only for the plain attention kernel.
    with sdpa_kernel(SDPBackend.MATH):
        return torch.func.jacfwd(points)(q)


def _least_squares(jacobian: Tensor, target: Tensor, damping: float) -> Tensor:
    normal = jacobian.T @ jacobian
    ridge = damping * normal.diagonal().clamp_min(1e-12 * float(normal.diagonal().max()) + 1e-300)
    return torch.linalg.solve(normal + torch.diag(ridge), jacobian.T @ target)


def _rms(gap: Tensor) -> float:
    """Root mean square length of [3N] numbers taken in threes."""
    return float((gap.square().sum() / max(len(gap) // 3, 1)).sqrt())
