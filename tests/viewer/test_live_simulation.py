"""A scene that steps while a hand pulls at it: pulling, holding, changing, diverging."""

from __future__ import annotations

import numpy as np
import pytest

from kin4d.bodies import hinge
from kin4d.bodies.floating import FloatingBase
from kin4d.bodies.modal import ModalBody
from kin4d.bodies.rigid import RigidBody
from kin4d.dynamics.compiled_actor import DivergedStep
from kin4d.geometry.primitives import box
from kin4d.viewer.live_simulation import LiveDivergedError, LiveSimulation, body_scene
from kin4d.viewer.picking import grab_point

MORE = 10.0  # s of computing: never what ends a step here


def grabbed_door(simulation: LiveSimulation):
    """The middle of the door's free edge, held."""
    (body,) = simulation.bodies
    own = body.skin.joints[:, 0] == body.skin.names.index("door")
    vertices = body.rest.vertices[own]
    point = vertices[vertices[:, 0].argmax()]
    simulation.grab(0, grab_point(body, body.q0.numpy(), point))
    return point


def test_a_pull_moves_what_it_holds() -> None:
    simulation = LiveSimulation(body_scene(hinge(), gravity=False))
    point = grabbed_door(simulation)
    away = point + 0.3 * np.array([0.0, 1.0, 0.0])
    simulation.pull(0, away)
    simulation.advance(0.25, most=MORE)
    simulation.advance(0.25, most=MORE)
    assert abs(simulation.q[0][0]) > 0.1
    assert simulation.frames[-1].kinetic > 0
    simulation.release()
    before = simulation.q[0][0]
    simulation.advance(0.2, most=MORE)
    assert simulation.q[0][0] != before  # it goes on by itself


def test_what_is_held_stays() -> None:
    simulation = LiveSimulation(body_scene(hinge(), gravity=False))
    simulation.hold(0, [0])
    point = grabbed_door(simulation)
    simulation.pull(0, point + np.array([0.0, 0.5, 0.0]), strength=5.0)
    for _ in range(8):
        simulation.advance(0.25, most=MORE)
    assert abs(simulation.q[0][0]) < 1e-3


def test_a_change_goes_on_from_where_everything_is() -> None:
    body = FloatingBase(RigidBody(box((0.1, 0.1, 0.1))))
    simulation = LiveSimulation(body_scene(body, gravity=True, ground=False))
    simulation.advance(0.25, most=MORE)
    fallen = simulation.q[0][2]
    assert fallen == pytest.approx(-0.5 * 9.81 * 0.25**2, rel=0.1)
    weightless = simulation.continued(body_scene(body, gravity=False, ground=False))
    weightless.advance(0.2, most=MORE)
    speed = (weightless.q[0][2] - fallen) / 0.2
    assert speed == pytest.approx(-9.81 * 0.25, rel=0.15)


def test_a_soft_body_is_pulled_out_of_shape() -> None:
    mesh = box((0.4, 0.1, 0.1))
    left = np.flatnonzero(mesh.vertices[:, 0] < -0.19)
    body = ModalBody.solid(mesh, young=1e5, density=1000, pinned=left)
    simulation = LiveSimulation(body_scene(body, gravity=False))
    tip = mesh.vertices[mesh.vertices[:, 0].argmax()]
    simulation.grab(0, grab_point(body, body.q0.numpy(), tip))
    simulation.pull(0, tip + np.array([0.0, 0.0, 0.1]))
    for _ in range(4):
        simulation.advance(0.1, most=MORE)
    moved = simulation.clip().vertices[-1] - mesh.vertices
    assert moved[:, 2].max() > 0.005
    assert abs(moved[left]).max() < 0.3 * moved[:, 2].max()


def test_one_that_diverges_stands_where_it_was(monkeypatch) -> None:
    simulation = LiveSimulation(body_scene(hinge(), gravity=False))
    simulation.advance(0.1, most=MORE)
    good = simulation.q[0]

    def fail(state):
        raise DivergedStep("the kinetic energy of 'hinge' is 1e+30 J")

    monkeypatch.setattr(simulation._simulator, "step", fail)
    with pytest.raises(LiveDivergedError, match=r"kinetic energy.*Reset"):
        simulation.advance(0.1, most=MORE)
    np.testing.assert_array_equal(simulation.q[0], good)
    assert len(simulation.clip()) >= 2
    simulation.reset()
    assert simulation.time == 0


def test_slow_computing_is_slow_motion() -> None:
    simulation = LiveSimulation(body_scene(hinge(), gravity=False))
    simulation.advance(100.0, most=0.02)
    assert simulation.time < 1.0  # it does not try to catch up for ever
