"""AnimatedRig: the joints that an animated file has, where they are, and how far its clips turn
them. The truth that predicted skeletons are compared with."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from kin4d.geometry.io.gltf_document import GltfDocument, local_matrix
from kin4d.geometry.mesh import Mesh
from kin4d.geometry.up_axis import to_z_up
from kin4d.objects.animated import drawn_pieces, node_motion
from kin4d.reading import reading

_TIMES = 12  # of each clip


@dataclass(frozen=True, eq=False, kw_only=True)
class AnimatedRig:
    """J joints.

    Attributes:
        names: Of the nodes.
        positions: [J, 3] m, z up, as stored.
        rotation: [J] rad, the farthest from the stored pose that any clip turns the joint against
            its parent.
        carried: [J] share of the surface that follows the joint or those below it.
    """

    names: tuple[str, ...]
    positions: np.ndarray
    rotation: np.ndarray
    carried: np.ndarray

    def visible(self, *, rotation: float = 0.17, carried: float = 0.005) -> np.ndarray:
        """[J] whether a joint turns visibly: by more than `rotation` (rad), with more than a share
        `carried` of the surface on it, and not with all of it."""
        moves = (self.rotation > rotation) & (self.carried > carried)
        return moves & (self.carried < 1 - carried)


def load_rig(path: str | Path) -> AnimatedRig:
    """The joints of a .gltf or .glb; none if it has no skin."""
    with reading(path, "glTF file"):
        document = GltfDocument.open(path)
        nodes = document.items("nodes")
        joints = sorted({int(j) for skin in document.items("skins") for j in skin["joints"]})
        stored = np.stack([local_matrix(node) for node in nodes])
        world = document.world_matrices(stored)
        turned = np.zeros(len(nodes))
        for animation in document.items("animations"):
            keys = [document.accessor(one["input"]) for one in animation["samplers"]]
            times = np.linspace(min(k[0] for k in keys), max(k[-1] for k in keys), _TIMES)
            local, _ = node_motion(document, animation, times)
            turned = np.maximum(turned, _angles(local, stored).max(0))
        carried = _carried(document, path)
    return AnimatedRig(
        names=tuple(str(nodes[j].get("name", f"node{j}")) for j in joints),
        positions=to_z_up(world[joints, :3, 3], "y"),
        rotation=turned[joints],
        carried=carried[joints],
    )


def _angles(local: np.ndarray, stored: np.ndarray) -> np.ndarray:
    """[T, N] rad between the rotations of matrices [T, N, 4, 4] and [N, 4, 4]."""

    def rotations(matrices: np.ndarray) -> np.ndarray:
        columns = matrices[..., :3, :3]
        return columns / np.maximum(np.linalg.norm(columns, axis=-2, keepdims=True), 1e-12)

    trace = np.einsum("tnij,nij->tn", rotations(local), rotations(stored))
    return np.arccos(np.clip((trace - 1) / 2, -1, 1))


def _carried(document: GltfDocument, path: str | Path) -> np.ndarray:
    """[N] share of the surface that follows each node or any below it."""
    nodes = document.items("nodes")
    mesh = Mesh.load(path)
    area = np.zeros(len(mesh.vertices))
    np.add.at(area, mesh.faces.ravel(), np.repeat(mesh.face_areas / 3, 3))
    own, start = np.zeros(len(nodes)), 0
    for piece in drawn_pieces(document):
        count = len(piece.base)
        if piece.skin is not None and piece.joints is not None and piece.shares is not None:
            names = np.asarray(document.items("skins")[piece.skin]["joints"])
            weight = piece.shares * area[start : start + count, None]
            np.add.at(own, names[piece.joints.ravel()], weight.ravel())
        start += count
    parent = {int(child): i for i, node in enumerate(nodes) for child in node.get("children", ())}
    total = own.copy()
    for node in range(len(nodes)):
        above = node
        while above in parent:
            above = parent[above]
            total[above] += own[node]
    return total / max(float(area.sum()), 1e-30)
