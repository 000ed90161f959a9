"""DisplayMesh: what of a mesh is sent to the browser: all of it, or a coarser preview."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from kin4d.geometry.decimate import cluster
from kin4d.geometry.material import SurfaceMaterial, linear_to_srgb, srgb_to_linear
from kin4d.geometry.mesh import Mesh

MOST_FACES = 300_000
"""Triangles that browsers without a graphics card still turn at a few frames a second."""


@dataclass(frozen=True, eq=False)
class DisplayMesh:
    """Triangles over some of a mesh's vertices.

    Attributes:
        vertex: [N] which vertices of the mesh are shown.
        faces: [F, 3] indices into `vertex`.
        color: [F, 3] uint8 sRGB.
        whole: Whether it shows every triangle of the mesh.
    """

    vertex: np.ndarray
    faces: np.ndarray
    color: np.ndarray
    whole: bool

    @classmethod
    def of(cls, mesh: Mesh, *, most_faces: int = MOST_FACES) -> DisplayMesh:
        """All of a mesh, or a preview of about `most_faces` triangles at most."""
        vertex, faces, chosen = (
            np.arange(len(mesh.vertices)),
            mesh.faces,
            np.arange(len(mesh.faces)),
        )
        if len(faces) > most_faces:
            vertex, faces, chosen = _coarser(mesh, most_faces)
        assert mesh.face_material is not None
        palette = np.array([material_color(material) for material in mesh.materials], np.uint8)
        return cls(
            vertex=vertex,
            faces=faces,
            color=palette[mesh.face_material[chosen]],
            whole=len(faces) == len(mesh.faces),
        )


def material_color(material: SurfaceMaterial) -> tuple[int, int, int]:
    """sRGB of a surface, 0 to 255: of a texture, its mean."""
    linear = np.clip(material.base_color[:3], 0, 1)
    image = material.textures.get("base_color")
    if image is not None:
        texels = np.asarray(image.convert("RGB").resize((16, 16)), np.float64) / 255
        linear = linear * srgb_to_linear(texels).mean((0, 1))
    red, green, blue = np.rint(255 * linear_to_srgb(linear))
    return int(red), int(green), int(blue)


def _coarser(mesh: Mesh, most_faces: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """See `cluster`: in cubes that are enlarged until few enough triangles are left."""
    cell = mesh.bbox_diagonal / np.sqrt(2.0 * most_faces)
    vertex, faces, chosen = cluster(mesh, cell)
    while len(faces) > most_faces:
        cell *= max(1.1, np.sqrt(len(faces) / most_faces))
        vertex, faces, chosen = cluster(mesh, cell)
    return vertex, faces, chosen
