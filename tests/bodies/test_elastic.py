"""Stiffness borrowed from modes."""

from __future__ import annotations

import numpy as np
import pytest

from kin4d.bodies.analytic import hinge
from kin4d.bodies.elastic import elastic_stiffness
from kin4d.bodies.floating import FloatingBase
from kin4d.bodies.modal import ModalBody
from kin4d.bodies.rigid import RigidBody
from kin4d.errors import InputError
from kin4d.geometry.mesh import Mesh


@pytest.fixture(scope="module")
def bar() -> Mesh:
    import trimesh

    shape = trimesh.creation.box((0.5, 0.1, 0.06))
    for _ in range(3):
        shape = shape.subdivide()
    return Mesh(vertices=shape.vertices, faces=shape.faces, name="bar")


def test_modes_cost_what_they_cost(bar: Mesh) -> None:
    modal = ModalBody.solid(bar, young=1e5, density=500.0, modes=6)
    few = ModalBody.solid(bar, young=1e5, density=500.0, modes=3)
    found = elastic_stiffness(few, modal, pinned=False)
    np.testing.assert_allclose(found, few.stiffness.numpy(), rtol=0.05, atol=1e-3 * found.max())


def test_what_no_mode_does_is_stiff_and_motions_of_the_whole_are_free(bar: Mesh) -> None:
    modal = ModalBody.solid(bar, young=1e5, density=500.0, modes=6)
    whole = FloatingBase(RigidBody(bar, density=500.0))
    free = elastic_stiffness(whole, modal, pinned=False)
    stiff = elastic_stiffness(whole, modal, pinned=True)
    assert np.abs(free).max() < 1e-6 * np.abs(stiff).max()
    assert (np.linalg.eigvalsh(stiff) > 0).all()


def test_other_meshes_are_refused(bar: Mesh) -> None:
    modal = ModalBody.solid(bar, young=1e5, density=500.0, modes=3)
    with pytest.raises(InputError, match="same mesh"):
        elastic_stiffness(hinge(), modal, pinned=True)
