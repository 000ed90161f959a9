"""Plausibility: in random states of a predicted body, do parts stay attached and out of each other?

A part is *attached* if the gap between it and the part that carries it is no wider than in the
given state plus 1 % of the size. *Penetration* of a state is how deep any sampled point lies inside
another part, beyond what it does in the given state. Only closed pieces of surface that belong to
one part have an inside: sheets, and pieces that a prediction cuts in two, have none.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numba import njit
from scipy.spatial import KDTree

from kin4d.benchmarks.prior.mechanism import Mechanism, joints_of_specs
from kin4d.bodies.segmented import SegmentedBody
from kin4d.dynamics.contact.closest import closest_on_triangle
from kin4d.geometry.mesh import Mesh
from kin4d.geometry.mesh_ops import merge_vertices
from kin4d.geometry.pieces import split_surface
from kin4d.geometry.sampling import spread_points
from kin4d.geometry.topology import Edges
from kin4d.objects.procedural.penetration import point_depths

GAP = 0.01
"""Of the size: what a gap may grow by."""

_STATES = 6
_POINTS, _LEAST = 3000, 60
_PAIRS = 24  # nearest samples whose triangles are measured exactly


@dataclass(frozen=True, kw_only=True)
class Plausibility:
    """Of one body.

    Attributes:
        attached: Share of states in which every part is.
        penetration: Mean over states, in sizes.
    """

    attached: float
    penetration: float

    @classmethod
    def of(cls, body: SegmentedBody, *, seed: int, states: int = _STATES) -> Plausibility | None:
        """Random states, uniform within the limits; None if nothing moves."""
        mesh = body.rest
        joints, number = joints_of_specs(body.joint_specs)
        part = number[body.part[mesh.faces[:, 0]]]
        face, points, _ = spread_points(mesh, part, count=_POINTS, least=_LEAST, seed=seed)
        mechanism = Mechanism(points, part[face], joints)
        if not (mechanism.link > 0).any():
            return None
        size = float(np.ptp(mesh.bounds, axis=0).max())
        surface = _Surface(mechanism, mesh.vertices[mesh.faces[face]], solids(mesh, part))
        low, high = mechanism.limits.T
        rng = np.random.default_rng(seed)
        now = np.zeros(len(low))
        gaps, depths = surface.gaps(now), surface.depths(now)
        attached, deepest = [], []
        for _ in range(states):
            q = rng.uniform(low, high)
            attached.append(bool((surface.gaps(q) <= gaps + GAP * size).all()))
            beyond = [
                (depth - depths.get(pair, np.zeros_like(depth))).max()
                for pair, depth in surface.depths(q).items()
            ]
            deepest.append(max([0.0, *beyond]) / size)
        return cls(attached=float(np.mean(attached)), penetration=float(np.mean(deepest)))


@dataclass(frozen=True, eq=False)
class _Surface:
    """Sampled points of parts with their triangles [P, 3, 3], and the solid triangles of parts."""

    mechanism: Mechanism
    triangles: np.ndarray
    solids: dict[int, np.ndarray]

    def gaps(self, q: np.ndarray) -> np.ndarray:
        """[J] m between every part and the one that carries it; 0 if either has no surface."""
        link, joints = self.mechanism.link, self.mechanism.joints
        points, triangles = self.mechanism.moved(q), self._moved_triangles(q)
        out = np.zeros(len(joints))
        for row, parent in enumerate(joints.parent):
            own, other = link == row + 1, link == parent
            if own.any() and other.any():
                out[row] = surface_gap(points[own], triangles[own], points[other], triangles[other])
        return out

    def depths(self, q: np.ndarray) -> dict[tuple[int, int], np.ndarray]:
        """m: how deep the points of the first part are inside the second, where any is."""
        motions = self.mechanism._motions(q)
        points, link = self.mechanism.moved(q), self.mechanism.link
        out = {}
        for inner in np.unique(link):
            own = points[link == inner]
            for outer, solid in self.solids.items():
                if inner == outer:
                    continue
                # The solid stays where it was; points are brought into its frame.
                back = np.linalg.inv(motions[outer])
                local = own @ back[:3, :3].T + back[:3, 3]
                low, high = solid.min((0, 1)), solid.max((0, 1))
                near = ((local > low) & (local < high)).all(1)
                if near.any():
                    depth = np.zeros(len(own))
                    depth[near] = point_depths(local[near], solid)
                    if depth.any():
                        out[int(inner), int(outer)] = depth
        return out

    def _moved_triangles(self, q: np.ndarray) -> np.ndarray:
        motions = self.mechanism._motions(q)[self.mechanism.link]
        turned = np.einsum("pab,pcb->pca", motions[:, :3, :3], self.triangles)
        return turned + motions[:, None, :3, 3]


def solids(mesh: Mesh, part: np.ndarray) -> dict[int, np.ndarray]:
    """[F', 3, 3] triangles of the closed pieces of every part, part [F] of each triangle."""
    piece = split_surface(mesh.vertices, mesh.faces)
    edges = Edges(merge_vertices(mesh.vertices)[1][mesh.faces])
    _, where, count = np.unique(edges.key, return_inverse=True, return_counts=True)
    odd = (count[where] % 2 == 1).reshape(-1, 3).any(1)
    is_open = np.bincount(piece, odd) > 0
    low, high = (np.zeros(len(is_open), np.int64) for _ in range(2))
    low[:] = len(mesh.faces)
    np.minimum.at(low, piece, part)
    np.maximum.at(high, piece, part)
    solid = (~is_open & (low == high))[piece]
    triangles = mesh.vertices[mesh.faces]
    found = {int(one): triangles[solid & (part == one)] for one in np.unique(part)}
    return {one: own for one, own in found.items() if len(own)}


def surface_gap(a: np.ndarray, of_a: np.ndarray, b: np.ndarray, of_b: np.ndarray) -> float:
    """m between two surfaces, from their samples [N, 3] and the triangles [N, 3, 3] of these."""
    far, index = KDTree(b).query(a)
    best = np.argsort(far)[:_PAIRS]
    return float(_triangle_gap(a[best], of_a[best], of_b[np.asarray(index)[best]]))


@njit(cache=True)
def _triangle_gap(points: np.ndarray, first: np.ndarray, second: np.ndarray) -> float:
    """Least distance between pairs of triangles, by projecting to and fro from points of one."""
    weights, nearest = np.empty(3), np.inf
    for i in range(len(points)):
        p = points[i].copy()
        for _ in range(8):
            for target in (second[i], first[i]):
                squared = closest_on_triangle(p, target[0], target[1], target[2], weights)
                p = weights[0] * target[0] + weights[1] * target[1] + weights[2] * target[2]
        nearest = min(nearest, squared)
    return np.sqrt(nearest)
