"""The compiled tree against the body's own tensors."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from kin4d.bodies.analytic import hinge, pendulum, slider_chain
from kin4d.bodies.floating import FloatingBase
from kin4d.geometry.sampling import sample_surface
from kin4d.kinematics.compiled.compiled_kinematics import compile_kinematics
from kin4d.kinematics.compiled.rotation import rewrap_rotvec


@pytest.mark.parametrize("floating", [False, True])
@pytest.mark.parametrize("make", [hinge, slider_chain, pendulum])
def test_points_and_jacobians_are_the_bodys(make, floating) -> None:
    body = FloatingBase(make()) if floating else make()
    surface = sample_surface(body.rest, 20, seed=0)
    found = compile_kinematics(body, surface)
    q = torch.from_numpy(np.random.default_rng(0).normal(size=len(body.coordinates)))
    _, jacobian = found.embed(q.numpy())
    root = np.sqrt(found.mass)[:, None, None]
    np.testing.assert_allclose(found.at(q.numpy()).mass_points, body.points(q), atol=1e-12)
    columns = jacobian.reshape(len(found.mass), 3, -1) / root
    np.testing.assert_allclose(columns, body.jacobian(q), atol=1e-12)
    np.testing.assert_allclose(
        found.at(q.numpy()).surface_points, surface.points(body.vertices(q)), atol=1e-12
    )
    moving = torch.func.jacfwd(lambda row: surface.points(body.vertices(row)))(q)
    chosen = np.array([3, 7])
    np.testing.assert_allclose(
        found.points_and_jacobians(found.at(q.numpy()), chosen)[1],
        moving[chosen].numpy(),
        atol=1e-12,
    )


def test_mimic_joints_move_with_their_leader(arm) -> None:
    found = compile_kinematics(arm, sample_surface(arm.rest, 20, seed=0))
    q = arm.q0 + 0.01
    surface = sample_surface(arm.rest, 20, seed=0).points(arm.vertices(q))
    np.testing.assert_allclose(found.at(q.numpy()).surface_points, surface, atol=1e-12)


def test_a_shorter_rotation_vector_keeps_the_pose() -> None:
    body = FloatingBase(slider_chain())
    q = body.q0.numpy().copy()
    q[3:6] = 2.0, 2.5, -1.5
    shorter = rewrap_rotvec(q)
    assert shorter is not None
    assert np.linalg.norm(shorter[3:6]) < np.pi
    np.testing.assert_allclose(
        body.points(torch.from_numpy(shorter)), body.points(torch.from_numpy(q)), atol=1e-12
    )
    assert rewrap_rotvec(shorter) is None
