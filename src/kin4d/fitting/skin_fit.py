"""SkinFit: the pose of a skeleton in which its skin lies on a target.

Nearest points slide along limbs and jump from one leg to the other. So points of the body and of
the target, spread evenly over both, are first paired one to one, all together at the least cost
(optimal transport): as much of the body goes to a leg as there is leg. Nearest points, both ways
and with normals that agree, take over near the end.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from scipy.optimize import linear_sum_assignment
from scipy.spatial import KDTree

from kin4d.bodies.body import Body
from kin4d.bodies.capabilities import LooseJoints, WideSearch, fixed_base
from kin4d.bodies.floating import FloatingBase
from kin4d.geometry.mesh import Mesh
from kin4d.geometry.sampling import SurfaceSamples, farthest_points, sample_surface
from kin4d.kinematics.compiled.blended import BlendedKinematics
from kin4d.kinematics.compiled.compiled_kinematics import compile_kinematics

_ROOT = 6  # coordinates of a free body's root, which have no rest to go back to


@dataclass(frozen=True, kw_only=True)
class SkinFitConfig:
    """How a skeleton is fitted. Lengths are in bounding-box diagonals of the body.

    Attributes:
        body_points: Sampled on the body.
        target_points: Sampled on the target; the first `queries` of them look for body points.
        queries: See target_points.
        pairs: Points of each side that are paired one to one.
        transport: Steps with such pairs.
        transport_tangential: Weight of distances along the surface at the first and last of these.
        transport_rest: Weight of going back to rest, likewise.
        nearest: Steps with nearest points after them.
        search: Steps with nearest points alone, of a descent without pairs.
        kernel_widths: Of the robust (Geman-McClure) kernel in a search: first, last.
        end_width: Of the kernel at the first of the `nearest` steps.
        tangential: Weight of distances along the surface, of nearest points.
        normals: A right angle between normals counts as a distance of sqrt(2) times this.
        rest: Weight of going back to rest, of nearest points.
        loose: Steps with nearest points in which joints also slide; none for partial targets.
        slide: As far as a joint slides.
        slide_rest: Weight of sliding back, against distances.
        damping: Of Gauss-Newton, of the mean diagonal of the normal matrix.
    """

    body_points: int = 1024
    target_points: int = 4096
    queries: int = 4096
    pairs: int = 640
    transport: int = 12
    transport_tangential: tuple[float, float] = (1.0, 0.3)
    transport_rest: tuple[float, float] = (1e-5, 1e-6)
    nearest: int = 15
    search: int = 30
    kernel_widths: tuple[float, float] = (0.2, 0.02)
    end_width: float = 0.04
    tangential: float = 0.3
    normals: float = 0.1
    rest: float = 2e-6
    loose: int = 20
    slide: float = 0.06
    slide_rest: float = 5e-4
    damping: float = 1e-2


SKIN_CONFIG = SkinFitConfig()


class SkinFit:
    """A skin over a tree of joints, and points that it should lie on.

    Args:
        body: A `BlendedTree`, or a `FloatingBase` around one.
        target: A mesh, or points [M, 3] (m), which have no normals.
        partial: Whether the target shows only some of the surface.
        slides: [k] bool: which coordinates are joints that slide; none by default.
        config: Steps and weights.
        seed: Of sampling.
    """

    def __init__(
        self,
        body: Body,
        target: Mesh | np.ndarray,
        *,
        partial: bool,
        slides: np.ndarray | None = None,
        config: SkinFitConfig = SKIN_CONFIG,
        seed: int = 0,
    ) -> None:
        self.config, self.partial, mesh = config, partial, body.rest
        self.size, self._rest = mesh.bbox_diagonal, body.q0.numpy()
        limits = body.search_limits if isinstance(body, WideSearch) else body.limits
        self._low, self._high = limits.numpy().T
        samples = sample_surface(mesh, config.body_points, seed=seed)
        self._corners = _with_corners(samples)
        kinematics = compile_kinematics(body, self._corners)
        assert isinstance(kinematics, BlendedKinematics)
        self._kinematics, self._count = kinematics, len(samples)
        self._returns = np.ones(len(self._rest))
        if kinematics.floating:
            self._returns[:_ROOT] = 0.0
        # Slides count in sizes, as angles do.
        self._unit = np.ones(len(self._rest))
        if slides is not None:
            self._unit[slides] = self.size
            self._returns[slides] = config.slide_rest / config.rest
        if isinstance(target, Mesh):
            found = sample_surface(target, config.target_points, seed=seed + 1)
            self._target, a, b, c = _corner_points(target, found)
            self._normals = _unit(np.cross(b - a, c - a))
            self._normal_weight = config.normals
        else:
            self._target = target
            self._normals, self._normal_weight = _estimated_normals(target), 0.0
        self._tree = KDTree(self._features(self._target, self._normals))
        self._queries = np.arange(min(config.queries, len(self._target)))

    def descents(self, start: np.ndarray) -> list[np.ndarray]:
        """Coordinates [k] to which descents lead from a start [k]: with and without pairs."""
        config = self.config
        found = [self._nearest(start, config.kernel_widths, config.search)]
        if not self.partial:
            widths = (config.end_width, config.kernel_widths[1])
            found.append(self._nearest(self._transport(start), widths, config.nearest))
        return found

    def refine(self, start: np.ndarray) -> np.ndarray:
        """Coordinates [k] from a start near by, with nearest points."""
        config = self.config
        return self._nearest(start, (config.end_width, config.kernel_widths[1]), config.loose)

    def error(self, q: np.ndarray) -> float:
        """How far (m) body and target are apart at q [k], normals included."""
        x, _, normals = self._surface(q)
        own, target = self._features(x, normals), self._tree.data
        there = KDTree(own).query(target[self._queries])[0].mean()
        return float(there if self.partial else (there + self._tree.query(own)[0].mean()) / 2)

    def _transport(self, q: np.ndarray) -> np.ndarray:
        """Steps towards points that are paired one to one, at the least sum of squares."""
        config = self.config
        count = min(config.pairs, len(self._target), self._count)
        start = self._surface(q)[0]
        own = farthest_points(start, count, seed=0)
        other = farthest_points(self._target, count, seed=0)
        goal, features = self._target[other], self._tree.data[other]
        tangential = np.geomspace(*config.transport_tangential, config.transport)
        rest = np.geomspace(*config.transport_rest, config.transport)
        for along, back in zip(tangential, rest, strict=True):
            x, jacobian, normals = (part[own] for part in self._surface(q))
            here = self._features(x, normals)
            cost = np.square(here[:, None] - features).sum(-1)
            to = linear_sum_assignment(cost)[1]
            gap, facing = x - goal[to], self._facing(normals, other[to], least=0.05)
            length = np.linalg.norm(gap, axis=1)
            width = max(2.5 * float(np.median(length)), config.kernel_widths[1] * self.size)
            weight = facing / (1 + np.square(length / width)) ** 2
            q = self._step(q, gap, jacobian, weight, self._normals[other[to]], along, back)
        return q

    def _nearest(self, q: np.ndarray, widths: tuple[float, float], count: int) -> np.ndarray:
        """Steps towards nearest points, under a kernel that narrows."""
        config, queries = self.config, self._queries
        for width in np.geomspace(*widths, count) * self.size:
            x, jacobian, normals = self._surface(q)
            own = self._features(x, normals)
            at = np.asarray(KDTree(own).query(self._tree.data[queries])[1])
            to = queries
            if not self.partial:
                at = np.concatenate([np.arange(len(x)), at])
                to = np.concatenate([self._tree.query(own)[1], queries])
            gap = x[at] - self._target[to]
            weight = self._facing(normals[at], to, least=0.0)
            weight = weight / (1 + np.square(gap).sum(-1) / width**2) ** 2
            q = self._step(
                q, gap, jacobian[at], weight, self._normals[to], config.tangential, config.rest
            )
        return q

    def _step(
        self,
        q: np.ndarray,
        gap: np.ndarray,
        jacobian: np.ndarray,
        weight: np.ndarray,
        normals: np.ndarray,
        tangential: float,
        rest: float,
    ) -> np.ndarray:
        """One damped Gauss-Newton step that closes gaps [N, 3] of points with Jacobians [N, 3, k],
        those along the surface less."""
        k = len(q)
        jacobian = jacobian * self._unit
        across = np.einsum("ni,nik->nk", normals, jacobian)
        root = np.sqrt(weight)
        # |v|^2 tangential + (1 - tangential) (n.v)^2, without matrices of every point.
        rows = np.concatenate(
            [
                (np.sqrt(tangential) * root[:, None, None] * jacobian).reshape(-1, k),
                (np.sqrt(1 - tangential) * root)[:, None] * across,
            ]
        )
        gaps = np.concatenate(
            [
                (np.sqrt(tangential) * root[:, None] * gap).ravel(),
                np.sqrt(1 - tangential) * root * np.einsum("ni,ni->n", normals, gap),
            ]
        )
        normal, gradient = rows.T @ rows, rows.T @ gaps
        back = rest * len(gap) * self.size**2 * self._returns
        gradient += back * (q - self._rest) / self._unit
        normal[np.diag_indices(k)] += back + self.config.damping * np.trace(normal) / k
        step = self._unit * np.linalg.solve(normal, gradient)
        return np.clip(q - step, self._low, self._high)

    def _surface(self, q: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Points [N, 3] (m), Jacobians [N, 3, k] and normals [N, 3] of the body at q [k]."""
        at = self._kinematics.at(q)
        points, jacobian = self._kinematics.points_and_jacobians(at, np.arange(self._count))
        _, a, b, c = at.surface_points.reshape(4, self._count, 3)
        return points, jacobian, _unit(np.cross(b - a, c - a))

    def _features(self, points: np.ndarray, normals: np.ndarray) -> np.ndarray:
        """[N, 6] or [N, 3] positions in which nearest points also face the same way."""
        if not self._normal_weight:
            return points
        return np.concatenate([points, self._normal_weight * self.size * normals], 1)

    def _facing(self, normals: np.ndarray, to: np.ndarray, *, least: float) -> np.ndarray:
        """[N] weights of pairs: the cosines of their normals, if the target has any."""
        if not self._normal_weight:
            return np.ones(len(to))
        return np.clip(np.einsum("ni,ni->n", normals, self._normals[to]), least, 1.0)


def fit_skin(
    body: Body,
    target: Mesh | np.ndarray,
    starts: torch.Tensor,
    *,
    partial: bool,
    config: SkinFitConfig = SKIN_CONFIG,
    seed: int = 0,
) -> tuple[Body, torch.Tensor, tuple[float, ...]]:
    """The body, perhaps with joints that slide, the best coordinates [k] that descents from starts
    [S, k] lead to, and all their errors (m).

    See `SkinFit` for the arguments.
    """
    solver = SkinFit(body, target, partial=partial, config=config, seed=seed)
    found = [q for start in starts.numpy() for q in solver.descents(start)]
    errors = [solver.error(q) for q in found]
    best = found[int(np.argmin(errors))]
    inner = fixed_base(body)
    if partial or not config.loose or not isinstance(inner, LooseJoints):
        return body, torch.from_numpy(best), tuple(errors)
    loose, slides = inner.loosened(config.slide * inner.rest.bbox_diagonal)
    if body is not inner:
        loose, slides = FloatingBase(loose), np.append(np.zeros(_ROOT, bool), slides)
    solver = SkinFit(loose, target, partial=False, slides=slides, config=config, seed=seed)
    start = np.zeros(len(slides))
    start[~slides] = best
    return loose, torch.from_numpy(solver.refine(start)), tuple(errors)


def _with_corners(samples: SurfaceSamples) -> SurfaceSamples:
    """The samples, and after them the first, second and third corners of their triangles."""
    return SurfaceSamples(
        face=np.tile(samples.face, 4),
        corners=np.tile(samples.corners, (4, 1)),
        barycentric=np.concatenate(
            [samples.barycentric, *np.repeat(np.eye(3)[:, None], len(samples), 1)]
        ),
    )


def _corner_points(mesh: Mesh, samples: SurfaceSamples) -> np.ndarray:
    """[4, N, 3] m: samples, and the corners of their triangles."""
    return _with_corners(samples).points(mesh.vertices).reshape(4, len(samples), 3)


def _estimated_normals(points: np.ndarray) -> np.ndarray:
    """[N, 3] directions across the surface that points are on, to either side."""
    near = points[KDTree(points).query(points, k=min(12, len(points)))[1]]
    near = near - near.mean(1, keepdims=True)
    return np.linalg.eigh(near.mT @ near)[1][:, :, 0]


def _unit(vectors: np.ndarray) -> np.ndarray:
    return vectors / np.maximum(np.linalg.norm(vectors, axis=-1, keepdims=True), 1e-30)
