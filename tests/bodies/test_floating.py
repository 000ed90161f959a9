"""Floating and rigid bodies."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from kin4d.bodies import Body, FloatingBase, RigidBody, hinge
from kin4d.geometry.primitives import box


def test_zero_root_leaves_the_body_where_it_is(kin4d_arm) -> None:
    body = FloatingBase(kin4d_arm)
    assert isinstance(body, Body)
    assert body.coordinates[:6] == ("x", "y", "z", "rx", "ry", "rz")
    assert torch.equal(body.points(body.q0), kin4d_arm.points(kin4d_arm.q0))
    assert np.allclose(body.vertices(body.q0).numpy(), body.rest.vertices, atol=1e-12)


def test_root_moves_all_points_rigidly() -> None:
    body = FloatingBase(hinge())
    q = body.q0.clone()
    q[:6] = torch.tensor([1.0, 2.0, 3.0, 0.0, 0.0, np.pi / 2])
    still, moved = body.vertices(body.q0), body.vertices(q)
    turned = torch.stack([-still[:, 1], still[:, 0], still[:, 2]], -1)
    assert torch.allclose(moved, turned + torch.tensor([1.0, 2.0, 3.0]), atol=1e-12)


def test_jacobian_equals_the_automatic_one() -> None:
    body = FloatingBase(hinge())
    q = body.q0 + torch.linspace(-0.5, 0.6, 2 * len(body.q0), dtype=torch.float64).view(2, -1)
    automatic = torch.func.vmap(torch.func.jacfwd(body.points))(q)
    assert torch.allclose(body.jacobian(q), automatic, atol=1e-12)
    # Smooth through zero rotation too.
    automatic = torch.func.jacfwd(body.points)(body.q0)
    assert torch.allclose(body.jacobian(body.q0), automatic, atol=1e-12)


def test_skin_motions_include_the_root() -> None:
    body = FloatingBase(hinge())
    q = body.q0.clone()
    q[:7] = torch.tensor([0.1, -0.2, 0.3, 0.4, -0.5, 0.6, 1.0])
    moved = body.skin.apply(body.skin_transforms(q).numpy(), body.rest.vertices)
    assert np.allclose(moved, body.vertices(q).numpy(), atol=1e-12)


def test_rigid_body_has_mass_and_no_coordinates() -> None:
    body = RigidBody(box((1.0, 1.0, 1.0)), density=2.0)
    assert body.coordinates == ()
    assert body.mass.sum().item() == pytest.approx(2.0)
    q = torch.zeros(3, 0, dtype=torch.float64)
    assert body.vertices(q).shape == (3, len(body.rest.vertices), 3)
    assert body.jacobian(q).shape == (3, 6, 3, 0)
    assert body.joint_values(q).shape == (3, 0)
