"""Search: coordinates at which points of a body lie on points of a target, from given starts.

Turns of nearest points and Gauss-Newton steps, with far points counting less and less.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from typing import NamedTuple

import numpy as np
import torch
from scipy.spatial import KDTree
from torch import Tensor

_STEP = 1e-6  # of coordinates, for differences
_NARROW = (0.2, 0.02)  # reach of a far point's pull at the first and the last step, in sizes
_SLIDE = 0.1  # weight of a distance along the surface, against one across it
_LOOKED_AT = 2048  # points of the target that look for a place on the body
_WORTH = 0.02  # share of what is gained over rest that a coordinate must account for
_SURE = 0.1  # of the error, the least gain that share is taken of: samples are chance


class _Match(NamedTuple):
    """Which points lie nearest: `near` [M] of the body's to the target's, `found` [N] the reverse
    (empty if the target is partial); and the mean distance (m)."""

    error: float
    near: np.ndarray
    found: np.ndarray


class IcpSolver:
    """Points that move with q, and points they should lie on."""

    def __init__(
        self,
        move: Callable[[Tensor], Tensor],
        target: np.ndarray,
        size: float,
        limits: Tensor,
        partial: bool,
    ) -> None:
        self.move, self.target, self.size = move, target, size
        self.limits, self.partial = limits, partial
        self.tree = KDTree(target)
        self.looked_at = np.linspace(0, len(target) - 1, min(len(target), _LOOKED_AT)).astype(int)
        self.some = target[self.looked_at]

    @cached_property
    def across(self) -> np.ndarray:
        """[M, 3, 3] how much distances from each target point count; only steps need to know."""
        return _across(self.target, self.tree)

    def errors(self, q: Tensor) -> np.ndarray:
        """[S] mean distances (m) at q [S, k]."""
        return np.array([match.error for match in self._matches(q)])

    def _matches(self, q: Tensor) -> list[_Match]:
        with torch.no_grad():
            return [self._match(x) for x in self.move(q).numpy()]

    def _match(self, x: np.ndarray) -> _Match:
        back, near = (np.asarray(part) for part in KDTree(x).query(self.some))
        if self.partial:
            return _Match(float(back.mean()), near, near[:0])
        there, found = (np.asarray(part) for part in self.tree.query(x))
        return _Match(float(there.mean() + back.mean()) / 2, near, found)

    def descend(self, q: Tensor, iterations: int) -> tuple[Tensor, np.ndarray]:
        """Where starts q [S, k] lead, and their errors."""
        best, now, matches = q.clone(), q, self._matches(q)
        errors = np.array([match.error for match in matches])
        for reach in np.geomspace(*_NARROW, iterations) * self.size:
            pairs = zip(now, matches, strict=True)
            now = torch.stack([self._step(row, match, float(reach)) for row, match in pairs])
            matches = self._matches(now)
            after = np.array([match.error for match in matches])
            better = after < errors
            best[torch.from_numpy(better)] = now[torch.from_numpy(better)]
            errors = np.where(better, after, errors)
        return best, errors

    def _step(self, q: Tensor, match: _Match, reach: float) -> Tensor:
        """One damped Gauss-Newton step of q [k] towards the nearest points."""
        count = len(q)
        with torch.no_grad():
            rows = torch.cat([q[None], q + _STEP * torch.eye(count, dtype=q.dtype)])
            moved = self.move(rows).numpy()
        x, jacobian = moved[0], np.moveaxis((moved[1:] - moved[0]) / _STEP, 0, -1)
        near, found = match.near, match.found
        residual, slope = x[near] - self.some, jacobian[near]
        across = self.across[self.looked_at]
        if not self.partial:
            residual = np.concatenate([residual, x - self.target[found]])
            slope = np.concatenate([slope, jacobian])
            across = np.concatenate([across, self.across[found]])
        weight = 1 / (1 + np.square(residual).sum(-1) / reach**2) ** 2
        flat = ((weight[:, None, None] * across) @ slope).reshape(-1, count)
        metric = flat.T @ slope.reshape(-1, count)
        pull = flat.T @ residual.reshape(-1)
        damp = 1e-3 * np.trace(metric) / count + 1e-12
        change = np.linalg.solve(metric + damp * np.eye(count), -pull)
        new = q + torch.from_numpy(change)
        return new.clamp(self.limits[:, 0], self.limits[:, 1])

    def settle(
        self, q: Tensor, error: float, rest: Tensor, rest_error: float
    ) -> tuple[Tensor, float]:
        """Send coordinates of q [k] back to rest that hardly make the error smaller, those that do
        so least first."""
        worth = _WORTH * max(rest_error - error, _SURE * error)
        away = torch.nonzero(q != rest).flatten()
        alone = q.repeat(len(away), 1)
        alone[torch.arange(len(away)), away] = rest[away]
        costs = self.errors(alone)
        for one in np.argsort(costs, kind="stable"):
            # Dearer than that alone, it is no cheaper beside others but by chance.
            if costs[one] > error + 2 * worth:
                break
            trial = q.clone()
            trial[away[one]] = rest[away[one]]
            after = float(self.errors(trial[None])[0])
            if after <= error + worth:
                q, error = trial, after
        # One alone may be dear only because others make up for what it does.
        if rest_error - error < worth * int((q != rest).sum()):
            return rest.clone(), rest_error
        return q, error


def _across(points: np.ndarray, tree: KDTree) -> np.ndarray:
    """[M, 3, 3] metrics in which moving along the surface of points [M, 3] costs little.

    Points that slide over a surface are not wrong: only its borders tell where they belong.
    """
    near = points[tree.query(points, k=min(12, len(points)))[1]]
    near = near - near.mean(1, keepdims=True)
    normal = np.linalg.eigh(near.mT @ near)[1][:, :, 0]
    outer = normal[:, :, None] * normal[:, None, :]
    return _SLIDE * np.eye(3) + (1 - _SLIDE) * outer
