"""Re-assign the pieces of a body to parts, by the target instead of the body's prediction."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import torch
from scipy.sparse import csr_matrix
from scipy.spatial import KDTree
from torch import Tensor

from kin4d.bodies.capabilities import PartFittable
from kin4d.geometry.mesh import Mesh
from kin4d.geometry.sampling import SurfaceSamples, sample_surface

_PROBED = 8192  # places that tell
_EACH = 4  # triangles of a piece, at least, whose middles tell
_TOUCH = 0.02  # sizes within which pieces touch
_GAIN = 0.002  # sizes that a piece must come nearer to follow another part that moves
_LOST = 0.02  # sizes from the target at which a piece follows none of the parts


class ReassignedParts(NamedTuple):
    """What triangles follow, `parts` [F]; where the `vertices` [V, 3] (m) are then; and whether
    some were `held`, and nothing else was changed."""

    parts: np.ndarray
    vertices: np.ndarray
    held: bool


def reassign_parts(
    body: PartFittable, q: Tensor, target: KDTree, *, seed: int
) -> ReassignedParts | None:
    """Let every piece follow what brings it nearest to the target at q [k]: what it follows now,
    nothing, or the part of a piece it touches.

    Where none of them is near, the piece that is farthest off is made a part of its own, together
    with those it touches that are lost as well. None if nothing would change.
    """
    mesh, parts, pieces = body.rest, body.parts, body.pieces
    if parts is None:
        return None
    size, count = mesh.bbox_diagonal, int(pieces.max()) + 1
    probes = _probes(mesh, pieces, seed)
    piece, rest = pieces[probes.face], probes.points(mesh.vertices)
    number = np.bincount(piece, minlength=count)
    with torch.no_grad():
        vertices = body.vertices(q).numpy().copy()
        motions = body.skin_transforms(q).numpy()

    def far(points: np.ndarray) -> np.ndarray:
        """[pieces] mean distance to the target, in sizes."""
        return np.bincount(piece, target.query(points)[0], minlength=count) / number / size

    touches = _touching(rest, piece, count, _TOUCH * size)
    follows = np.zeros(count, np.int64)
    follows[pieces] = parts
    table = np.full((1 + len(motions), count), np.inf)
    table[0], table[1] = far(probes.points(vertices)), far(rest)
    for part in np.unique(follows[follows > 0]):
        near = touches @ (follows == part) > 0
        table[1 + part, near] = far(_moved(motions[part], rest))[near] + _GAIN
    best = table.argmin(0) - 1
    lost, off = table.min(0) > _LOST, table.min(0) * number
    free = np.setdiff1d(np.arange(1, len(motions)), parts)
    if lost.any() and len(free):
        worst = int((off * lost).argmax())
        best[lost & (touches[:, [worst]].toarray()[:, 0] > 0)] = free[0]
    new = np.where(best[pieces] >= 0, best[pieces], parts)
    changed = np.unique(new[new != parts])
    if len(changed) == 0:
        return None
    for part in changed:
        those = np.unique(mesh.faces[(new == part) & (parts != part)])
        vertices[those] = _moved(motions[part], mesh.vertices[those])
    return ReassignedParts(new, vertices, held=bool((changed == 0).all()))


def _probes(mesh: Mesh, pieces: np.ndarray, seed: int) -> SurfaceSamples:
    """Places all over the surface, and some on every piece, however small."""
    spread = sample_surface(mesh, _PROBED, seed=seed)
    order = np.argsort(pieces, kind="stable")
    first = np.searchsorted(pieces[order], pieces[order])
    some = order[np.arange(len(order)) - first < _EACH]
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
