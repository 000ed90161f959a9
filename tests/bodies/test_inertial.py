"""Mass points stand for a link exactly, and meshes weigh what they should."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kin4d.bodies import Inertial
from kin4d.errors import InputError
from kin4d.geometry.mesh import Mesh
from kin4d.geometry.primitives import box, sphere

finite = st.floats(-2, 2)


@given(
    st.floats(1e-3, 1e3),
    st.lists(finite, min_size=3, max_size=3),
    st.lists(st.floats(0.01, 1.0), min_size=3, max_size=3),
    st.lists(finite, min_size=3, max_size=3),
)
def test_mass_points_reproduce_mass_centre_and_inertia(mass, center, spread, turn) -> None:
    from scipy.spatial.transform import Rotation

    rotation = Rotation.from_rotvec(turn).as_matrix()
    second = mass * rotation @ np.diag(np.square(spread)) @ rotation.T
    inertia = np.trace(second) * np.eye(3) - second
    points, masses = Inertial(mass, np.array(center), inertia).mass_points()
    assert masses.sum() == pytest.approx(mass)
    assert np.allclose(masses @ points / mass, center, atol=1e-9)
    arm = points - np.array(center)
    moments = np.einsum("p,pi,pj->ij", masses, arm, arm)
    found = np.trace(moments) * np.eye(3) - moments
    assert np.allclose(found, inertia, rtol=1e-9, atol=1e-9 * mass)


def test_solid_box_has_the_textbook_inertia() -> None:
    inertial = Inertial.of_mesh(box((1.0, 2.0, 3.0)), density=100.0)
    assert inertial.mass == pytest.approx(600.0)
    assert np.allclose(np.diag(inertial.inertia), 600 / 12 * np.array([13.0, 10.0, 5.0]))


def test_open_mesh_is_a_shell_whose_mass_does_not_depend_on_its_triangles() -> None:
    shells = []
    for subdivisions in (3, 4):
        whole = sphere(1.0, subdivisions=subdivisions)
        opened = Mesh(vertices=whole.vertices, faces=whole.faces[1:])
        shells.append(Inertial.of_mesh(opened, density=1000.0, thickness=0.001))
    assert shells[0].mass == pytest.approx(shells[1].mass, rel=0.02)
    assert shells[1].mass == pytest.approx(4 * np.pi, rel=0.01)
    assert np.allclose(shells[1].inertia, 2 / 3 * shells[1].mass * np.eye(3), rtol=0.02, atol=0.1)


@pytest.mark.parametrize("mass", [0.0, -1.0, float("nan"), float("inf")])
def test_impossible_masses_are_refused(mass) -> None:
    with pytest.raises(InputError, match="mass"):
        Inertial(mass, np.zeros(3), np.eye(3))


def test_inertia_that_no_object_has_becomes_a_physical_one() -> None:
    points, masses = Inertial(1.0, np.zeros(3), np.diag([1.0, 1.0, 5.0])).mass_points()
    assert np.isfinite(points).all()
    assert masses.sum() == pytest.approx(1.0)
