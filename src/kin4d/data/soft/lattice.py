"""Lattice: tetrahedra that fill any closed surface, and the surface carried by them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from kin4d.geometry.elastic_cloud import winding
from kin4d.geometry.mesh import Mesh
from kin4d.geometry.sampling import sample_surface

# Five tetrahedra fill a cube; neighbours take the mirrored five, so that their faces match.
_EVEN = ((0, 3, 5, 6), (1, 0, 3, 5), (2, 3, 0, 6), (4, 5, 6, 0), (7, 6, 5, 3))
_ODD = ((1, 2, 4, 7), (0, 1, 2, 4), (3, 2, 1, 7), (5, 4, 7, 1), (6, 7, 4, 2))


@dataclass(frozen=True, eq=False, kw_only=True)
class Lattice:
    """Cubes over a surface, cut into tetrahedra.

    Attributes:
        nodes: [N, 3] m.
        tetrahedra: [E, 4] int64, of positive volume.
        volumes: [N] m³ of the solid around each node: cubes at the surface count by the part of
            them that is inside.
        carriers: [V, 4] nodes of the tetrahedron that each surface vertex is in.
        shares: [V, 4] barycentric weights.
    """

    nodes: np.ndarray
    tetrahedra: np.ndarray
    volumes: np.ndarray
    carriers: np.ndarray
    shares: np.ndarray

    @classmethod
    def around(cls, mesh: Mesh, *, cells: int = 160, seed: int = 0) -> Lattice:
        """A lattice of about `cells` cubes around a closed mesh."""
        samples = sample_surface(mesh, 1200, seed=seed)
        surface = samples.points(mesh.vertices)
        areas = samples.normals(mesh.vertices) * (mesh.face_areas.sum() / len(surface))
        low, size = mesh.bounds[0], np.ptp(mesh.bounds, axis=0)
        edge = _edge(mesh, size, cells)
        counts = np.maximum(1, np.rint(size / edge)).astype(int)
        step = size / counts  # cubes fit the box, so that flat shapes are met exactly
        grid = np.stack(np.meshgrid(*map(np.arange, counts), indexing="ij"), -1).reshape(-1, 3)
        inside = np.stack(np.meshgrid(*[[0.25, 0.75]] * 3, indexing="ij"), -1).reshape(-1, 3)
        probes = low + (grid[:, None] + inside) * step
        filled = winding(probes.reshape(-1, 3), surface, areas).reshape(len(grid), -1) > 0.5
        cell = np.clip(((mesh.vertices - low) / step).astype(int), 0, counts - 1)
        number = np.ravel_multi_index(cell.T, tuple(counts))
        touched = np.zeros(len(grid), bool)
        touched[number] = True
        kept = filled.mean(1) > 0.25
        kept |= touched
        part = np.maximum(filled.mean(1), 0.1)[kept]
        return cls._build(mesh, grid[kept], part, low, step, cell)

    @classmethod
    def _build(cls, mesh: Mesh, grid, part, low, step, cell) -> Lattice:
        corner = np.array([(k & 1, k >> 1 & 1, k >> 2 & 1) for k in range(8)])
        points, index = np.unique(
            (grid[:, None] + corner).reshape(-1, 3), axis=0, return_inverse=True
        )
        index = index.reshape(-1, 8)
        odd = (grid.sum(1) % 2).astype(bool)
        local = np.where(odd[:, None, None], np.array(_ODD), np.array(_EVEN))
        tetrahedra = np.take_along_axis(index[:, None], local, axis=2)
        nodes = low + points * step
        volumes = np.zeros(len(nodes))
        np.add.at(volumes, index, (part * step.prod() / 8)[:, None])
        # The tetrahedron of its cube that a vertex is most inside of.
        where = {tuple(place): row for row, place in enumerate(grid.tolist())}
        rows = np.array([where[tuple(place)] for place in cell.tolist()])
        choices = tetrahedra[rows]
        frames = nodes[choices]
        edges = (frames[:, :, 1:] - frames[:, :, :1]).mT
        rest = np.linalg.solve(edges, (mesh.vertices[:, None] - frames[:, :, 0])[..., None])[..., 0]
        shares = np.concatenate([1 - rest.sum(-1, keepdims=True), rest], axis=-1)
        best = shares.min(-1).argmax(1)
        pick = np.arange(len(rows))
        tetrahedra = tetrahedra.reshape(-1, 4)
        corners = nodes[tetrahedra]
        flipped = np.linalg.det(corners[:, 1:] - corners[:, :1]) < 0
        tetrahedra[flipped] = tetrahedra[flipped][:, [0, 1, 3, 2]]
        return cls(
            nodes=nodes,
            tetrahedra=tetrahedra,
            volumes=volumes,
            carriers=choices[pick, best],
            shares=shares[pick, best],
        )


def _edge(mesh: Mesh, size: np.ndarray, cells: int) -> float:
    a, b, c = mesh.vertices[mesh.faces].transpose(1, 0, 2)
    volume = max(abs(np.einsum("fi,fi->f", a, np.cross(b, c)).sum()) / 6, 1e-3 * size.prod())
    # Cubes at the surface are whole: fewer are wanted inside.
    return float((volume / (0.6 * cells)) ** (1 / 3))
