"""Surface: a mesh in the browser, sent once and then moved by as little as its skin needs."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np
import torch

from kin4d.geometry.mesh import Mesh
from kin4d.geometry.skin import Skin
from kin4d.geometry.transforms import matrix_to_quaternion
from kin4d.viewer.closed_surface import closed_faces
from kin4d.viewer.display_mesh import MOST_FACES, DisplayMesh


class Surface:
    """A mesh at a path of the scene tree.

    Rigid parts are meshes that are moved, blended skins are moved by their bones, and only surfaces
    without a skin are sent anew.

    Args:
        scene: viser's.
        path: In the scene tree, as "/body".
        mesh: At rest.
        skin: How joints carry it, or None if it deforms freely.
        most_faces: Larger meshes are shown coarser.

    Attributes:
        display: What is shown.
        handles: viser's, of everything that can be clicked and dragged.
    """

    def __init__(
        self, scene: Any, path: str, mesh: Mesh, skin: Skin | None, *, most_faces: int = MOST_FACES
    ) -> None:
        self.display = DisplayMesh.of(mesh, most_faces=most_faces)
        self.handles: list[Any] = []
        self._scene, self._path, self._skin = scene, path, skin
        self._joints: dict[int, Any] = {}
        self._free: list[tuple[Any, np.ndarray]] = []
        self._shown = np.full((0, 4, 4), np.nan)
        self._root = scene.add_frame(path, show_axes=False)
        vertices = mesh.vertices[self.display.vertex].astype(np.float32)
        if skin is not None and skin.is_rigid:
            self._add_rigid(vertices, skin)
        elif skin is not None:
            self._add_blended(vertices, skin)
        else:
            self._add_free(vertices)

    def set_transforms(self, transforms: np.ndarray) -> None:
        """Move the skin's joints: [J, 4, 4] rigid motions from the rest pose."""
        if self._shown.shape != transforms.shape:
            self._shown = np.full(transforms.shape, np.nan)
        moved = np.flatnonzero((self._shown != transforms).any((1, 2)))
        quaternions = matrix_to_quaternion(torch.from_numpy(transforms[moved, :3, :3])).numpy()
        for joint, quaternion in zip(moved.tolist(), quaternions, strict=True):
            position = transforms[joint, :3, 3]
            if joint in self._joints:
                self._joints[joint].wxyz = quaternion
                self._joints[joint].position = position
            elif self._skin is not None and not self._skin.is_rigid:
                for handle in self.handles:
                    handle.bones[joint].wxyz = quaternion
                    handle.bones[joint].position = position
        self._shown = transforms.copy()

    def set_vertices(self, vertices: np.ndarray) -> None:
        """Send a surface without a skin anew: vertices [V, 3] (m) of the mesh."""
        shown = vertices[self.display.vertex].astype(np.float32)
        for handle, used in self._free:
            handle.vertices = shown[used]

    def remove(self) -> None:
        """Take it out of the scene."""
        self._root.remove()

    def _add_rigid(self, vertices: np.ndarray, skin: Skin) -> None:
        joint = skin.joints[self.display.vertex, 0][self.display.faces[:, 0]]
        for number in np.unique(joint).tolist():
            name = f"{self._path}/{_path_name(skin.names[number])}"
            self._joints[number] = self._scene.add_frame(name, show_axes=False)
            self._add_meshes(name, vertices, joint == number)

    def _add_free(self, vertices: np.ndarray) -> None:
        every = np.ones(len(self.display.faces), bool)
        self._free = self._add_meshes(self._path, vertices, every)

    def _add_blended(self, vertices: np.ndarray, skin: Skin) -> None:
        count = len(skin.names)
        weights = np.zeros((len(vertices), count), np.float32)
        rows = np.arange(len(vertices))[:, None]
        np.add.at(
            weights, (rows, skin.joints[self.display.vertex]), skin.weights[self.display.vertex]
        )
        still = np.tile([1.0, 0.0, 0.0, 0.0], (count, 1))
        every = np.ones(len(self.display.faces), bool)
        for number, (color, side, own) in enumerate(self._looks(vertices, every)):
            used, faces = _used(self.display.faces[own])
            handle = self._scene.add_mesh_skinned(
                f"{self._path}/{number}",
                vertices[used],
                faces,
                bone_wxyzs=still,
                bone_positions=np.zeros((count, 3)),
                skin_weights=weights[used],
                color=color,
                side=side,
            )
            self.handles.append(handle)

    def _add_meshes(
        self, path: str, vertices: np.ndarray, chosen: np.ndarray
    ) -> list[tuple[Any, np.ndarray]]:
        """The chosen triangles [F] bool, a mesh a look, each with the vertices it uses."""
        added = []
        for number, (color, side, own) in enumerate(self._looks(vertices, chosen)):
            used, faces = _used(self.display.faces[own])
            handle = self._scene.add_mesh_simple(
                f"{path}/{number}",
                vertices[used],
                faces,
                color=color,
                side=side,
                flat_shading=True,
            )
            self.handles.append(handle)
            added.append((handle, used))
        return added

    def _looks(
        self, vertices: np.ndarray, chosen: np.ndarray
    ) -> list[tuple[tuple[int, int, int], Literal["front", "double"], np.ndarray]]:
        """The colours of the chosen triangles [F] bool, the sides of them that are drawn, and
        which of all triangles look so. Of closed surfaces the back is left out, unseen."""
        closed = np.zeros(len(chosen), bool)
        closed[chosen] = closed_faces(vertices, self.display.faces[chosen])
        # One number a look: sorting rows is much slower.
        looks = np.column_stack([self.display.color, closed]).astype(np.int64) @ (
            2 ** np.array([24, 16, 8, 0])
        )
        found = []
        for look in np.unique(looks[chosen]).tolist():
            red, green, blue, front = look.to_bytes(4, "big")
            own = chosen & (looks == look)
            found.append(((red, green, blue), "front" if front else "double", own))
        return found


def _used(faces: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The vertices that triangles [F, 3] use, and the triangles as indices into these."""
    used, index = np.unique(faces, return_inverse=True)
    return used, index.reshape(-1, 3)


def _path_name(name: str) -> str:
    """A name as one step of a path."""
    return name.replace("/", "_") or "part"
