"""Lattice: tetrahedra that fill any closed surface, and what is carried by them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.sparse import coo_matrix
from scipy.sparse.csgraph import connected_components
from scipy.spatial import KDTree

from kin4d.geometry.elastic_graph import winding_number
from kin4d.geometry.mesh import Mesh
from kin4d.geometry.sampling import sample_surface

# Five tetrahedra fill a cube; neighbours take the mirrored five, so that their faces match.
_EVEN = ((0, 3, 5, 6), (1, 0, 3, 5), (2, 3, 0, 6), (4, 5, 6, 0), (7, 6, 5, 3))
_ODD = ((1, 2, 4, 7), (0, 1, 2, 4), (3, 2, 1, 7), (5, 4, 7, 1), (6, 7, 4, 2))
_CORNERS = np.array([(k & 1, k >> 1 & 1, k >> 2 & 1) for k in range(8)])
_LEAST = 0.1  # part of a cube that counts as inside, however little is


@dataclass(frozen=True, eq=False, kw_only=True)
class Lattice:
    """Cubes over a surface, cut into tetrahedra.

    Attributes:
        nodes: [N, 3] m.
        tetrahedra: [5 C, 4] int64, of positive volume, five of each cube.
        volumes: [N] m³ of the solid around each node: cubes count by the part of them inside.
        filled: [C] that part of each cube.
        cubes: [C, 3] where they are: cube (i, j, k) begins at corner + step * (i, j, k).
        corner: [3] m.
        step: [3] m, the sides of a cube.
    """

    nodes: np.ndarray
    tetrahedra: np.ndarray
    volumes: np.ndarray
    filled: np.ndarray
    cubes: np.ndarray
    corner: np.ndarray
    step: np.ndarray

    @classmethod
    def around(cls, mesh: Mesh, *, cells: int = 160, whole: bool = False, seed: int = 0) -> Lattice:
        """A lattice of about `cells` cubes around a mesh.

        Args:
            mesh: Closed, or nearly so.
            cells: About how many cubes.
            whole: Whether cubes are kept too that the surface merely passes, and cubes between
                pieces that are apart. Without it a cube is kept if a quarter of it is inside or a
                vertex is.
            seed: Of the samples that tell inside from outside.
        """
        samples = sample_surface(mesh, 1200, seed=seed)
        surface = samples.points(mesh.vertices)
        volume = signed_volume(mesh)
        area = mesh.face_areas.sum() / len(surface) * (1 if volume >= 0 else -1)
        corner, size = mesh.bounds[0], np.ptp(mesh.bounds, axis=0)
        counts = _counts(abs(volume), size, cells)
        step = size / counts  # cubes fit the box, so that flat shapes are met exactly
        grid = np.stack(np.meshgrid(*map(np.arange, counts), indexing="ij"), -1).reshape(-1, 3)
        inside = 0.25 + 0.5 * np.stack(np.meshgrid(*[[0, 1]] * 3, indexing="ij"), -1).reshape(-1, 3)
        probes = (corner + (grid[:, None] + inside) * step).reshape(-1, 3)
        normals = samples.normals(mesh.vertices) * area
        filled = (winding_number(probes, surface, normals) > 0.5).reshape(len(grid), -1).mean(1)
        kept = filled > 0.25
        for points in (mesh.vertices, surface) if whole else (mesh.vertices,):
            cell = np.clip(((points - corner) / step).astype(int), 0, counts - 1)
            kept[np.ravel_multi_index(cell.T, tuple(counts))] = True
        filled = np.maximum(filled, _LEAST)
        if whole:
            bridge = _bridge(kept.reshape(counts)).ravel()
            kept, filled = kept | bridge, np.where(bridge, 1.0, filled)
        return cls._of_cubes(grid[kept], filled[kept], corner, step)

    @classmethod
    def _of_cubes(cls, cubes, filled, corner, step) -> Lattice:
        points, index = np.unique(
            (cubes[:, None] + _CORNERS).reshape(-1, 3), axis=0, return_inverse=True
        )
        index = index.reshape(-1, 8)
        odd = (cubes.sum(1) % 2).astype(bool)
        local = np.where(odd[:, None, None], np.array(_ODD), np.array(_EVEN))
        tetrahedra = np.take_along_axis(index[:, None], local, axis=2).reshape(-1, 4)
        nodes = corner + points * step
        volumes = np.zeros(len(nodes))
        np.add.at(volumes, index, (filled * step.prod() / 8)[:, None])
        corners = nodes[tetrahedra]
        flipped = np.linalg.det(corners[:, 1:] - corners[:, :1]) < 0
        tetrahedra[flipped] = tetrahedra[flipped][:, [0, 1, 3, 2]]
        return cls(
            nodes=nodes,
            tetrahedra=tetrahedra,
            volumes=volumes,
            filled=filled,
            cubes=cubes,
            corner=corner,
            step=step,
        )

    def carriers(self, points: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Nodes [P, 4] of the tetrahedron that each of points [P, 3] is in, and shares [P, 4].

        Points have to be in one of the cubes.
        """
        counts = self.cubes.max(0) + 1
        cell = np.clip(((points - self.corner) / self.step).astype(int), 0, counts - 1)
        known, wanted = (np.ravel_multi_index(at.T, tuple(counts)) for at in (self.cubes, cell))
        choices = self.tetrahedra.reshape(-1, 5, 4)[np.searchsorted(known, wanted)]
        frames = self.nodes[choices]
        edges = (frames[:, :, 1:] - frames[:, :, :1]).mT
        rest = np.linalg.solve(edges, (points[:, None] - frames[:, :, 0])[..., None])[..., 0]
        shares = np.concatenate([1 - rest.sum(-1, keepdims=True), rest], axis=-1)
        # The tetrahedron of its cube that a point is most inside of.
        pick, best = np.arange(len(points)), shares.min(-1).argmax(1)
        return choices[pick, best], shares[pick, best]

    def beyond(self, points: np.ndarray, normals: np.ndarray) -> np.ndarray:
        """[N] bool: nodes that hold a surface where it passes points [P, 3], normals [P, 3].

        Of the cubes that a point is in or at the border of, those corners that are not under the
        surface: it is held as a patch of the lattice's resolution, never hinged on a point.
        """
        near = KDTree(self.nodes / self.step).query_ball_point(
            points / self.step, 1 + 1e-6, p=np.inf
        )
        point = np.repeat(np.arange(len(points)), [len(nodes) for nodes in near])
        node = np.concatenate([np.asarray(nodes, int) for nodes in near])
        height = np.einsum("pi,pi->p", self.nodes[node] - points[point], normals[point])
        found = np.zeros(len(self.nodes), bool)
        found[node[height > -0.25 * self.step.mean()]] = True
        return found


def signed_volume(mesh: Mesh) -> float:
    """m³ that a surface encloses, negative if it is inside out; an open one is closed by a fan."""
    a, b, c = (mesh.vertices - mesh.bounds.mean(0))[mesh.faces].transpose(1, 0, 2)
    return float(np.einsum("fi,fi->f", a, np.cross(b, c)).sum() / 6)


def _counts(volume: float, size: np.ndarray, cells: int) -> np.ndarray:
    """[3] cubes along the box's sides, so that about `cells` are needed for the volume (m³)."""
    part = np.clip(volume / size.prod(), 0.03, 1.0)
    # Cubes at the surface are whole: fewer are wanted inside.
    edge = (part * size.prod() / (0.6 * cells)) ** (1 / 3)
    while part * np.maximum(1, size / edge).prod() > cells:  # thinner than a cube
        edge *= 1.1
    return np.maximum(1, np.rint(size / edge)).astype(int)


def _bridge(kept: np.ndarray) -> np.ndarray:
    """[X, Y, Z] bool: cubes to add to those kept, until all hang together by their faces."""
    bridge = np.zeros_like(kept)
    while True:
        cubes = np.argwhere(kept | bridge)
        pairs = KDTree(cubes).query_pairs(1.0, output_type="ndarray")
        graph = coo_matrix((np.ones(len(pairs)), pairs.T), shape=(len(cubes),) * 2)
        pieces, label = connected_components(graph, directed=False)
        if pieces == 1:
            return bridge
        inner = label == np.bincount(label).argmin()
        inside, outside = cubes[inner], cubes[~inner]
        gap, target = KDTree(outside).query(inside, p=1)
        here, there = inside[gap.argmin()].copy(), outside[np.asarray(target)[gap.argmin()]]
        for axis in range(3):
            while here[axis] != there[axis]:
                here[axis] += np.sign(there[axis] - here[axis])
                bridge[tuple(here)] = True
        bridge &= ~kept
