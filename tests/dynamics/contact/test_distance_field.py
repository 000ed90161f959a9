"""Distances to solids, nearest points and the points that stand for a surface."""

from __future__ import annotations

import numpy as np
import pytest

from kin4d.bodies.analytic import slider_chain
from kin4d.bodies.rigid import RigidBody
from kin4d.dynamics.contact.closest import closest_on_mesh
from kin4d.dynamics.contact.contact_points import contact_points, nearest_surface_point
from kin4d.dynamics.contact.distance_field import distance_field, sample_sdf
from kin4d.dynamics.contact.sharp_edges import sample_sharp_edges
from kin4d.errors import InputError
from kin4d.geometry.mesh import Mesh
from kin4d.geometry.primitives import box, sphere


def test_the_field_of_a_ball() -> None:
    field = distance_field(sphere(0.5, subdivisions=4), spacing=0.05)
    rng, slope = np.random.default_rng(0), np.empty(3)
    for point in rng.uniform(-0.6, 0.6, (200, 3)):
        radius = float(np.linalg.norm(point))
        if radius < 0.2:
            continue
        distance = sample_sdf(field, point, slope)
        assert distance == pytest.approx(radius - 0.5, abs=0.01)
        assert slope @ point / (radius * np.linalg.norm(slope)) > 0.99
    assert sample_sdf(field, np.array([9.0, 0, 0]), slope) == np.inf


def test_overlapping_pieces_are_one_solid() -> None:
    shifted = box((1, 1, 1))
    shifted = shifted.replace_vertices(shifted.vertices + np.array([0.5, 0, 0]))
    field = distance_field(Mesh.concatenate([box((1, 1, 1)), shifted]), spacing=0.1)
    slope = np.empty(3)
    assert sample_sdf(field, np.array([0.25, 0.0, 0.0]), slope) < 0
    assert sample_sdf(field, np.array([0.25, 0.0, 0.58]), slope) == pytest.approx(0.08, abs=0.01)


def test_the_nearest_point_of_a_mesh() -> None:
    mesh, weights = box((2, 2, 2)), np.empty(3)
    for point, expected in (((0.2, 0.3, 4), (0.2, 0.3, 1)), ((3, 3, 3), (1, 1, 1))):
        face, distance = closest_on_mesh(np.array(point, float), mesh.vertices, mesh.faces, weights)
        np.testing.assert_allclose(weights @ mesh.vertices[mesh.faces[face]], expected, atol=1e-12)
        assert distance == pytest.approx(np.linalg.norm(np.subtract(point, expected)))


def test_contact_points_keep_corners_and_spread() -> None:
    body = slider_chain(count=2)
    points = contact_points(body, 128).points(body.rest.vertices)
    assert len(points) == 128
    for corner in (body.rest.bounds[0], body.rest.bounds[1]):
        assert np.abs(points - corner).min(0).max() < 1e-12
    smooth = contact_points(RigidBody(sphere(0.5, subdivisions=4)), 200)
    found = smooth.points(sphere(0.5, subdivisions=4).vertices)
    apart = np.linalg.norm(found[:, None] - found, axis=-1) + np.eye(len(found))
    assert apart.min() > 0.03
    assert len(contact_points(body, 0)) == 0


def test_sharp_edges_are_those_that_bend_outwards() -> None:
    cube = box((1, 1, 1))
    points = sample_sharp_edges(cube, 240).points(cube.vertices)
    assert (np.isclose(np.abs(points), 0.5).sum(1) >= 2).all()  # on two faces
    assert len(points) == 240
    gaps = np.sort(np.linalg.norm(points[:, None] - points, axis=-1), axis=1)[:, 1]
    assert gaps.max() < 2 * 12 / 240
    inside_out = Mesh(vertices=cube.vertices, faces=cube.faces[:, ::-1])
    for mesh in (inside_out, sphere(0.5, subdivisions=4)):
        assert len(sample_sharp_edges(mesh, 100)) == 0
    assert len(sample_sharp_edges(cube, 0)) == 0


def test_a_place_off_the_surface_is_moved_or_refused() -> None:
    mesh = box((1, 1, 1))
    found = nearest_surface_point(mesh, (0.1, 0.2, 0.52), what="push")
    np.testing.assert_allclose(found.points(mesh.vertices)[0], (0.1, 0.2, 0.5), atol=1e-12)
    with pytest.raises(InputError, match=r"push misses the object by 0\.5 m"):
        nearest_surface_point(mesh, (0.0, 0.0, 1.0), what="push")
