"""From a mesh to the pieces the joint prior sees, and back to faces."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from scipy.spatial import KDTree

from kin4d.geometry.mesh import Mesh
from kin4d.geometry.over_segmentation import cut_into_patches
from kin4d.geometry.pieces import (
    PieceSamples,
    group_points,
    sample_pieces,
    split_surface,
    yaw_alignment,
)
from kin4d.neurok.piece_batch import PieceBatch
from kin4d.neurok.preprocess import UnitBox

_NORMAL = 0.12  # lengths that a right angle between normals counts when faces find their patch


@dataclass(frozen=True, kw_only=True)
class PieceConfig:
    """How meshes are cut.

    Attributes:
        max_pieces: Pieces the network sees, the largest; others go with the nearest of them.
        max_components_to_split: Surfaces of at most so many components are cut into patches.
        patches: In all, of such a surface.
        samples: Surface points from which patches are made.
    """

    max_pieces: int = 128
    max_components_to_split: int = 3
    patches: int = 48
    samples: int = 4000


@dataclass(frozen=True, eq=False)
class MeshPieces:
    """A mesh cut into pieces.

    Attributes:
        box: From the world (m) to the unit box of the pieces, aligned in yaw.
        pieces: N of them, in the box.
        face_piece: [F] int64 piece of each face.
        components: How many connected surfaces the mesh has.
    """

    box: UnitBox
    pieces: PieceSamples
    face_piece: np.ndarray
    components: int

    def batch(self) -> PieceBatch:
        """The pieces as a batch of one."""

        def tensor(values: np.ndarray, dtype: type) -> torch.Tensor:
            return torch.from_numpy(values.astype(dtype))[None]

        return PieceBatch(
            points=tensor(self.pieces.points, np.float32),
            normals=tensor(self.pieces.normals, np.float32),
            supports=tensor(self.pieces.supports, np.float32),
            area=tensor(self.pieces.area, np.float32),
            component=tensor(self.pieces.component, np.int64),
            mask=torch.ones(1, len(self.pieces), dtype=torch.bool),
        )


def cut_mesh(mesh: Mesh, config: PieceConfig | None = None, *, seed: int = 0) -> MeshPieces:
    """Cut a mesh (z up) into pieces and sample them."""
    config = config or PieceConfig()
    rng = np.random.default_rng(seed)
    vertices, faces = mesh.vertices, mesh.faces
    box = _aligned_box(mesh)
    placed = box.normalize(vertices)
    face_piece = split_surface(placed, faces)
    components = int(face_piece.max()) + 1
    if components <= config.max_components_to_split:
        pieces, face_piece = _patches(placed, faces, face_piece, config, rng)
    else:
        pieces = sample_pieces(placed, faces, face_piece, rng)
        if components > config.max_pieces:
            pieces, face_piece = _largest(pieces, face_piece, config.max_pieces)
    return MeshPieces(box, pieces, face_piece, components)


def _aligned_box(mesh: Mesh) -> UnitBox:
    corners = mesh.vertices[mesh.faces]
    normals = np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0])
    double = np.linalg.norm(normals, axis=1)
    rotation = yaw_alignment(normals / np.maximum(double, 1e-300)[:, None], double)
    turned = mesh.vertices @ rotation.T
    low, high = turned.min(0), turned.max(0)
    return UnitBox(rotation, (low + high) / 2, 1.0 / max(float((high - low).max()), 1e-12))


def _largest(
    pieces: PieceSamples, face_piece: np.ndarray, most: int
) -> tuple[PieceSamples, np.ndarray]:
    """The largest pieces; faces of the others go with the nearest one."""
    order = np.argsort(-pieces.area, kind="stable")
    kept, lost = order[:most], order[most:]
    tree = KDTree(pieces.points[kept].reshape(-1, 3))
    distance, index = tree.query(pieces.points[lost, ::4].reshape(-1, 3))
    rows = np.asarray(distance).reshape(len(lost), -1).argmin(1)
    owner = np.asarray(index).reshape(len(lost), -1)[np.arange(len(lost)), rows]
    number = np.empty(len(pieces), np.int64)
    number[kept] = np.arange(most)
    number[lost] = owner // pieces.points.shape[1]
    return pieces.take(kept), number[face_piece]


def _patches(
    vertices: np.ndarray,
    faces: np.ndarray,
    face_component: np.ndarray,
    config: PieceConfig,
    rng: np.random.Generator,
) -> tuple[PieceSamples, np.ndarray]:
    """Patches of a surface of few components, and the patch of each face."""
    corners = vertices[faces]
    normals = np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0])
    double = np.linalg.norm(normals, axis=1)
    normals = normals / np.maximum(double, 1e-300)[:, None]
    centers = corners.mean(1)
    area = np.bincount(face_component, double) / 2
    made, face_piece, total = [], np.zeros(len(faces), np.int64), 0
    for one, share in enumerate(area / max(area.sum(), 1e-30)):
        own = np.flatnonzero(face_component == one)
        count = max(64, int(config.samples * share))
        whole = np.zeros(len(own), np.int64)
        spread = sample_pieces(vertices, faces[own], whole, rng, points=count)
        points, facing = spread.points[0], spread.normals[0]
        label = cut_into_patches(points, facing, max(1, round(config.patches * share)), rng)
        made.append(group_points(points, facing, label, float(area[one]), rng))
        tree = KDTree(np.concatenate([points, _NORMAL * facing], 1))
        place = np.concatenate([centers[own], _NORMAL * normals[own]], 1)
        face_piece[own] = total + label[np.asarray(tree.query(place)[1])]
        total += len(made[-1])
    return PieceSamples.concatenate(made), face_piece
