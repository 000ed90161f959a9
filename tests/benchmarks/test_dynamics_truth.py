"""The references themselves: MuJoCo's trees and closed forms agree with each other."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from kin4d.benchmarks.dynamics.closed_forms import double_pendulum, flip_time, spinning_body
from kin4d.benchmarks.dynamics.impact_reference import integrate_with_impacts
from kin4d.bodies.analytic import hinge, pendulum


def test_a_double_pendulum_in_mujoco_is_the_closed_form() -> None:
    pytest.importorskip("mujoco", minversion="3")
    from kin4d.benchmarks.dynamics.mujoco_tree import MujocoTree

    start = torch.tensor([1.2, 0.8], dtype=torch.float64)
    found = MujocoTree(pendulum()).run(seconds=1, q=start)
    exact = double_pendulum(start.numpy(), np.zeros(2), found.times, length=0.5)
    np.testing.assert_allclose(found.values, exact, atol=1e-8)
    with torch.no_grad():
        vertices = pendulum().vertices(torch.from_numpy(exact)).numpy()
    np.testing.assert_allclose(found.vertices, vertices, atol=1e-8)


def test_a_pushed_door_turns_as_its_moment_of_inertia_says() -> None:
    pytest.importorskip("mujoco", minversion="3")
    from kin4d.benchmarks.dynamics.mujoco_tree import MujocoPush, MujocoTree

    door = hinge()
    edge = int(door.rest.vertices[:, 0].argmax())
    far = int(np.argmax(np.where(door.skin.joints[:, 0] == 1, door.rest.vertices[:, 0], -1)))
    assert edge != far  # the frame is wider than the door
    push = MujocoPush(vertex=far, force=np.array([0.0, 2.0, 0.0]), start=0.0, end=0.05)
    found = MujocoTree(door).run(seconds=0.5, pushes=[push], fps=20)
    with torch.no_grad():
        moving = door.jacobian(door.q0)[..., 0]
    inertia = float((door.mass[:, None] * moving.square()).sum())
    rate = 2.0 * door.rest.vertices[far, 0] * 0.05 / inertia
    np.testing.assert_allclose(np.diff(found.values[2:, 0]) * 20, rate, rtol=1e-3)


def test_what_falls_on_its_stop_stays_there() -> None:
    times = np.linspace(0, 1, 11)

    def fall(_, q, qd):
        return np.array([[2.0]]), np.array([-2 * 9.81])

    limits = np.array([[0.0, np.inf]])
    found, impacts = integrate_with_impacts(fall, limits, np.array([1.0]), np.zeros(1), times)
    expected = np.maximum(1 - 9.81 / 2 * times**2, 0)
    np.testing.assert_allclose(found[:, 0], expected, atol=1e-9)
    assert impacts == 1


def test_a_stop_takes_momentum_from_what_hangs_on_it_and_lets_go() -> None:
    mass = np.array([[2.0, 1.0], [1.0, 1.0]])  # a cart and, relative to it, another
    limits = np.array([[-0.5, np.inf], [-np.inf, np.inf]])
    push = np.array([0.0, 0.0])

    def forces(now, q, qd):
        return mass, push if now < 0.75 else np.array([4.0, 0.0])

    found, impacts = integrate_with_impacts(
        forces, limits, np.zeros(2), np.array([-1.0, 0.0]), np.array([0.0, 0.5, 0.75, 1.0]),
        edges=[0.75],
    )  # fmt: skip
    assert impacts == 1
    # The first cart stops dead, the second goes on at the speed that both had.
    np.testing.assert_allclose(found[:3], [[0, 0], [-0.5, 0], [-0.5, -0.25]], atol=1e-7)
    rate = np.linalg.solve(mass, [4.0, 0.0])
    expected = [-0.5, -0.5] + rate * 0.25**2 / 2
    np.testing.assert_allclose(found[3], expected, atol=1e-7)


def test_a_spinning_body_flips_when_elliptic_integrals_say() -> None:
    moments, spin = np.array([1.0, 2.0, 3.0]), np.array([0.01, 3.0, 0.01])
    period = flip_time(moments, spin)
    times = np.linspace(0, 2 * period, 401)
    turns = spinning_body(moments, spin, times)
    np.testing.assert_allclose(
        turns @ turns.transpose(0, 2, 1), np.tile(np.eye(3), (401, 1, 1)), atol=1e-9
    )
    # The middle axis points along the angular momentum, then against it, then along it again.
    along = (turns[:, :, 1] @ (moments * spin)) / np.linalg.norm(moments * spin)
    assert along[0] > 0.99
    assert along[200] < -0.99
    assert along[400] > 0.99
