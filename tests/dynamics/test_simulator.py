"""A step is a function: what comes out depends on the state that goes in and on nothing else."""

from __future__ import annotations

import numpy as np
import pytest

from kin4d import Actor, FloatingBase, RigidBody, Scene
from kin4d.bodies.analytic import hinge, pendulum
from kin4d.bodies.modal import ModalBody
from kin4d.dynamics.compiled_actor import DivergedStep
from kin4d.dynamics.forces import Damping, Force, ForceTerms, Limits, Push, Spring, Wind
from kin4d.dynamics.integrators import Variational
from kin4d.dynamics.scene_state import SceneState
from kin4d.dynamics.simulator import Simulator
from kin4d.errors import InputError
from kin4d.geometry.primitives import box, sphere


def falling_boxes() -> Scene:
    """Contacts between actors and with the ground."""
    body = FloatingBase(RigidBody(box((0.2, 0.15, 0.1))))
    poses = ([0, 0, 0.06, 0, 0, 0], [0.02, 0, 0.19, 0.1, 0.2, 0])
    return Scene([Actor(body, q=q) for q in poses], ground=0.0)


def soft_bar() -> Scene:
    """A soft body that lands on the ground in wind: derived arrays of every kind."""
    mesh = box((0.4, 0.1, 0.06))
    inner = ModalBody.solid(mesh, young=1e5, density=500.0, modes=4, cells=60)
    stiffness = np.zeros((10, 10))
    stiffness[6:, 6:] = inner.stiffness.numpy()
    forces = [Spring(stiffness), Damping(0.5), Wind((1.0, 0.0, 0.0))]
    start = [0, 0, 0.035, *[0] * 7]
    return Scene([Actor(FloatingBase(inner), q=start, forces=forces)], ground=0.0)


def soft_limits() -> Scene:
    """Steps that are halved, and stay so for a while."""
    actor = Actor(hinge(limits=(-0.3, 0.3)), qd=[20.0], forces=[Limits(rate=300.0)], contacts=0)
    return Scene([actor])


def ball_and_door() -> Scene:
    """A hard limit, a push and a contact between a joint and a free body."""
    push = Push((0.7, 0.0, 1.0), (0.0, 60.0, 0.0), duration=0.05)
    door = Actor(hinge(limits=(-0.1, 0.1)), forces=[push])
    ball = FloatingBase(RigidBody(sphere(0.15)))
    return Scene([door, Actor(ball, q=[0.5, -0.4, 1.0, 0, 0, 0], qd=[0, 4.0, 0, 0, 0, 0])])


SCENES = [falling_boxes, soft_bar, soft_limits, ball_and_door]


def advanced(simulator: Simulator, state: SceneState, steps: int) -> SceneState:
    for _ in range(steps):
        state = simulator.step(state)
    return state


def assert_same(one: SceneState, two: SceneState) -> None:
    """Equal to the last bit, the forces included."""
    ours, theirs = one.to_arrays(), two.to_arrays()
    assert ours.keys() == theirs.keys()
    for name, array in ours.items():
        np.testing.assert_array_equal(array, theirs[name], err_msg=name)
    for a, b in zip(one.actors, two.actors, strict=True):
        np.testing.assert_array_equal(a.forces.force, b.forces.force)
        assert a.forces.energy == b.forces.energy


@pytest.mark.parametrize("tolerance", [None, 1e-4])
@pytest.mark.parametrize("make", SCENES)
def test_a_step_depends_on_its_state_alone(make, tolerance: float | None) -> None:
    scene = make()
    simulator = Simulator(scene, Variational(4), 1 / 240, tolerance)
    early = advanced(simulator, simulator.initial_state(), 12)
    before = {name: array.copy() for name, array in early.to_arrays().items()}
    expected = advanced(simulator, early, 8)
    assert_same(advanced(simulator, early, 8), expected)
    # Other steps of the same simulator, other runs of the same scene and other scenes between.
    advanced(simulator, simulator.initial_state(), 20)
    other = Simulator(scene, Variational(2), 1 / 120)
    advanced(other, other.initial_state(), 5)
    others = Simulator(falling_boxes(), Variational(2), 1 / 240)
    advanced(others, others.initial_state(), 3)
    assert_same(advanced(simulator, early, 8), expected)
    for name, array in early.to_arrays().items():
        np.testing.assert_array_equal(array, before[name], err_msg=name)


@pytest.mark.parametrize("make", SCENES)
def test_a_state_is_saved_and_resumed(make, tmp_path) -> None:
    simulator = Simulator(make(), Variational(4), 1 / 240)
    state = advanced(simulator, simulator.initial_state(), 15)
    np.savez(tmp_path / "state.npz", **state.to_arrays())
    fresh = Simulator(make(), Variational(4), 1 / 240)
    with np.load(tmp_path / "state.npz") as arrays:
        resumed = fresh.from_arrays(dict(arrays))
    assert_same(resumed, state)
    assert_same(advanced(fresh, resumed, 10), advanced(simulator, state, 10))
    assert fresh.energies(resumed) == simulator.energies(state)
    np.testing.assert_array_equal(fresh.penetration(resumed), simulator.penetration(state))


def test_a_state_of_another_scene_is_refused() -> None:
    simulator = Simulator(falling_boxes(), Variational(4), 1 / 240)
    other = Simulator(soft_limits(), Variational(4), 1 / 240)
    with pytest.raises(InputError, match="another scene"):
        simulator.from_arrays(other.initial_state().to_arrays())


class Bomb(Force):
    """Acts from half a second on, in a way that no step survives."""

    def load(self, context):
        return ForceTerms(coordinates=np.full(2, np.nan if context.time > 0.5 else 0.0))


@pytest.mark.parametrize("tolerance", [None, 1e-6])
def test_a_failed_step_leaves_no_trace(tolerance: float | None) -> None:
    scene = Scene([Actor(pendulum(), q=[1.2, 0.3], forces=[Bomb()], contacts=0)])
    simulator = Simulator(scene, Variational(4), 1 / 60, tolerance)
    early = advanced(simulator, simulator.initial_state(), 5)
    expected = simulator.step(early)
    last = advanced(simulator, expected, 24)
    for _ in range(2):
        with pytest.raises(DivergedStep, match="not finite"):
            advanced(simulator, last, 2)
    assert_same(simulator.step(early), expected)


def test_halvings_for_soft_limits_are_in_the_state() -> None:
    simulator = Simulator(soft_limits(), Variational(4), 1 / 240)
    state = advanced(simulator, simulator.initial_state(), 10)
    assert state.actors[0].halving.depth > 0
    assert simulator.initial_state().actors[0].halving.depth == 0


def test_contacts_warm_start_the_next_step() -> None:
    simulator = Simulator(falling_boxes(), Variational(4), 1 / 240)
    state = advanced(simulator, simulator.initial_state(), 60)
    assert state.contact_counts.min() > 0
    assert max(np.abs(warm.position).max() for warm in state.warm_starts) > 0
