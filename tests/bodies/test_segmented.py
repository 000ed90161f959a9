"""A mesh cut into parts keeps its vertices, and moves as a tree of links does."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from kin4d.bodies.segmented import JointSpec, SegmentedBody
from kin4d.dynamics.scene import Actor, Scene
from kin4d.dynamics.simulate import simulate
from kin4d.errors import InputError
from kin4d.geometry.mesh import Mesh
from kin4d.geometry.primitives import box


def _boxes() -> tuple[Mesh, np.ndarray]:
    """Three boxes in a row, the vertices of the second and third in between each other."""
    boxes = [box((0.2, 0.2, 0.2)).transformed(_shifted(x)) for x in (0.0, 0.3, 0.6)]
    mesh = Mesh.concatenate(boxes)
    part = np.repeat([0, 1, 2], len(boxes[0].vertices))
    order = np.random.default_rng(0).permutation(len(part))
    back = np.argsort(order)
    return Mesh(vertices=mesh.vertices[order], faces=back[mesh.faces]), part[order]


def _shifted(x: float) -> np.ndarray:
    pose = np.eye(4)
    pose[0, 3] = x
    return pose


def _joint(name: str, parent: int, kind: str, x: float, axis: str, limits: tuple) -> JointSpec:
    """A joint at (x, 0, 0) along "x", "y" or "z"."""
    along = np.eye(3)["xyz".index(axis)]
    point = np.array([x, 0, 0])
    return JointSpec(name=name, parent=parent, kind=kind, point=point, axis=along, limits=limits)


def _chain(mass: float | np.ndarray = 2.0) -> SegmentedBody:
    mesh, part = _boxes()
    joints = [
        _joint("arm", 0, "revolute", 0.1, "z", (-1.0, 2.0)),
        _joint("tip", 1, "prismatic", 0.5, "x", (0.0, 0.3)),
    ]
    return SegmentedBody(mesh, part, joints, mass=mass)


def test_rest_is_the_mesh_itself() -> None:
    body = _chain()
    mesh, _ = _boxes()
    np.testing.assert_array_equal(body.rest.vertices, mesh.vertices)
    np.testing.assert_allclose(body.vertices(body.q0).numpy(), mesh.vertices, atol=1e-15)
    assert float(body.mass.sum()) == pytest.approx(2.0, rel=1e-4)


def test_parts_turn_slide_and_carry_each_other() -> None:
    body = _chain()
    mesh, part = _boxes()
    moved = body.vertices(torch.tensor([np.pi / 2, 0.1], dtype=torch.float64)).numpy()
    np.testing.assert_allclose(moved[part == 0], mesh.vertices[part == 0], atol=1e-15)
    tip = mesh.vertices[part == 2]  # slid out by as much as the hinge is off the origin
    turned = np.stack([-tip[:, 1] + 0.1, tip[:, 0], tip[:, 2]], 1)
    np.testing.assert_allclose(moved[part == 2], turned, atol=1e-12)


def test_masses_of_triangles_are_those_of_their_parts() -> None:
    mesh, part = _boxes()
    weights = np.where(part[mesh.faces[:, 0]] == 1, 1.0, 0.0)
    body = _chain(weights)
    arm = next(link for link in body.links if link.name == "arm")
    assert arm.inertial is not None
    assert arm.inertial.mass == pytest.approx(weights.sum(), rel=1e-3)
    np.testing.assert_allclose(arm.inertial.center, [0.2, 0, 0], atol=1e-9)


def test_it_falls_until_it_stops() -> None:
    mesh, part = _boxes()
    lid = _joint("lid", 0, "revolute", 0.1, "y", (-0.5, 0.4))
    body = SegmentedBody(mesh, np.minimum(part, 1), [lid])
    q = simulate(Scene([Actor(body, contacts=0)]), seconds=1.0, fps=24).clips[0].q
    assert q is not None
    assert q[-1, 0] == pytest.approx(0.4, abs=1e-6)


@pytest.mark.parametrize("mass", [-1.0, 0.0, np.nan])
def test_bad_masses_are_refused(mass: float) -> None:
    with pytest.raises(InputError, match="mass"):
        _chain(mass)


def test_parts_that_do_not_exist_are_refused() -> None:
    mesh, part = _boxes()
    with pytest.raises(InputError, match="parts of vertices"):
        SegmentedBody(mesh, part, [])
