"""Stiffness of thin sheets: triangles that stretch, and edges that bend."""

from __future__ import annotations

import numpy as np
from scipy.sparse import csr_matrix

from kin4d.geometry.mesh import Mesh


def sheet_stiffness(
    mesh: Mesh, *, young: float, poisson: float, thickness: float, stretch: float = 1.0
) -> csr_matrix:
    """[3V, 3V] N/m: forces against small displacements (x, y, z of vertex 0, then of 1, ...).

    In its plane each triangle is strained evenly. Across the edge of two triangles the sheet is a
    hinge (Grinspun et al. 2003, "Discrete Shells"). Its spring is 3/2 D length² / area: with that a
    plate of evenly spread edge directions resists bending both ways at once as the continuum does,
    and bending one way a quarter less; on a square grid one way an eighth more.

    Args:
        mesh: At rest, flat or curved.
        young: Pa.
        poisson: Ratio, 0 to 0.5.
        thickness: m.
        stretch: Part of the stiffness against stretching that counts.
    """
    plate = young * thickness**3 / (12 * (1 - poisson**2))
    tension, count = stretch * young * thickness, len(mesh.vertices)
    return _stretching(mesh, tension, poisson, count) + _bending(mesh, plate, count)


def sheet_masses(mesh: Mesh, area_density: float) -> np.ndarray:
    """[V] kg of the vertices: a third of each triangle around them, `area_density` in kg/m²."""
    masses = np.zeros(len(mesh.vertices))
    np.add.at(masses, mesh.faces, (mesh.face_areas * area_density / 3)[:, None])
    return masses


def _stretching(mesh: Mesh, stiffness: float, poisson: float, count: int) -> csr_matrix:
    faces = mesh.faces[mesh.face_areas > 0]
    areas = mesh.face_areas[mesh.face_areas > 0]
    a, b, c = mesh.vertices[faces].transpose(1, 0, 2)
    along = (b - a) / np.linalg.norm(b - a, axis=-1, keepdims=True)
    normal = np.cross(b - a, c - a) / (2 * areas)[:, None]
    axes = np.stack([along, np.cross(normal, along)], 1)  # [F, 2, 3]
    # Gradients of the corners' hat functions, in the triangle's plane.
    gradients = np.stack([np.cross(normal, side) for side in (c - b, a - c, b - a)], 1)
    slopes = np.einsum("fcj,fij->fci", gradients, axes) / (2 * areas)[:, None, None]
    strain = np.zeros((len(faces), 3, 3, 3))  # [F, (xx, yy, 2xy), corner, axis]
    strain[:, 0] = slopes[:, :, 0, None] * axes[:, None, 0]
    strain[:, 1] = slopes[:, :, 1, None] * axes[:, None, 1]
    strain[:, 2] = (
        slopes[:, :, 1, None] * axes[:, None, 0] + slopes[:, :, 0, None] * axes[:, None, 1]
    )
    law = np.array([[1, poisson, 0], [poisson, 1, 0], [0, 0, (1 - poisson) / 2]])
    law *= stiffness / (1 - poisson**2)
    strain = strain.reshape(len(faces), 3, 9)
    blocks = areas[:, None, None] * (strain.transpose(0, 2, 1) @ law @ strain)
    return _assembled(faces, blocks, count)


def _bending(mesh: Mesh, plate: float, count: int) -> csr_matrix:
    start, end, first, second = _hinges(mesh.faces).T
    at = mesh.vertices
    edge = at[end] - at[start]
    squared = np.einsum("ei,ei->e", edge, edge)
    angle = np.zeros((len(edge), 4, 3))  # d angle / d (start, end, first, second)
    areas = np.zeros(len(edge))
    for column, (tip, sign) in enumerate(((first, 1.0), (second, -1.0))):
        arm = at[tip] - at[start]
        area = sign * np.cross(edge, arm)
        doubled = np.linalg.norm(area, axis=-1)
        areas += doubled / 2
        # How far the tip rises over the edge, per length of the triangle's height.
        rise = area / np.maximum(doubled, 1e-300)[:, None] ** 2 * np.sqrt(squared)[:, None]
        foot = (np.einsum("ei,ei->e", arm, edge) / squared)[:, None]
        angle[:, 2 + column] += rise
        angle[:, 0] -= (1 - foot) * rise
        angle[:, 1] -= foot * rise
    sound = areas > 0
    angle = angle.reshape(-1, 12)[sound]
    springs = 1.5 * plate * squared[sound] / areas[sound]
    blocks = springs[:, None, None] * angle[:, :, None] * angle[:, None, :]
    return _assembled(np.stack([start, end, first, second], 1)[sound], blocks, count)


def _hinges(faces: np.ndarray) -> np.ndarray:
    """[E, 4]: both ends of each edge of two triangles, and the triangles' third corners."""
    sides = np.concatenate([faces[:, [0, 1, 2]], faces[:, [1, 2, 0]], faces[:, [2, 0, 1]]])
    ends = np.sort(sides[:, :2], axis=1)
    order = np.lexsort(ends.T)
    ends, tips = ends[order], sides[order, 2]
    same = (ends[1:] == ends[:-1]).all(1)
    return np.concatenate([ends[:-1][same], np.stack([tips[:-1], tips[1:]], 1)[same]], 1)


def _assembled(corners: np.ndarray, blocks: np.ndarray, count: int) -> csr_matrix:
    """Sparse sum of blocks [E, 3c, 3c] on the displacements of vertices [E, c]."""
    index = (3 * corners[:, :, None] + np.arange(3)).reshape(len(corners), -1)
    rows = np.broadcast_to(index[:, :, None], blocks.shape)
    columns = np.broadcast_to(index[:, None, :], blocks.shape)
    entries = (blocks.ravel(), (rows.ravel(), columns.ravel()))
    return csr_matrix(entries, shape=(3 * count, 3 * count))
