"""PointFit: coordinates that bring one surface point to a target, through the body's own map."""

from __future__ import annotations

import numpy as np
import torch

from kin4d.bodies.body import Body
from kin4d.bodies.capabilities import KinematicTree, NodeGraph, fixed_base, surface_map
from kin4d.geometry.sampling import SurfaceSamples
from kin4d.kinematics.compiled.compiled_kinematics import compile_kinematics

_ITERATIONS = 12
_STAY = 1e-3  # weight of staying near the last coordinates, of that of reaching the target


class PointFit:
    """One surface point of a body that is dragged about.

    Args:
        body: Any body.
        grabbed: The point; see `kin4d.viewer.picking`.
    """

    def __init__(self, body: Body, grabbed: SurfaceSamples) -> None:
        self._low, self._high = body.limits.numpy().T
        self._scale = _typical_change(body)
        self._size = body.rest.bbox_diagonal
        if isinstance(fixed_base(body), KinematicTree | NodeGraph):
            kinematics = compile_kinematics(body, grabbed)

            def evaluate(q: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
                points, jacobians = kinematics.points_and_jacobians(kinematics.at(q), np.arange(1))
                return points[0], jacobians[0]
        else:
            probe = surface_map(body, grabbed)

            def evaluate(q: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
                # A row for each of the point's three coordinates: every map has reverse mode.
                rows = torch.from_numpy(q).repeat(3, 1).requires_grad_()
                points = probe(rows)[:, 0]
                (jacobian,) = torch.autograd.grad(points.diagonal().sum(), rows)
                return points[0].detach().numpy(), jacobian.numpy()

        self._evaluate = evaluate

    def solve(self, q: np.ndarray, target: np.ndarray) -> np.ndarray:
        """[k] coordinates near `q`, within the limits, whose point is as near `target` as it gets.

        Damped Gauss-Newton; a coordinate that a step takes to its limit stays there.
        """
        start, target = q, np.asarray(target, np.float64)
        for _ in range(_ITERATIONS):
            point, jacobian = self._evaluate(q)
            # In units of the body's size, so that the weight means the same for all.
            residual = (target - point) / self._size
            slope = jacobian * self._scale / self._size
            rest = (start - q) / self._scale
            gradient = slope.T @ residual + _STAY * rest
            free = ~((q <= self._low) & (gradient < 0) | (q >= self._high) & (gradient > 0))
            step = np.zeros_like(q)
            normal = slope[:, free].T @ slope[:, free] + _STAY * np.eye(int(free.sum()))
            step[free] = np.linalg.solve(normal, gradient[free])
            # No coordinate moves more than its typical change at once: far targets stay stable.
            step /= max(1.0, float(np.abs(step).max(initial=0.0)))
            moved = np.clip(q + self._scale * step, self._low, self._high)
            change = np.abs((moved - q) / self._scale).max(initial=0.0)
            q = moved
            if change < 1e-4:
                break
        return q


def _typical_change(body: Body) -> np.ndarray:
    """[k] half of each coordinate's range; without limits one radian, or the body's size."""
    low, high = body.limits.numpy().T
    half = 0.5 * (high - low)
    change = np.where(np.isfinite(half) & (half > 0), half, 1.0)
    if len(body.coordinates) > len(fixed_base(body).coordinates):  # a floating root
        change[:3] = body.rest.bbox_diagonal
    return change
