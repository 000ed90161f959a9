"""Finite elements of solids, against what is known of bars and rigid motions."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.sparse import csc_matrix
from scipy.sparse.linalg import spsolve

from kin4d.errors import InputError
from kin4d.geometry.elastic_solid import solid_rotations, solid_stiffness
from kin4d.geometry.lattice import Lattice
from kin4d.geometry.mesh import Mesh
from kin4d.geometry.primitives import box, sphere

YOUNG, POISSON = 2e5, 0.35
LENGTH, SIDE = 0.4, 0.1


@pytest.fixture(scope="module")
def bar() -> Lattice:
    return Lattice.around(box((LENGTH, SIDE, SIDE)))


def test_rigid_motions_cost_nothing_and_turn_as_they_do() -> None:
    lattice = Lattice.around(sphere(0.3))
    stiffness = solid_stiffness(lattice, young=YOUNG, poisson=POISSON)
    turn = np.array([0.1, -0.2, 0.3])
    moved = (np.cross(turn, lattice.nodes) + np.array([1.0, 2.0, 3.0])).ravel()
    assert abs(stiffness @ moved).max() < 1e-9 * abs(stiffness).max()
    assert abs(stiffness - stiffness.T).max() < 1e-9 * abs(stiffness).max()
    np.testing.assert_allclose(
        (solid_rotations(lattice) @ moved).reshape(-1, 3), np.tile(turn, (len(lattice.nodes), 1))
    )


def test_a_pulled_bar_is_as_stiff_as_young_says_and_contracts(bar: Lattice) -> None:
    stiffness = solid_stiffness(bar, young=YOUNG, poisson=POISSON)
    stretch = np.array([1.0, -POISSON, -POISSON]) * 1e-3
    moved = bar.nodes * stretch
    forces = (stiffness @ moved.ravel()).reshape(-1, 3)
    end = bar.nodes[:, 0] > bar.nodes[:, 0].max() - 1e-9
    pull = forces[end].sum(0)
    assert pull[0] == pytest.approx(YOUNG * SIDE**2 * 1e-3, rel=1e-9)
    np.testing.assert_allclose(pull[1:], 0, atol=1e-9 * pull[0])
    # Sides that contract by Poisson's ratio are at ease: nothing pulls at them.
    inner = ~(end | (bar.nodes[:, 0] < bar.nodes[:, 0].min() + 1e-9))
    np.testing.assert_allclose(forces[inner], 0, atol=1e-9 * pull[0])


def test_a_held_bar_sags_like_a_beam() -> None:
    bar = Lattice.around(box((LENGTH, SIDE, SIDE)), cells=1500)
    stiffness = csc_matrix(solid_stiffness(bar, young=YOUNG, poisson=0.0))
    free = np.repeat(bar.nodes[:, 0] > bar.nodes[:, 0].min() + 1e-9, 3)
    load = np.zeros((len(bar.nodes), 3))
    load[:, 2] = -1000 * 9.81 * bar.volumes
    moved = np.zeros(len(free))
    moved[free] = spsolve(stiffness[free][:, free], load.ravel()[free])
    weight, bend = 1000 * 9.81 * SIDE**2, YOUNG * SIDE**4 / 12
    # Bending as Euler and Bernoulli have it, and shear, which a bar of four sides' length feels.
    sag = weight * LENGTH**4 / (8 * bend) + weight * LENGTH**2 / (2 * 5 / 6 * YOUNG / 2 * SIDE**2)
    assert -moved[2::3].min() == pytest.approx(sag, rel=0.1)


def test_a_tilted_bar_is_nearly_as_stiff_as_a_straight_one() -> None:
    angle = 0.5
    turn = np.array(
        [[np.cos(angle), -np.sin(angle), 0], [np.sin(angle), np.cos(angle), 0], [0, 0, 1]]
    )
    mesh = box((LENGTH, SIDE, SIDE))
    energies = []
    for rotation in (np.eye(3), turn):
        tilted = Mesh(vertices=mesh.vertices @ rotation.T, faces=mesh.faces)
        lattice = Lattice.around(tilted, cells=400, whole=True)
        along, _, up = (lattice.nodes @ rotation).T
        # Bent evenly to a circle, upwards.
        moved = np.outer(-along * up, rotation[:, 0]) + np.outer(0.5 * along**2, rotation[:, 2])
        stiffness = solid_stiffness(lattice, young=YOUNG, poisson=0.0)
        energies.append(moved.ravel() @ (stiffness @ moved.ravel()))
    assert energies[1] == pytest.approx(energies[0], rel=0.3)


def test_poisson_is_checked(bar: Lattice) -> None:
    with pytest.raises(InputError, match="poisson"):
        solid_stiffness(bar, young=YOUNG, poisson=0.5)
