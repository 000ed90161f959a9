"""What acts in soft scenes: stretch is held by a membrane, edges by the body, points by handles."""

from __future__ import annotations

import numpy as np
import pytest

from kin4d.benchmarks.dynamics.pca_body import PcaBody
from kin4d.benchmarks.dynamics.physics import modal_body
from kin4d.benchmarks.dynamics.soft_forces import acting_on, held_edge
from kin4d.geometry.mesh import Mesh
from kin4d.objects.soft.kinds import soft_scene
from kin4d.objects.soft.scene import SoftScene


def surface(scene: SoftScene) -> Mesh:
    return Mesh(vertices=scene.nodes, faces=scene.elements)


def names(forces) -> set[str]:
    return {type(force).__name__ for force in forces}


def test_a_pole_is_an_edge_and_a_corner_is_none() -> None:
    flag, cloth = soft_scene("flag", 3), soft_scene("cloth_corner", 3)
    np.testing.assert_array_equal(held_edge(surface(flag), flag.pins), flag.pins)
    assert len(held_edge(surface(cloth), cloth.pins)) == 0
    assert len(held_edge(surface(flag), None)) == 0


@pytest.mark.parametrize("low_membrane_stiffness", [False, True])
def test_modes_leave_their_stretch_to_a_membrane_if_they_wrinkle(
    low_membrane_stiffness: bool,
) -> None:
    scene = soft_scene("flag", 3)
    mesh = surface(scene)
    body = modal_body(
        scene, mesh, scene.pins, low_membrane_stiffness=low_membrane_stiffness, modes=4
    )
    expected = {"Wind", "Spring", "Damping"} | ({"Membrane"} if low_membrane_stiffness else set())
    assert names(acting_on(scene, mesh, scene.pins, body, body)) == expected


@pytest.mark.parametrize(
    ("kind", "holder"), [("flag", set()), ("cloth_corner", {"DragConstraint"})]
)
def test_other_sheets_are_held_where_they_do_not_hold_themselves(kind: str, holder: set) -> None:
    scene = soft_scene(kind, 3)
    mesh = surface(scene)
    modal = modal_body(scene, mesh, scene.pins, modes=4)
    body = PcaBody(mesh, np.stack([mesh.vertices, 1.1 * mesh.vertices]), count=1, mass=0.1)
    found = names(acting_on(scene, mesh, scene.pins, body, modal))
    assert found - {"Wind"} == {"Membrane", "Limits"} | holder
