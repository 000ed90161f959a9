"""Weights of a skin: which bones every vertex follows, smooth over each connected surface."""

from __future__ import annotations

import numpy as np
from scipy.spatial import KDTree

from kin4d.bodies.creature.bones import Bones
from kin4d.geometry.curve_skeleton import CurveSkeleton
from kin4d.geometry.heat_weights import heat_weights
from kin4d.geometry.mesh import Mesh
from kin4d.geometry.mesh_ops import label_components, merge_vertices
from kin4d.geometry.solid_voxels import SolidVoxels

_MERGED = 1e-5  # of the size: vertices nearer than this are one
_SMALL = 0.15  # of the size: shells no larger ride along as a piece
_GAP = 1.5  # voxels that heat crosses between shells


def bone_weights(
    mesh: Mesh, solid: SolidVoxels, skeleton: CurveSkeleton, bones: Bones, sharpness: float
) -> np.ndarray:
    """[V, B] how much each vertex follows each bone.

    A vertex belongs to the point of the skeleton whose ball it is nearest to, inside the solid, and
    has this point's shares; heat then smooths them over the surface. Small shells have one set of
    shares, those of what is around them.
    """
    vertices, index = _merged(mesh)
    faces = index[mesh.faces]
    seeds = solid.nearest(skeleton.points)
    radius = np.minimum(skeleton.radius, solid.depth[seeds] + solid.step)
    source = solid.distances(seeds, start=radius.max() - radius)[1]
    at = solid.nearest(vertices)
    node = source[at]
    reach = np.maximum(
        np.linalg.norm(vertices - skeleton.points[node], axis=1), 0.5 * skeleton.radius[node]
    )
    shares = bones.node_weights[node]
    label = label_components(len(vertices), faces)
    small = _small_shells(vertices, label, mesh.bbox_diagonal)
    if small.all():
        small[:] = False
    large = ~small[label]
    weights = np.empty_like(shares)
    number = np.cumsum(large) - 1
    sound = faces[large[faces[:, 0]]]
    weights[large] = heat_weights(
        vertices[large],
        number[sound],
        shares[large],
        reach[large],
        sharpness=sharpness,
        gap=_GAP * solid.step,
    )
    _ride_along(vertices, label, large, weights)
    return weights[index]


def _merged(mesh: Mesh) -> tuple[np.ndarray, np.ndarray]:
    """Distinct vertices [W, 3] up to rounding, and which [V] of them each vertex is."""
    cell = np.rint((mesh.vertices - mesh.bounds[0]) / (_MERGED * mesh.bbox_diagonal))
    first, index = merge_vertices(cell)
    return mesh.vertices[first], index


def _small_shells(vertices: np.ndarray, label: np.ndarray, size: float) -> np.ndarray:
    """[S] which shells are small."""
    count = int(label.max()) + 1
    low, high = np.full((count, 3), np.inf), np.full((count, 3), -np.inf)
    np.minimum.at(low, label, vertices)
    np.maximum.at(high, label, vertices)
    return np.linalg.norm(high - low, axis=1) <= _SMALL * size


def _ride_along(
    vertices: np.ndarray, label: np.ndarray, large: np.ndarray, weights: np.ndarray
) -> None:
    """Give every small shell the weights of the large surface where it is nearest to it."""
    if large.all():
        return
    carriers = np.flatnonzero(large)
    gap, index = KDTree(vertices[carriers]).query(vertices[~large])
    near, owner = carriers[np.asarray(index)], label[~large]
    order = np.lexsort((gap, owner))
    begin = np.flatnonzero(np.append(True, np.diff(owner[order]) > 0))
    chosen = np.zeros(int(label.max()) + 1, np.int64)
    chosen[owner[order][begin]] = near[order][begin]
    weights[~large] = weights[chosen[owner]]
