"""Triangles of closed surfaces, whose backs cannot be seen."""

from __future__ import annotations

import numpy as np
import trimesh

from kin4d.viewer.closed_surface import closed_faces


def test_only_closed_surfaces_that_face_outwards_count() -> None:
    box, ball = trimesh.creation.box(), trimesh.creation.icosphere(subdivisions=1)
    inside_out = ball.faces[:, ::-1]
    sheet = np.array([[0, 1, 2], [0, 2, 3]])
    vertices = np.concatenate([box.vertices, ball.vertices + 3, ball.vertices - 3, np.eye(4, 3)])
    starts = np.cumsum([0, len(box.vertices), len(ball.vertices), len(ball.vertices)])
    kinds = [box.faces, ball.faces, inside_out, sheet]
    faces = np.concatenate([one + start for one, start in zip(kinds, starts, strict=True)])
    expected = np.repeat([True, True, False, False], [len(one) for one in kinds])
    np.testing.assert_array_equal(closed_faces(vertices, faces), expected)
    # One triangle is missing, or turned.
    assert not closed_faces(box.vertices, box.faces[1:]).any()
    turned = box.faces.copy()
    turned[0] = turned[0, ::-1]
    assert not closed_faces(box.vertices, turned).any()


def test_vertices_at_one_place_count_as_one() -> None:
    soup = trimesh.creation.icosphere(subdivisions=1)
    vertices = soup.vertices[soup.faces].reshape(-1, 3)
    faces = np.arange(len(vertices)).reshape(-1, 3)
    assert closed_faces(vertices, faces).all()
    assert len(closed_faces(vertices, faces[:0])) == 0
