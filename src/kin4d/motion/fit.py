"""Fitting: the coordinates in which a body looks like a given shape, without correspondences.

Several starts are brought closer together, in turns of nearest points and Gauss-Newton steps, with
far points counting less and less. Then every coordinate the target does not ask for goes back to
rest, and so does every piece of the surface that was nearer to the target before it was moved: what
does not move stays exactly still.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple, Protocol, runtime_checkable

import numpy as np
import torch
from scipy.spatial import KDTree
from torch import Tensor

from kin4d.bodies.body import Body
from kin4d.errors import InputError
from kin4d.geometry.mesh import Mesh
from kin4d.geometry.sampling import sample_surface

_SAMPLES = 1024  # on the body
_MOST_TARGET = 4096  # points of the target that are looked at
_STEP = 1e-6  # of coordinates, for differences
_NARROW = (0.2, 0.02)  # reach of a far point's pull at the first and the last step, in sizes
_SLIDE = 0.1  # weight of a distance along the surface, against one across it
_AGAIN = 8  # steps after pieces were found to stay
_PROBED = 8192  # places that tell which do
_WORTH = 0.02  # share of the error a coordinate must take away to leave rest


@runtime_checkable
class Holding(Body, Protocol):
    """A body that may be told that some of it does not move."""

    @property
    def pieces(self) -> np.ndarray:
        """[F] the piece of the surface each triangle belongs to."""
        ...

    def holding(self, faces: np.ndarray) -> Body:
        """The same body with triangles, faces [F] bool, held where they are."""
        ...


@dataclass(frozen=True, eq=False, kw_only=True)
class Fit:
    """How a body was brought to a target.

    Attributes:
        body: What was fitted: the body itself, or the same with pieces held that do not move.
        q: [k] float64 coordinates.
        vertices: [V, 3] float64 m, the surface there.
        error: Mean distance (m) between body and target points, both ways; from the target to the
            body only, if the target is partial.
        rest_error: The same at rest.
        moved: Names of the coordinates that left rest.
        starts: Errors (m) of all starts that were followed, after they were.
    """

    body: Body
    q: np.ndarray
    vertices: np.ndarray
    error: float
    rest_error: float
    moved: tuple[str, ...]
    starts: tuple[float, ...]


def fit(
    body: Body,
    target: Mesh | np.ndarray,
    *,
    partial: bool = False,
    starts: Tensor | None = None,
    follow: int = 4,
    iterations: int = 24,
    seed: int = 0,
) -> Fit:
    """Find the coordinates in which `body` looks like `target`.

    Args:
        body: Any; one that can guess (as a `LearnedBody` does) is asked to.
        target: A mesh, or points [M, 3] (m) in any order, in the body's frame. Noise and outliers
            are bearable.
        partial: The target shows only some of the surface: nothing is asked of the rest.
        starts: [S, k] coordinates to begin from, instead of guesses.
        follow: How many starts to follow to the end; the best are chosen.
        iterations: Of each.
        seed: Of sampling.
    """
    points = _target_points(target, seed)
    size = body.rest.diameter
    move = _probe(body, seed)
    limits = getattr(body, "search_limits", body.limits)
    problem = _Problem(move, points, size, limits, partial)
    rest = body.q0[None]
    rest_error = float(problem.errors(rest)[0])
    if not body.coordinates:
        return _result(body, body.q0, rest_error, rest_error, (rest_error,))
    q = torch.cat([rest, _starts(body, points, seed) if starts is None else starts])
    errors = problem.errors(q)
    q = q[torch.from_numpy(np.argsort(errors, kind="stable")[:follow])]
    followed, errors = problem.descend(q, iterations)
    best = int(np.argmin(errors))
    chosen, error = problem.settle(followed[best], float(errors[best]), body.q0, rest_error)
    tried = tuple(float(e) for e in errors)
    still = None
    if isinstance(body, Holding) and not partial:
        still = _needless(body, chosen, problem, seed)
    if isinstance(body, Holding) and still is not None:
        held = body.holding(still)
        problem = _Problem(_probe(held, seed), points, size, limits, partial)
        followed, errors = problem.descend(chosen[None], _AGAIN)
        again, less = problem.settle(followed[0], float(errors[0]), body.q0, rest_error)
        if less < error:
            body, chosen, error = held, again, less
    return _result(body, chosen, error, rest_error, tried)


class _Match(NamedTuple):
    """Which points lie nearest: `near` [M] of the body's to the target's, `found` [N] the reverse
    (empty if the target is partial); and the mean distance (m)."""

    error: float
    near: np.ndarray
    found: np.ndarray


class _Problem:
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
        self.across = _across(target, self.tree)
        some = np.linspace(0, len(target) - 1, min(len(target), 2 * _SAMPLES)).astype(int)
        self.some, self.some_across = target[some], self.across[some]

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
        residual, slope, across = x[near] - self.some, jacobian[near], self.some_across
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
        """Send back to rest, one by one, what hardly makes the error smaller."""
        while True:
            away = torch.nonzero(q != rest).flatten()
            if len(away) == 0:
                return q, error
            trial = q.repeat(len(away), 1)
            trial[torch.arange(len(away)), away] = rest[away]
            errors = self.errors(trial)
            first = int(np.argmin(errors))
            if errors[first] > error + _WORTH * max(rest_error - error, 0.02 * error):
                return q, error
            q, error = trial[first], float(errors[first])


def _needless(body: Holding, q: Tensor, problem: _Problem, seed: int) -> np.ndarray | None:
    """[F] bool: pieces of the surface that are nearer to the target if they stay; None if none."""
    pieces = body.pieces
    samples = sample_surface(body.rest, _PROBED, seed=seed + 2)
    with torch.no_grad():
        moved = samples.points(body.vertices(q).numpy())
    rest = samples.points(body.rest.vertices)
    piece, count = pieces[samples.face], int(pieces.max()) + 1
    gone = np.bincount(piece, np.linalg.norm(moved - rest, axis=-1), minlength=count) > 0
    here, there = (np.asarray(problem.tree.query(x)[0]) for x in (rest, moved))
    needless = gone & (np.bincount(piece, there - here, minlength=count) > 0)
    return needless[pieces] if needless.any() else None


def _across(points: np.ndarray, tree: KDTree) -> np.ndarray:
    """[M, 3, 3] metrics in which moving along the surface of points [M, 3] costs little.

    Points that slide over a surface are not wrong: only its borders tell where they belong.
    """
    near = points[tree.query(points, k=min(12, len(points)))[1]]
    near = near - near.mean(1, keepdims=True)
    normal = np.linalg.eigh(near.mT @ near)[1][:, :, 0]
    outer = normal[:, :, None] * normal[:, None, :]
    return _SLIDE * np.eye(3) + (1 - _SLIDE) * outer


def _starts(body: Body, points: np.ndarray, seed: int) -> Tensor:
    """[S, k] places to begin from."""
    low, high = body.limits.nan_to_num(posinf=np.pi, neginf=-np.pi).unbind(1)
    generator = torch.Generator().manual_seed(seed)
    chance = torch.rand(12, len(low), generator=generator, dtype=torch.float64)
    anywhere = low + chance * (high - low)
    guesses = getattr(body, "guesses", None)
    return anywhere if guesses is None else torch.cat([guesses(points), anywhere])


def _probe(body: Body, seed: int) -> Callable[[Tensor], Tensor]:
    """The map q [..., k] -> places on the surface [..., N, 3]."""
    samples = sample_surface(body.rest, _SAMPLES, seed=seed)
    probe = getattr(body, "probe", None)
    if probe is not None:
        return probe(samples)
    return lambda q: samples.points(body.vertices(q))


def _target_points(target: Mesh | np.ndarray, seed: int) -> np.ndarray:
    if isinstance(target, Mesh):
        return sample_surface(target, _MOST_TARGET, seed=seed + 1).points(target.vertices)
    points = np.asarray(target, np.float64)
    if points.ndim != 2 or points.shape[1] != 3 or len(points) < 8:
        raise InputError("a target is a mesh or points [M >= 8, 3]", value=points.shape)
    if not np.isfinite(points).all():
        raise InputError("target points hold NaN or infinite values")
    if len(points) > _MOST_TARGET:
        points = np.random.default_rng(seed).permutation(points)[:_MOST_TARGET]
    return points


def _result(
    body: Body, q: Tensor, error: float, rest_error: float, starts: tuple[float, ...]
) -> Fit:
    with torch.no_grad():
        vertices = body.vertices(q).numpy()
    moved = (q != body.q0).tolist()
    return Fit(
        body=body,
        q=q.numpy().copy(),
        vertices=vertices,
        error=error,
        rest_error=rest_error,
        moved=tuple(name for name, left in zip(body.coordinates, moved, strict=True) if left),
        starts=starts,
    )
