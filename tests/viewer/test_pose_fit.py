"""Posing by a dragged point, and picking what is under the mouse."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from kin4d.bodies import hinge
from kin4d.bodies.floating import FloatingBase
from kin4d.bodies.modal import ModalBody
from kin4d.bodies.rigid import RigidBody
from kin4d.geometry.primitives import box
from kin4d.loading import load
from kin4d.viewer.picking import face_under_ray, grab_point
from kin4d.viewer.pose_fit import PointFit


def furthest(body) -> np.ndarray:
    """The last link's vertex that is farthest along x."""
    vertices = body.rest.vertices
    if body.skin is not None:
        vertices = vertices[body.skin.joints[:, 0] == body.skin.joints.max()]
    return vertices[vertices[:, 0].argmax()]


def test_a_door_follows_the_hand() -> None:
    body = hinge()
    q, grabbed = body.q0.numpy(), grab_point(body, body.q0.numpy(), furthest(body))
    true = np.array([0.8])
    target = grabbed.points(body.vertices(torch.from_numpy(true)).numpy())[0]
    found = PointFit(body, grabbed).solve(q, target)
    assert found[0] == pytest.approx(0.8, abs=0.01)
    beyond = PointFit(body, grabbed).solve(q, target + np.array([0.0, -9.0, 0.0]))
    assert 0 <= beyond[0] <= 1.9


def test_a_free_body_comes_along() -> None:
    body = FloatingBase(RigidBody(box((0.2, 0.2, 0.2))))
    grabbed = grab_point(body, body.q0.numpy(), furthest(body))
    target = furthest(body) + np.array([0.3, 0.2, 0.1])
    q = PointFit(body, grabbed).solve(body.q0.numpy(), target)
    reached = grabbed.points(body.vertices(torch.from_numpy(q)).numpy())[0]
    np.testing.assert_allclose(reached, target, atol=0.01)


@pytest.mark.parametrize("kind", ["modal", "learned"])
def test_soft_and_learned_bodies_are_posed_through_their_own_maps(kind: str) -> None:
    if kind == "modal":
        mesh = box((0.4, 0.1, 0.1))
        pinned = np.flatnonzero(mesh.vertices[:, 0] < -0.19)
        body = ModalBody.solid(mesh, young=1e5, density=1000, pinned=pinned)
    else:
        body = load("cabinet", bare_mesh=True, body_type="learned")
    wanted = body.q0.numpy().copy()
    wanted[0] = 0.4 * float(body.limits[0, 1])
    moved = body.vertices(torch.from_numpy(wanted)).numpy()
    vertex = np.linalg.norm(moved - body.rest.vertices, axis=1).argmax()
    gap = np.linalg.norm(moved[vertex] - body.rest.vertices[vertex])
    grabbed = grab_point(body, body.q0.numpy(), body.rest.vertices[vertex])
    q = PointFit(body, grabbed).solve(body.q0.numpy(), moved[vertex])
    reached = grabbed.points(body.vertices(torch.from_numpy(q)).detach().numpy())[0]
    assert np.linalg.norm(reached - moved[vertex]) < 0.2 * gap


def test_the_first_triangle_under_the_mouse() -> None:
    body = RigidBody(box((1.0, 1.0, 1.0)))
    q = body.q0.numpy()
    face = face_under_ray(body, q, np.array([0.1, 0.2, 5.0]), np.array([0.0, 0.0, -1.0]))
    assert face is not None
    np.testing.assert_allclose(body.rest.vertices[body.rest.faces[face]][:, 2], 0.5)
    assert face_under_ray(body, q, np.array([3.0, 0.0, 5.0]), np.array([0.0, 0.0, -1.0])) is None
    away = face_under_ray(body, q, np.array([0.0, 0.0, 5.0]), np.array([0.0, 0.0, 1.0]))
    assert away is None
