"""Fitting: the coordinates in which a body looks like a given shape, without correspondences.

Several starts are followed, and every coordinate the target does not ask for goes back to rest.
A body of parts is then told what the target shows of them: every piece of the surface follows the
part that brings it nearest, what is nearer unmoved stays exactly still, what no part brings near
is one of its own, and the search goes on from there in finer coordinates.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import torch
from scipy.spatial import KDTree
from torch import Tensor

from kin4d.bodies.body import Body
from kin4d.bodies.capabilities import InitialGuesses, PartFittable, WideSearch, surface_map
from kin4d.errors import InputError
from kin4d.fitting.icp import IcpSolver
from kin4d.fitting.reassign import reassign_parts
from kin4d.geometry.mesh import Mesh
from kin4d.geometry.sampling import sample_surface

_SAMPLES = 1024  # on the body
_MOST_TARGET = 4096  # points of the target that are looked at
_ROUNDS = 3  # in which pieces may change what they follow
_AGAIN = 20  # steps after each
_GOOD = 1.02  # times the error that chance leaves, at which no more is to be had
_SAME = 1.005  # times the error at which it is better if less moves


@dataclass(frozen=True, eq=False, kw_only=True)
class FitResult:
    """How a body was brought to a target.

    Attributes:
        body: What was fitted: the body itself, or the same with parts as the target shows them.
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
) -> FitResult:
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
    search = _search(body, points, partial, seed)
    rest_error = float(search.errors(body.q0[None])[0])
    first = _starts(body, points, seed) if starts is None else starts
    q, error, tried = _follow(search, body.q0, rest_error, first, follow, iterations)
    if isinstance(body, PartFittable) and body.parts is not None and not partial:
        body, q, error = _regrouped(body, q, error, rest_error, points, seed)
    return _result(body, q, error, rest_error, tried)


def _regrouped(
    body: PartFittable, q: Tensor, error: float, rest_error: float, points: np.ndarray, seed: int
) -> tuple[PartFittable, Tensor, float]:
    """Let the target say what belongs to which part, and go on with finer coordinates."""
    tree = KDTree(points)

    def again(parts: np.ndarray | None, vertices: np.ndarray) -> tuple[PartFittable, Tensor, float]:
        finer = body.refined(parts)
        begin = torch.cat([finer.encode_pose(vertices)[None], finer.initial_guesses(points)])
        search = _search(finer, points, False, seed)
        return finer, *_follow(search, finer.q0, rest_error, begin, 2, _AGAIN)[:2]

    given = body
    for _ in range(_ROUNDS):
        found = reassign_parts(body, q, tree, seed=seed + 2)
        good = error < _GOOD * _least_error(body, q, points, seed)
        if found is None or (good and not found.held):
            break
        tried = again(found.parts, found.vertices)
        if tried[2] > (_SAME if found.held else 1.0) * error:
            break
        body, q, error = tried
    if body is given and not good:
        tried = again(None, _vertices(body, q))
        body, q, error = tried if tried[2] < error else (body, q, error)
    return body, q, error


def _least_error(body: Body, q: Tensor, points: np.ndarray, seed: int) -> float:
    """The error (m) of the body against its own surface at q [k], sampled as often as the target:
    what is left of it is chance."""
    own = sample_surface(body.rest, len(points), seed=seed + 3).points(_vertices(body, q))
    return float(_search(body, own, False, seed).errors(q[None])[0])


def _search(body: Body, points: np.ndarray, partial: bool, seed: int) -> IcpSolver:
    limits = body.search_limits if isinstance(body, WideSearch) else body.limits
    return IcpSolver(_probe(body, seed), points, body.rest.bbox_diagonal, limits, partial)


def _follow(
    search: IcpSolver, rest: Tensor, rest_error: float, starts: Tensor, count: int, iterations: int
) -> tuple[Tensor, float, tuple[float, ...]]:
    """Follow the best `count` of starts [S, k] and rest: where the best led, its error, and all."""
    if len(rest) == 0:
        return rest, rest_error, (rest_error,)
    q = torch.cat([rest[None], starts])
    q = q[torch.from_numpy(np.argsort(search.errors(q), kind="stable")[:count])]
    followed, errors = search.descend(q, iterations)
    best = int(np.argmin(errors))
    chosen, error = search.settle(followed[best], float(errors[best]), rest, rest_error)
    return chosen, error, tuple(float(one) for one in errors)


def _starts(body: Body, points: np.ndarray, seed: int) -> Tensor:
    """[S, k] places to begin from."""
    low, high = body.limits.nan_to_num(posinf=np.pi, neginf=-np.pi).unbind(1)
    generator = torch.Generator().manual_seed(seed)
    chance = torch.rand(12, len(low), generator=generator, dtype=torch.float64)
    anywhere = low + chance * (high - low)
    if isinstance(body, InitialGuesses):
        return torch.cat([body.initial_guesses(points), anywhere])
    return anywhere


def _probe(body: Body, seed: int) -> Callable[[Tensor], Tensor]:
    """The map q [..., k] -> places on the surface [..., N, 3]."""
    return surface_map(body, sample_surface(body.rest, _SAMPLES, seed=seed))


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
) -> FitResult:
    moved = (q != body.q0).tolist()
    return FitResult(
        body=body,
        q=q.numpy().copy(),
        vertices=_vertices(body, q),
        error=error,
        rest_error=rest_error,
        moved=tuple(name for name, left in zip(body.coordinates, moved, strict=True) if left),
        starts=starts,
    )


def _vertices(body: Body, q: Tensor) -> np.ndarray:
    with torch.no_grad():
        return body.vertices(q).numpy()
