"""Pieces: where surfaces come apart, what is sampled on them, patches and yaw."""

from __future__ import annotations

import numpy as np

from kin4d.geometry.pieces import (
    PieceSamples,
    group_points,
    sample_pieces,
    split_surface,
    yaw_alignment,
)
from kin4d.geometry.primitives import box


def two_boxes(offset: tuple[float, float, float]) -> tuple[np.ndarray, np.ndarray]:
    one = box((1.0, 1.0, 1.0))
    vertices = np.concatenate([one.vertices, one.vertices + offset])
    return vertices, np.concatenate([one.faces, one.faces + len(one.vertices)])


def test_boxes_that_share_a_side_stay_apart() -> None:
    vertices, faces = two_boxes((1.0, 0.0, 0.0))
    piece = split_surface(vertices, faces)
    half = len(faces) // 2
    assert len(np.unique(piece)) == 2
    assert len(np.unique(piece[:half])) == len(np.unique(piece[half:])) == 1


def test_seams_do_not_cut() -> None:
    one = box((1.0, 2.0, 3.0))
    soup = one.vertices[one.faces].reshape(-1, 3)
    faces = np.arange(len(soup)).reshape(-1, 3)
    assert len(np.unique(split_surface(soup, faces))) == 1


def test_samples_lie_on_their_pieces() -> None:
    vertices, faces = two_boxes((5.0, 0.0, 0.0))
    piece = split_surface(vertices, faces)
    found = sample_pieces(vertices, faces, piece, np.random.default_rng(0))
    assert found.points.shape == found.normals.shape == (2, 32, 3)
    np.testing.assert_allclose(found.area, [6.0, 6.0], rtol=1e-6)
    middles = found.points.mean(1)
    assert abs(middles[0, 0] - vertices[:, 0].min() - 0.5) < 0.2
    assert middles[1, 0] - middles[0, 0] > 4
    local = (
        found.points - np.array([[[0.0, 0, 0]], [[5.0, 0, 0]]]) - box((1.0, 1, 1)).vertices.mean(0)
    )
    assert np.allclose(np.abs(local).max(-1), 0.5, atol=1e-6)
    corners = found.supports - found.supports.mean(1, keepdims=True)
    assert np.allclose(np.abs(corners).max((1, 2)), 0.5, atol=0.1)


def test_labelled_points_become_pieces_of_one_component() -> None:
    one = box((1.0, 1.0, 1.0))
    whole = np.zeros(len(one.faces), np.int64)
    rng = np.random.default_rng(0)
    cloud = sample_pieces(one.vertices, one.faces, whole, rng, points=1200)
    label = np.abs(cloud.normals[0]).argmax(1)
    made = group_points(cloud.points[0], cloud.normals[0], label, 6.0, rng)
    assert len(made) == 3
    assert np.isclose(made.area.sum(), 6.0)
    assert (made.component == 0).all()


def test_yaw_of_a_turned_box_is_undone() -> None:
    one = box((1.0, 2.0, 0.5))
    angle = 0.4
    c, s = np.cos(angle), np.sin(angle)
    turned = one.vertices @ np.array([[c, -s, 0], [s, c, 0], [0, 0, 1.0]]).T
    corners = turned[one.faces]
    normals = np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0])
    area = np.linalg.norm(normals, axis=1)
    rotation = yaw_alignment(normals / area[:, None], area)
    extent = np.sort(np.ptp(turned @ rotation.T, axis=0))
    np.testing.assert_allclose(extent, [0.5, 1.0, 2.0], atol=1e-6)


def test_components_stay_apart_when_joined() -> None:
    vertices, faces = two_boxes((5.0, 0.0, 0.0))
    found = sample_pieces(vertices, faces, split_surface(vertices, faces), np.random.default_rng(0))
    both = PieceSamples.concatenate([found, found])
    assert len(np.unique(both.component)) == 4
