"""ElasticCloud: nodes that fill a shape, and how stiffly they hang together.

No tetrahedra are needed: nodes spread over the surface and, where it encloses a volume, through
its inside. Each node is tied to its nearest, whether or not the surface connects them, so the
loose pieces of a model move together. The energy of displacements u is

    1/2 sum_i sum_j k |u_j - u_i - w_i x (x_j - x_i)|^2

where each node's small rotation w_i is whatever makes its own part smallest: rotating costs
nothing, bending and stretching do, in solids, sheets and wires alike. A tie that bends evenly
departs from one end's rotation but not from the mean of both, (w_i + w_j) / 2. The energy with that
mean in place of w_i is near that of the continuum, where the one above is too stiff against
bending; but it lets thin sheets and wires bend for nothing, so the two are mixed.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.sparse import coo_matrix, csr_matrix, diags
from scipy.sparse.csgraph import connected_components
from scipy.spatial import KDTree

from kin4d.geometry.mesh import Mesh
from kin4d.geometry.sampling import farthest_points, sample_surface

_NEIGHBOURS = 14
_FILL = 4  # candidates for each node that is chosen


@dataclass(frozen=True, eq=False, kw_only=True)
class ElasticGraph:
    """Nodes tied to their neighbours, in a frame where the shape's diameter is 1.

    Attributes:
        nodes: [N, 3].
        pairs: [E, 2] int64: each tie in both directions, sorted by its first node.
        stiffness: [3N, 3N] sparse, of displacements (x, y, z of node 0, then of node 1, ...).
        rotation: [3N, 3N] sparse: the nodes' small rotations (rad) of displacements.
    """

    nodes: np.ndarray
    pairs: np.ndarray
    stiffness: csr_matrix
    rotation: csr_matrix

    @classmethod
    def of_nodes(cls, nodes: np.ndarray, *, one_sided: float = 1.0) -> ElasticGraph:
        """Tie given nodes [N, 3] together; `one_sided` is the share of the energy above, 0 to 1."""
        pairs = knn_edges(nodes)
        stiffness, rotation = _energy(nodes, pairs, one_sided)
        return cls(nodes=nodes, pairs=pairs, stiffness=stiffness, rotation=rotation)


def fill_interior(mesh: Mesh, count: int, *, seed: int = 0) -> np.ndarray:
    """[<= count, 3] nodes spread evenly over and through `mesh`, scaled to a diameter of 1."""
    samples = sample_surface(mesh, _FILL * count, seed=seed)
    scaled = (mesh.vertices - mesh.bounds.mean(0)) / mesh.bbox_diagonal
    surface, normals = samples.points(scaled), samples.normals(scaled)
    rng = np.random.default_rng(seed)
    low, high = surface.min(0), surface.max(0)
    inside = low + (high - low) * rng.random((_FILL * count, 3))
    area = mesh.face_areas.sum() / mesh.bbox_diagonal**2 / len(surface)
    inside = inside[winding_number(inside, surface, normals * area) > 0.5]
    # Right under the surface the winding number of samples is noise.
    spacing = np.sqrt(area)
    inside = inside[KDTree(surface).query(inside)[0] > spacing] if len(inside) else inside
    candidates = np.concatenate([surface, inside])
    distinct = np.unique(np.round(candidates, 9), axis=0)
    return distinct[farthest_points(distinct, min(count, len(distinct)), seed=seed)]


def winding_number(points: np.ndarray, surface: np.ndarray, areas: np.ndarray) -> np.ndarray:
    """[P] how often a surface of samples [S, 3] with area vectors [S, 3] wraps around points.

    The winding number of an oriented point cloud (Barill et al. 2018, "Fast Winding Numbers for
    Soups and Clouds"): 1 inside and 0 outside, fractions where there are holes.
    """
    result = np.empty(len(points))
    for start in range(0, len(points), 512):
        gap = surface - points[start : start + 512, None]
        squared = np.maximum(np.einsum("psi,psi->ps", gap, gap), 1e-12)
        through = np.einsum("psi,si->ps", gap, areas)
        result[start : start + 512] = (through / (squared * np.sqrt(squared))).sum(1)
    return result / (4 * np.pi)


def knn_edges(nodes: np.ndarray, neighbours: int = _NEIGHBOURS) -> np.ndarray:
    """[E, 2]: each of nodes [N, 3] and its nearest, in both directions; all hang together."""
    count = len(nodes)
    near = min(neighbours + 1, count)
    distance, index = KDTree(nodes).query(nodes, k=near)
    first = np.repeat(np.arange(count), near)
    # A far neighbour is across a gap, not next in the material.
    spacing = np.median(distance[:, 1])
    close = (distance <= 3 * spacing).ravel() & (index.ravel() != first)
    ends = np.stack([first[close], index.ravel()[close]], axis=1)
    while True:
        graph = coo_matrix((np.ones(len(ends)), ends.T), shape=(count, count))
        pieces, label = connected_components(graph, directed=False)
        if pieces == 1:
            return np.unique(np.concatenate([ends, ends[:, ::-1]]), axis=0)
        # Join the smallest piece to the rest with all that faces it, so that it does not dangle.
        inner = label == np.bincount(label).argmin()
        inside, outside = np.flatnonzero(inner), np.flatnonzero(~inner)
        gap, target = KDTree(nodes[outside]).query(nodes[inside], k=min(4, len(outside)))
        gap, target = gap.reshape(len(inside), -1), target.reshape(len(inside), -1)
        facing = gap[:, 0] <= gap[:, 0].min() + 2 * spacing
        bridge = [np.repeat(inside[facing], target.shape[1]), outside[target[facing]].ravel()]
        ends = np.concatenate([ends, np.stack(bridge, axis=1)])


def _energy(
    nodes: np.ndarray, pairs: np.ndarray, one_sided: float
) -> tuple[csr_matrix, csr_matrix]:
    count = len(nodes)
    i, j = pairs.T
    arm = nodes[j] - nodes[i]
    # Weights 1/length² make a tie's share independent of how far its neighbour is.
    weight = 1 / np.einsum("ei,ei->e", arm, arm)
    cross = np.zeros((len(pairs), 3, 3))  # cross @ v = arm x v
    cross[:, [0, 1, 2], [1, 2, 0]] = -arm[:, [2, 0, 1]]
    cross[:, [1, 2, 0], [0, 1, 2]] = arm[:, [2, 0, 1]]
    gram = np.zeros((count, 3, 3))
    np.add.at(gram, i, weight[:, None, None] * (cross.transpose(0, 2, 1) @ cross))
    # A straight wire does not feel its own twist: leave it at zero.
    trace = np.trace(gram, axis1=1, axis2=2)
    inverse = np.linalg.inv(gram + 1e-6 * trace[:, None, None] * np.eye(3))
    blocks = weight[:, None, None] * (inverse[i] @ cross)
    rotation = _blocks(i, j, blocks, count) - _blocks(i, i, blocks, count)
    # Rows: one tie each, u_j - u_i - w_i x arm = u_j - u_i + arm x w_i.
    tie = np.arange(len(pairs))
    identity = np.broadcast_to(np.eye(3), cross.shape)
    strain = _blocks(tie, j, identity, len(pairs), count)
    strain = strain - _blocks(tie, i, identity, len(pairs), count)
    near, far = (_blocks(tie, end, cross, len(pairs), count) @ rotation for end in (i, j))
    springs = diags(np.repeat(weight, 3))
    single, mean = strain + near, strain + 0.5 * (near + far)
    stiffness = one_sided * (single.T @ springs @ single)
    if one_sided < 1:
        stiffness = stiffness + (1 - one_sided) * (mean.T @ springs @ mean)
    return csr_matrix(stiffness), csr_matrix(rotation)


def _blocks(rows, columns, blocks: np.ndarray, height: int, width: int | None = None) -> csr_matrix:
    """Sparse matrix of 3x3 blocks [E, 3, 3] at block rows and columns [E]."""
    offset = np.arange(3)
    row = np.broadcast_to(3 * rows[:, None, None] + offset[:, None], blocks.shape)
    column = np.broadcast_to(3 * columns[:, None, None] + offset, blocks.shape)
    shape = (3 * height, 3 * (height if width is None else width))
    return csr_matrix((blocks.ravel(), (row.ravel(), column.ravel())), shape=shape)
