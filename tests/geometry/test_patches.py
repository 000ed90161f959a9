"""Patches end at creases."""

from __future__ import annotations

import numpy as np

from kin4d.geometry.mesh import Mesh
from kin4d.geometry.patches import face_patches
from kin4d.geometry.pieces import split_surface
from kin4d.geometry.primitives import box, cylinder, sphere


def test_a_box_has_six_sides() -> None:
    solid = box((1, 2, 3))
    patches = face_patches(solid.vertices, solid.faces)
    assert sorted(np.bincount(patches)) == [2] * 6
    for patch in range(6):
        normals = np.round(_normals(solid)[patches == patch], 6)
        assert (normals == normals[0]).all()


def test_a_ball_is_one_and_a_can_is_three() -> None:
    ball = sphere(1.0)
    assert face_patches(ball.vertices, ball.faces).max() == 0
    can = cylinder(0.5, 1.0)
    assert face_patches(can.vertices, can.faces).max() == 2


def test_pieces_apart_stay_apart_and_seams_do_not_split() -> None:
    one = box((1, 1, 1))
    two = Mesh.concatenate([one, one.replace_vertices(one.vertices + 5)])
    assert face_patches(two.vertices, two.faces).max() == 11
    soup = one.vertices[one.faces].reshape(-1, 3)
    assert face_patches(soup, np.arange(len(soup)).reshape(-1, 3)).max() == 5


def _normals(mesh: Mesh) -> np.ndarray:
    a, b, c = (mesh.vertices[mesh.faces[:, k]] for k in range(3))
    normal = np.cross(b - a, c - a)
    return normal / np.linalg.norm(normal, axis=1, keepdims=True)


def test_a_sheet_drawn_from_both_sides_is_one_piece() -> None:
    vertices = np.array([[0, 0, 0], [1, 0, 0], [1, 1, 0], [0, 1, 0], [2, 0, 0], [2, 1, 0]], float)
    sheet = np.array([[0, 1, 2], [0, 2, 3], [1, 4, 5], [1, 5, 2]])
    both = np.concatenate([sheet, sheet[:, ::-1]])
    soup = vertices[both].reshape(-1, 3)  # no vertex is shared
    label = split_surface(soup, np.arange(len(soup)).reshape(-1, 3))
    assert label.max() == 0
