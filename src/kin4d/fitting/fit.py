"""Fitting: the coordinates in which a body matches a given shape, without correspondences.

The starts nearest to the target are optimised, and coordinates that hardly improve the fit go back
to rest. A body of parts is then refined: every piece of the surface is assigned to the part that
brings it nearest to the target, or to none where it is nearer at rest; a piece that no part brings
near becomes a part of its own; and the fit goes on from there in finer coordinates. Skeletons in
a skin, whose joints all move a little, have a search of their own (`skin_fit`).
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import torch
from scipy.spatial import KDTree
from torch import Tensor

from kin4d.bodies.body import Body
from kin4d.bodies.capabilities import (
    BlendedTree,
    InitialGuesses,
    PartFittable,
    WideSearch,
    fixed_base,
    surface_map,
)
from kin4d.errors import InputError
from kin4d.fitting.config import CONFIG, FitConfig
from kin4d.fitting.icp import IcpSolver
from kin4d.fitting.reassign import reassign_parts
from kin4d.fitting.skin_fit import fit_skin
from kin4d.geometry.mesh import Mesh
from kin4d.geometry.sampling import sample_surface


@dataclass(frozen=True, eq=False, kw_only=True)
class FitResult:
    """A fitted body.

    Attributes:
        body: The body itself, or the same with parts as the target shows them, or with joints that
            slide.
        q: [k] float64 coordinates.
        vertices: [V, 3] float64 m, the surface at q.
        error: Mean distance (m) between body and target points, in both directions; from the
            target to the body only, if the target is partial.
        rest_error: The same at rest.
        moved: Names of the coordinates that left rest.
        starts: Errors (m) of all starts that were optimised, after it.
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
    config: FitConfig = CONFIG,
    seed: int = 0,
) -> FitResult:
    """Find the coordinates in which `body` matches `target`.

    Args:
        body: Any; initial guesses are those of the body (a `LearnedBody` predicts some) and random.
        target: A mesh, or points [M, 3] (m) in any order, in the body's frame. Noise and outliers
            are tolerated.
        partial: The target shows only some of the surface: the rest does not count.
        starts: [S, k] coordinates to begin from, instead of guesses; a skeleton begins at rest.
        config: Iterations, weights and thresholds.
        seed: Of sampling.
    """
    points = _target_points(target, config, seed)
    solver = _solver(body, points, partial, config, seed)
    rest_error = float(solver.errors(body.q0[None])[0])
    if isinstance(fixed_base(body), BlendedTree):
        shape = target if isinstance(target, Mesh) else points
        first = body.q0[None] if starts is None else starts
        body, q, errors = fit_skin(body, shape, first, partial=partial, seed=seed)
        error = float(_solver(body, points, partial, config, seed).errors(q[None])[0])
    else:
        first = _starts(body, points, seed) if starts is None else starts
        q, error, errors = _descend(solver, body.q0, rest_error, first)
    if isinstance(body, PartFittable) and body.parts is not None and not partial:
        body, q, error = _refine_parts(body, q, error, rest_error, points, config, seed)
    moved = (q != body.q0).tolist()
    return FitResult(
        body=body,
        q=q.numpy().copy(),
        vertices=_vertices(body, q),
        error=error,
        rest_error=rest_error,
        moved=tuple(name for name, left in zip(body.coordinates, moved, strict=True) if left),
        starts=errors,
    )


def _refine_parts(
    body: PartFittable,
    q: Tensor,
    error: float,
    rest_error: float,
    points: np.ndarray,
    config: FitConfig,
    seed: int,
) -> tuple[PartFittable, Tensor, float]:
    """Assign pieces to parts by the target, and go on with finer coordinates."""
    tree = KDTree(points)
    short = replace(config, descents=2, iterations=config.reassign_iterations)

    def refit(parts: np.ndarray | None, vertices: np.ndarray) -> tuple[PartFittable, Tensor, float]:
        finer = body.refined(parts)
        starts = torch.cat([finer.encode_pose(vertices)[None], finer.initial_guesses(points)])
        solver = _solver(finer, points, False, short, seed)
        return finer, *_descend(solver, finer.q0, rest_error, starts)[:2]

    given, complete = body, False
    for _ in range(config.reassign_rounds):
        assigned = reassign_parts(body, q, tree, config=config, seed=seed + 2)
        complete = error < config.noise_ratio * _noise_error(body, q, points, config, seed)
        if assigned is None or (complete and not assigned.only_released):
            break
        refined = refit(assigned.parts, assigned.vertices)
        if refined[2] > (config.same_error_ratio if assigned.only_released else 1.0) * error:
            break
        body, q, error = refined
    if body is given and not complete:
        refined = refit(None, _vertices(body, q))
        body, q, error = refined if refined[2] < error else (body, q, error)
    return body, q, error


def _noise_error(body: Body, q: Tensor, points: np.ndarray, config: FitConfig, seed: int) -> float:
    """The error (m) that sampling alone leaves: of the body against as many points of its own
    surface at q [k] as the target has."""
    own = sample_surface(body.rest, len(points), seed=seed + 3).points(_vertices(body, q))
    return float(_solver(body, own, False, config, seed).errors(q[None])[0])


def _solver(
    body: Body, points: np.ndarray, partial: bool, config: FitConfig, seed: int
) -> IcpSolver:
    return IcpSolver(
        surface_map(body, sample_surface(body.rest, config.body_points, seed=seed)),
        points,
        size=body.rest.bbox_diagonal,
        limits=body.search_limits if isinstance(body, WideSearch) else body.limits,
        partial=partial,
        config=config,
    )


def _descend(
    solver: IcpSolver, rest: Tensor, rest_error: float, starts: Tensor
) -> tuple[Tensor, float, tuple[float, ...]]:
    """Optimise the best of starts [S, k] and rest: the best q [k], its error and all errors (m)."""
    if len(rest) == 0:
        return rest, rest_error, (rest_error,)
    q = torch.cat([rest[None], starts])
    order = np.argsort(solver.errors(q), kind="stable")[: solver.config.descents]
    q, errors = solver.descend(q[torch.from_numpy(order)])
    best = int(np.argmin(errors))
    pruned, error = solver.prune_dofs(q[best], float(errors[best]), rest, rest_error)
    return pruned, error, tuple(float(one) for one in errors)


def _starts(body: Body, points: np.ndarray, seed: int) -> Tensor:
    """[S, k] initial guesses: the body's own, and random ones within the limits."""
    low, high = body.limits.nan_to_num(posinf=np.pi, neginf=-np.pi).unbind(1)
    generator = torch.Generator().manual_seed(seed)
    uniform = torch.rand(12, len(low), generator=generator, dtype=torch.float64)
    random = low + uniform * (high - low)
    if isinstance(body, InitialGuesses):
        return torch.cat([body.initial_guesses(points), random])
    return random


def _target_points(target: Mesh | np.ndarray, config: FitConfig, seed: int) -> np.ndarray:
    most = config.max_target_points
    if isinstance(target, Mesh):
        return sample_surface(target, most, seed=seed + 1).points(target.vertices)
    points = np.asarray(target, np.float64)
    if points.ndim != 2 or points.shape[1] != 3 or len(points) < 8:
        raise InputError("a target is a mesh or points [M >= 8, 3]", value=points.shape)
    if not np.isfinite(points).all():
        raise InputError("target points hold NaN or infinite values")
    if len(points) > most:
        points = np.random.default_rng(seed).permutation(points)[:most]
    return points


def _vertices(body: Body, q: Tensor) -> np.ndarray:
    with torch.no_grad():
        return body.vertices(q).numpy()
