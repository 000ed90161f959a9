"""SolidVoxels: the solid that a surface bounds as voxels, whatever the surface is like.

Open, non-manifold and self-intersecting surfaces and loose shells all give one connected solid: it
is what the surface passes through, what cannot be reached from outside, and, where a surface has
holes, what it winds around. Distances are measured inside it, so two legs that stand close together
are far apart.
"""

from __future__ import annotations

import heapq
from dataclasses import dataclass

import numba
import numpy as np
from scipy.ndimage import binary_fill_holes, distance_transform_edt, zoom
from scipy.sparse import coo_matrix, csr_matrix
from scipy.sparse.csgraph import connected_components
from scipy.spatial import KDTree

from kin4d.geometry.elastic_graph import winding_number
from kin4d.geometry.mesh import Mesh
from kin4d.geometry.mesh_ops import merge_vertices
from kin4d.geometry.sampling import sample_surface
from kin4d.geometry.topology import Edges

_TRIAL = 40  # voxels along the longest side in the pass that measures the solid
_FINEST = 160  # voxels along the longest side at most
_WINDING = 24  # voxels along the longest side where winding numbers are computed
_OFFSETS = [
    (i, j, k) for i in (-1, 0, 1) for j in (-1, 0, 1) for k in (-1, 0, 1) if (i, j, k) > (0, 0, 0)
]


@dataclass(frozen=True, eq=False, kw_only=True)
class SolidVoxels:
    """N cubes that fill a surface.

    Attributes:
        centres: [N, 3] m.
        depth: [N] m from the centre to the nearest voxel outside.
        step: m, side of a voxel.
        graph: [N, N] m between touching voxels; parts that do not touch are bridged.
        tree: Of the centres.
    """

    centres: np.ndarray
    depth: np.ndarray
    step: float
    graph: csr_matrix
    tree: KDTree

    def __len__(self) -> int:
        return len(self.centres)

    @classmethod
    def of(cls, mesh: Mesh, *, count: int = 24_000) -> SolidVoxels:
        """About `count` voxels of the solid that `mesh` bounds."""
        size = float(np.ptp(mesh.bounds, axis=0).max())
        trial = _solid(mesh, size / _TRIAL)
        share = count / max(int(trial.sum()), 1)
        # A thin shell's voxels grow with the square of the resolution, a full body's with the cube.
        step = max(size / _TRIAL / share ** (1 / 2.7), size / _FINEST)
        solid = _solid(mesh, step)
        depth = np.asarray(distance_transform_edt(solid))
        cells = np.argwhere(solid)
        centres = mesh.bounds[0] + (cells - 0.5) * step
        graph = _bridged(_neighbours(solid, step), centres)
        return cls(
            centres=centres,
            depth=(depth[solid] - 0.5) * step,
            step=step,
            graph=graph,
            tree=KDTree(centres),
        )

    def nearest(self, points: np.ndarray) -> np.ndarray:
        """[P] the voxel nearest to each of points [P, 3] (m)."""
        return np.asarray(self.tree.query(points)[1])

    def distances(
        self, seeds: np.ndarray, *, start: np.ndarray | None = None, cost: np.ndarray | None = None
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Shortest ways through the solid from the nearest of several voxels.

        Args:
            seeds: [S] voxels.
            start: [S] m, the distance each begins with; zero by default.
            cost: [E] cost of each entry of `graph`, instead of its length.

        Returns:
            Distances [N]; which of the seeds is nearest [N]; the voxel before each on the way from
            there [N], -1 at a seed.
        """
        start = np.zeros(len(seeds)) if start is None else start
        weight = self.graph.data if cost is None else cost
        return _dijkstra(self.graph.indptr, self.graph.indices, weight, seeds, start)


def _solid(mesh: Mesh, step: float) -> np.ndarray:
    """[X, Y, Z] bool voxels of side `step`, one empty layer around."""
    corner = mesh.bounds[0] - step
    shape = np.ceil(np.ptp(mesh.bounds, axis=0) / step).astype(int) + 3
    cells = ((_dense_points(mesh, step) - corner) / step).astype(np.int64)
    solid = np.zeros(shape, bool)
    solid[tuple(cells.T)] = True
    solid = np.asarray(binary_fill_holes(solid))
    if Edges(merge_vertices(mesh.vertices)[1][mesh.faces]).open:
        solid |= _wound_around(mesh, corner, step, shape)
    return solid


def _dense_points(mesh: Mesh, step: float) -> np.ndarray:
    """[P, 3] points of the triangles, no farther apart than about half a voxel."""
    corners = mesh.vertices[mesh.faces]
    longest = np.linalg.norm(corners - np.roll(corners, 1, axis=1), axis=-1).max(1)
    pieces = np.ceil(2 * longest / step).astype(int).clip(1)
    points = [mesh.vertices]
    for n in np.unique(pieces):
        i, j = np.meshgrid(np.arange(n + 1), np.arange(n + 1), indexing="ij")
        i, j = i[i + j <= n], j[i + j <= n]
        shares = np.stack([i, j, n - i - j], -1) / n
        points.append(np.einsum("pc,fci->fpi", shares, corners[pieces == n]).reshape(-1, 3))
    return np.concatenate(points)


def _wound_around(mesh: Mesh, corner: np.ndarray, step: float, shape: np.ndarray) -> np.ndarray:
    """[X, Y, Z] bool: voxels that most of the surface winds around, although it has holes."""
    coarse = np.maximum(1, np.rint(shape * (_WINDING / shape.max()))).astype(int)
    axes = [(np.arange(n) + 0.5) * (m * step / n) for n, m in zip(coarse, shape, strict=True)]
    probes = np.stack(np.meshgrid(*axes, indexing="ij"), -1).reshape(-1, 3) + corner
    samples = sample_surface(mesh, 1200, seed=0)
    normals = samples.normals(mesh.vertices) * (mesh.face_areas.sum() / len(samples))
    winding = winding_number(probes, samples.points(mesh.vertices), normals).reshape(coarse)
    # Inside out is inside too.
    winding *= 1 if winding.sum() >= 0 else -1
    fine = zoom(winding, shape / coarse, order=1, mode="nearest", grid_mode=True)
    found = np.zeros(shape, bool)
    inner = tuple(slice(1, n - 1) for n in shape)
    found[inner] = fine[inner] > 0.5
    return found


def _neighbours(solid: np.ndarray, step: float) -> csr_matrix:
    """[N, N] distances (m) of voxels that share a face, an edge or a corner."""
    number = np.full(solid.shape, -1, np.int64)
    number[solid] = np.arange(int(solid.sum()))
    ends, lengths = [], []
    for offset in _OFFSETS:
        pairs = [*zip(offset, solid.shape, strict=True)]
        here = tuple(slice(max(0, -o), n - max(0, o)) for o, n in pairs)
        there = tuple(slice(max(0, o), n - max(0, -o)) for o, n in pairs)
        one, other = number[here].ravel(), number[there].ravel()
        both = (one >= 0) & (other >= 0)
        ends.append(np.stack([one[both], other[both]]))
        lengths.append(np.full(int(both.sum()), step * float(np.linalg.norm(offset))))
    return _symmetric(np.concatenate(ends, 1), np.concatenate(lengths), int(solid.sum()))


def _bridged(graph: csr_matrix, centres: np.ndarray) -> csr_matrix:
    """The graph with an edge from each separate part to its nearest neighbour, until all hang
    together."""
    while True:
        count, label = connected_components(graph, directed=False)
        if count == 1:
            return graph
        small = np.argsort(np.bincount(label))[:-1]
        ends, lengths = [], []
        for part in small[: max(1, count // 2)]:
            inside = np.flatnonzero(label == part)
            outside = np.flatnonzero(label != part)
            gap, index = KDTree(centres[outside]).query(centres[inside])
            best = int(np.argmin(gap))
            ends.append((inside[best], outside[np.asarray(index)[best]]))
            lengths.append(gap[best])
        graph = graph + _symmetric(np.array(ends).T, np.array(lengths), len(centres))


def _symmetric(ends: np.ndarray, lengths: np.ndarray, count: int) -> csr_matrix:
    low, high = np.sort(ends, axis=0)
    key, first = np.unique(low * count + high, return_index=True)
    ends, lengths = np.stack([key // count, key % count]), lengths[first]
    both = np.concatenate([ends, ends[::-1]], 1)
    return csr_matrix(coo_matrix((np.tile(lengths, 2), both), shape=(count, count)))


@numba.njit(cache=True)
def _dijkstra(indptr, indices, weight, seeds, start):
    count = len(indptr) - 1
    distance = np.full(count, np.inf)
    source = np.full(count, -1, np.int64)
    before = np.full(count, -1, np.int64)
    heap = [(0.0, np.int64(0)) for _ in range(0)]
    for s in range(len(seeds)):
        node = np.int64(seeds[s])
        if start[s] < distance[node]:
            distance[node] = start[s]
            source[node] = s
            heapq.heappush(heap, (start[s], node))
    while len(heap):
        far, node = heapq.heappop(heap)
        if far > distance[node]:
            continue
        for e in range(indptr[node], indptr[node + 1]):
            other = np.int64(indices[e])
            longer = far + weight[e]
            if longer < distance[other]:
                distance[other] = longer
                source[other] = source[node]
                before[other] = node
                heapq.heappush(heap, (longer, other))
    return distance, source, before
