"""Re-assign the pieces of a body to parts, by the target instead of the body's prediction."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import torch
from scipy.sparse import csr_matrix
from scipy.spatial import KDTree
from torch import Tensor

from kin4d.bodies.capabilities import PartFittable
from kin4d.fitting.config import FitConfig
from kin4d.geometry.mesh import Mesh
from kin4d.geometry.sampling import SurfaceSamples, sample_surface

_TRIANGLES_PER_PIECE = 4  # at least, whose centres are compared too: pieces may be tiny


class ReassignedParts(NamedTuple):
    """A new assignment.

    Attributes:
        parts: [F] the part that each triangle follows, 0 for none.
        vertices: [V, 3] m, the surface with these parts.
        only_released: Whether pieces were set to follow no part, and nothing else was changed.
    """

    parts: np.ndarray
    vertices: np.ndarray
    only_released: bool


def reassign_parts(
    body: PartFittable, q: Tensor, target: KDTree, *, config: FitConfig, seed: int
) -> ReassignedParts | None:
    """Assign every piece to what brings it nearest to the target at q [k]: the part it follows
    now, none, or the part of a piece it touches.

    Where none of them is near, the piece that is farthest off becomes a part of its own, together
    with those it touches that are far off as well. None if nothing changes.
    """
    mesh, parts, pieces = body.rest, body.parts, body.pieces
    if parts is None:
        return None
    size, count = mesh.bbox_diagonal, int(pieces.max()) + 1
    samples = _sample_pieces(mesh, pieces, config.reassign_points, seed)
    piece, rest = pieces[samples.face], samples.points(mesh.vertices)
    number = np.bincount(piece, minlength=count)
    with torch.no_grad():
        vertices = body.vertices(q).numpy().copy()
        motions = body.skin_transforms(q).numpy()

    def distance(points: np.ndarray) -> np.ndarray:
        """[pieces] mean distance to the target, in bounding-box diagonals."""
        return np.bincount(piece, target.query(points)[0], minlength=count) / number / size

    touches = _touching(rest, piece, count, config.contact_distance * size)
    follows = np.zeros(count, np.int64)
    follows[pieces] = parts
    costs = np.full((1 + len(motions), count), np.inf)
    costs[0], costs[1] = distance(samples.points(vertices)), distance(rest)
    for part in np.unique(follows[follows > 0]):
        near = touches @ (follows == part) > 0
        costs[1 + part, near] = distance(_moved(motions[part], rest))[near] + config.min_part_gain
    best = costs.argmin(0) - 1
    lost, off = costs.min(0) > config.lost_distance, costs.min(0) * number
    unused = np.setdiff1d(np.arange(1, len(motions)), parts)
    if lost.any() and len(unused):
        worst = int((off * lost).argmax())
        best[lost & (touches[:, [worst]].toarray()[:, 0] > 0)] = unused[0]
    new = np.where(best[pieces] >= 0, best[pieces], parts)
    changed = np.unique(new[new != parts])
    if len(changed) == 0:
        return None
    for part in changed:
        those = np.unique(mesh.faces[(new == part) & (parts != part)])
        vertices[those] = _moved(motions[part], mesh.vertices[those])
    return ReassignedParts(new, vertices, only_released=bool((changed == 0).all()))


def _sample_pieces(mesh: Mesh, pieces: np.ndarray, count: int, seed: int) -> SurfaceSamples:
    """Points all over the surface, and some on every piece, however small."""
    spread = sample_surface(mesh, count, seed=seed)
    order = np.argsort(pieces, kind="stable")
    first = np.searchsorted(pieces[order], pieces[order])
    some = order[np.arange(len(order)) - first < _TRIANGLES_PER_PIECE]
    return SurfaceSamples(
        face=np.concatenate([spread.face, some]),
        corners=np.concatenate([spread.corners, mesh.faces[some]]),
        barycentric=np.concatenate([spread.barycentric, np.full((len(some), 3), 1 / 3)]),
    )


def _touching(points: np.ndarray, piece: np.ndarray, count: int, reach: float) -> csr_matrix:
    """[count, count] above 0 for pieces with points [N, 3] within `reach` of each other."""
    pairs = KDTree(points).query_pairs(reach, output_type="ndarray")
    one, other = piece[pairs].T
    each = np.arange(count)
    rows, columns = np.concatenate([one, other, each]), np.concatenate([other, one, each])
    return csr_matrix((np.ones(len(rows), np.int32), (rows, columns)), shape=(count, count))


def _moved(motion: np.ndarray, points: np.ndarray) -> np.ndarray:
    """Points [N, 3] by a motion [4, 4]."""
    return points @ motion[:3, :3].T + motion[:3, 3]
