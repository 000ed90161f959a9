"""The compiled map of a soft body is the body's own, floating or not."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from kin4d.bodies.floating import FloatingBase
from kin4d.bodies.modal import ModalBody
from kin4d.geometry.primitives import box
from kin4d.geometry.sampling import sample_surface
from kin4d.kinematics.compiled.compiled_kinematics import compile_kinematics
from kin4d.kinematics.compiled.modal import ModalKinematics


@pytest.mark.parametrize("floating", [False, True])
def test_mass_points_surface_points_and_jacobians_are_the_bodys(floating: bool) -> None:
    mesh = box((0.4, 0.1, 0.06))
    held = [] if floating else np.flatnonzero(mesh.vertices[:, 0] < -0.199)
    soft = ModalBody.solid(mesh, young=1e5, density=500.0, modes=4, cells=60, pinned=held)
    body = FloatingBase(soft) if floating else soft
    surface = sample_surface(mesh, 20, seed=0)
    found = compile_kinematics(body, surface, mass_scale=2.0)
    assert isinstance(found, ModalKinematics)
    generator = np.random.default_rng(0)
    q = 0.4 * soft.limits[:, 1].numpy() * generator.uniform(-1, 1, 4)
    if floating:
        q = np.concatenate([generator.uniform(-1, 1, 6), q])
    exact = torch.from_numpy(q)
    y, jacobian = found.embed(q)
    root = np.sqrt(2 * soft.mass.numpy())[:, None]
    np.testing.assert_allclose(y.reshape(-1, 3), root * body.points(exact).numpy(), atol=1e-9)
    np.testing.assert_allclose(
        jacobian.reshape(-1, 3, len(q)), root[..., None] * body.jacobian(exact).numpy(), atol=1e-9
    )
    np.testing.assert_allclose(
        found.at(q).surface_points, surface.points(body.vertices(exact)).numpy(), atol=1e-6
    )
    slopes = torch.func.jacfwd(lambda row: surface.points(body.vertices(row)))(exact).numpy()
    some = np.array([3, 17])
    np.testing.assert_allclose(
        found.points_and_jacobians(found.at(q), some)[1], slopes[some], atol=1e-6
    )
