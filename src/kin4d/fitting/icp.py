"""IcpSolver: coordinates at which points of a body lie on points of a target, from given starts.

Iterative closest points: nearest neighbours and a Gauss-Newton step alternate, under a robust
kernel that narrows from step to step.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from typing import NamedTuple

import numpy as np
import torch
from scipy.spatial import KDTree
from torch import Tensor

from kin4d.fitting.config import FitConfig

_STEP = 1e-6  # of coordinates, for differences


class _Match(NamedTuple):
    """Nearest neighbours at some q.

    Attributes:
        error: Mean distance, m.
        body_index: [Q] the body point nearest to each queried target point.
        target_index: [N] the target point nearest to each body point; empty if the target is
            partial.
    """

    error: float
    body_index: np.ndarray
    target_index: np.ndarray


class IcpSolver:
    """Points that move with q, and target points they should lie on.

    Args:
        surface: The map q [..., k] -> points on the surface [..., N, 3], m.
        target: [M, 3] m.
        size: Bounding-box diagonal of the body, m.
        limits: [k, 2] bounds of the coordinates.
        partial: Whether the target shows only some of the surface.
        config: Iterations, weights and thresholds.
    """

    def __init__(
        self,
        surface: Callable[[Tensor], Tensor],
        target: np.ndarray,
        *,
        size: float,
        limits: Tensor,
        partial: bool,
        config: FitConfig,
    ) -> None:
        self.surface, self.target, self.size = surface, target, size
        self.limits, self.partial, self.config = limits, partial, config
        self.tree = KDTree(target)
        count = min(len(target), config.max_query_points)
        self.query_index = np.linspace(0, len(target) - 1, count).astype(int)
        self.queries = target[self.query_index]

    @cached_property
    def metrics(self) -> np.ndarray:
        """[M, 3, 3] how distances from each target point count; only steps need them."""
        return _surface_metrics(self.target, self.tree, self.config.tangential_weight)

    def errors(self, q: Tensor) -> np.ndarray:
        """[S] mean distances (m) at q [S, k]."""
        return np.array([match.error for match in self._matches(q)])

    def _matches(self, q: Tensor) -> list[_Match]:
        with torch.no_grad():
            return [self._match(x) for x in self.surface(q).numpy()]

    def _match(self, x: np.ndarray) -> _Match:
        to_body, body_index = (np.asarray(part) for part in KDTree(x).query(self.queries))
        if self.partial:
            return _Match(float(to_body.mean()), body_index, body_index[:0])
        to_target, target_index = (np.asarray(part) for part in self.tree.query(x))
        error = float(to_target.mean() + to_body.mean()) / 2
        return _Match(error, body_index, target_index)

    def descend(self, q: Tensor) -> tuple[Tensor, np.ndarray]:
        """The best coordinates [S, k] on the descents from starts q [S, k], and their errors."""
        best, now, matches = q.clone(), q, self._matches(q)
        errors = np.array([match.error for match in matches])
        for width in np.geomspace(*self.config.kernel_widths, self.config.iterations) * self.size:
            pairs = zip(now, matches, strict=True)
            now = torch.stack([self._step(row, match, float(width)) for row, match in pairs])
            matches = self._matches(now)
            after = np.array([match.error for match in matches])
            better = after < errors
            best[torch.from_numpy(better)] = now[torch.from_numpy(better)]
            errors = np.where(better, after, errors)
        return best, errors

    def _step(self, q: Tensor, match: _Match, width: float) -> Tensor:
        """One damped Gauss-Newton step of q [k] towards the nearest points."""
        count = len(q)
        with torch.no_grad():
            rows = torch.cat([q[None], q + _STEP * torch.eye(count, dtype=q.dtype)])
            points = self.surface(rows).numpy()
        x, jacobian = points[0], np.moveaxis((points[1:] - points[0]) / _STEP, 0, -1)
        residual, slope = x[match.body_index] - self.queries, jacobian[match.body_index]
        metric = self.metrics[self.query_index]
        if not self.partial:
            residual = np.concatenate([residual, x - self.target[match.target_index]])
            slope = np.concatenate([slope, jacobian])
            metric = np.concatenate([metric, self.metrics[match.target_index]])
        weight = 1 / (1 + np.square(residual).sum(-1) / width**2) ** 2
        weighted = ((weight[:, None, None] * metric) @ slope).reshape(-1, count)
        normal = weighted.T @ slope.reshape(-1, count)
        gradient = weighted.T @ residual.reshape(-1)
        damping = self.config.damping * np.trace(normal) / count + 1e-12
        change = np.linalg.solve(normal + damping * np.eye(count), -gradient)
        new = q + torch.from_numpy(change)
        return new.clamp(self.limits[:, 0], self.limits[:, 1])

    def prune_dofs(
        self, q: Tensor, error: float, rest: Tensor, rest_error: float
    ) -> tuple[Tensor, float]:
        """Set coordinates of q [k] that hardly reduce the error (m) back to rest, those that
        reduce it least first."""
        improvement = max(rest_error - error, self.config.min_improvement * error)
        gain = self.config.min_gain * improvement
        moved = torch.nonzero(q != rest).flatten()
        without = q.repeat(len(moved), 1)
        without[torch.arange(len(moved)), moved] = rest[moved]
        costs = self.errors(without)
        for one in np.argsort(costs, kind="stable"):
            # One that costs more than that alone hardly costs less together with others.
            if costs[one] > error + 2 * gain:
                break
            trial = q.clone()
            trial[moved[one]] = rest[moved[one]]
            after = float(self.errors(trial[None])[0])
            if after <= error + gain:
                q, error = trial, after
        # One alone may cost much only because others compensate for it.
        if rest_error - error < gain * int((q != rest).sum()):
            return rest.clone(), rest_error
        return q, error


def _surface_metrics(points: np.ndarray, tree: KDTree, tangential_weight: float) -> np.ndarray:
    """[M, 3, 3] metrics in which moving along the surface of points [M, 3] costs little."""
    near = points[tree.query(points, k=min(12, len(points)))[1]]
    near = near - near.mean(1, keepdims=True)
    normal = np.linalg.eigh(near.mT @ near)[1][:, :, 0]
    outer = normal[:, :, None] * normal[:, None, :]
    return tangential_weight * np.eye(3) + (1 - tangential_weight) * outer
