"""Forces one by one, and one of one's own."""

from __future__ import annotations

import numpy as np
import pytest
from bending_bar import BendingBar

from kin4d import Actor, FloatingBase, RigidBody, Scene, simulate
from kin4d.bodies.analytic import hinge, pendulum
from kin4d.dynamics.forces import (
    Actuator,
    Damping,
    DragConstraint,
    Force,
    ForceTerms,
    JointFriction,
    Limits,
    Push,
    Spring,
    Torque,
    Wind,
)
from kin4d.errors import InputError
from kin4d.geometry.primitives import box


class Attraction(Force):
    """A force made in a test: every mass point is pulled to the origin."""

    def load(self, context) -> ForceTerms:
        points, mass = context.points, context.mass
        energy = 1.5 * float(mass @ (points**2).sum(1))
        return ForceTerms(points=-3.0 * mass[:, None] * points, energy=energy)


def test_a_force_of_ones_own_swings_a_body() -> None:
    body = FloatingBase(RigidBody(box((0.2, 0.1, 0.1))))
    actor = Actor(body, q=[1, 0, 0, 0, 0, 0], forces=[Attraction()])
    run = simulate(Scene([actor], gravity=False), seconds=2)
    expected = np.cos(np.sqrt(3.0) * run.clips[0].times)
    assert run.clips[0].q is not None
    np.testing.assert_allclose(run.clips[0].q[:, 0], expected, atol=1e-4)
    assert np.ptp(run.energy) < 1e-4 * run.energy[0]


class Lift(Force):
    """Half of the weight is carried; counts its calls."""

    def __init__(self, *, constant: bool) -> None:
        self.constant, self.calls = constant, 0

    def load(self, context) -> ForceTerms:
        self.calls += 1
        return ForceTerms(weight=context.mass[:, None] * np.array([0.0, 0.0, 0.5 * 9.81]))


def test_a_constant_force_is_evaluated_once_and_does_the_same() -> None:
    body = FloatingBase(RigidBody(box((0.2, 0.1, 0.1))))
    lifts = [Lift(constant=constant) for constant in (True, False)]
    once, always = (
        simulate(Actor(body, forces=[lift], contacts=0), seconds=0.5, fps=20) for lift in lifts
    )
    assert lifts[0].calls == 1
    assert lifts[1].calls > 100
    np.testing.assert_allclose(once.clip.vertices, always.clip.vertices, atol=1e-12)
    np.testing.assert_allclose(once.energy, always.energy, atol=1e-12)
    fallen = once.clips[0].vertices[0, 0, 2] - once.clips[0].vertices[-1, 0, 2]
    assert fallen == pytest.approx(0.5 * 0.5 * 9.81 * 0.5**2, rel=1e-6)


def test_an_object_that_is_no_force_is_refused() -> None:
    with pytest.raises(InputError, match="not a Force"):
        Actor(pendulum(), forces=[object()])  # pyright: ignore[reportArgumentType]


def test_a_spring_drags_a_point() -> None:
    body = FloatingBase(RigidBody(box((0.2, 0.2, 0.2)), density=125.0))  # one kilogram
    drag = DragConstraint((0, 0, 0.1), (0.0, 0.0, 0.3), stiffness=40.0)
    run = simulate(Scene([Actor(body, forces=[drag])], gravity=False), seconds=1.5)
    expected = 0.2 * (1 - np.cos(np.sqrt(40.0) * run.clips[0].times))
    assert run.clips[0].q is not None
    np.testing.assert_allclose(run.clips[0].q[:, 2], expected, atol=1e-3)


def test_a_body_that_is_evaluated_by_itself_moves_as_its_fit() -> None:
    body = BendingBar(subdivisions=1)
    force = Spring([20, 20, 5, 400], rest=np.zeros(4))
    actor = Actor(body, q=[0.4, 0.1, 0, 0], forces=[force, Limits(rate=20)], contacts=0)
    fitted = simulate(actor, seconds=0.1)
    from kin4d.kinematics.compiled import compiled_kinematics

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(compiled_kinematics, "MAX_FIT_ERROR", 0.0)
        direct = simulate(actor, seconds=0.1)
    assert direct.reduction_errors == (0.0,)
    np.testing.assert_allclose(fitted.clips[0].q, direct.clips[0].q, atol=5e-3)


@pytest.mark.parametrize(
    "make",
    [
        lambda: Push((0, 0, 0)),
        lambda: Push((0, 0, 0), (1, 0, 0), duration=0.0),
        lambda: Push((0, 0), (1, 0, 0)),
        lambda: Push((0, 0, 0), (1, np.nan, 0)),
        lambda: Damping(-1.0),
        lambda: Spring(-1.0),
        lambda: Limits(restitution=2.0),
        lambda: Wind((1, 0, 0), density=-1.0),
        lambda: DragConstraint((0, 0, 0), (0, 0, 0), stiffness=-1.0),
        lambda: Actuator(0, 1.0, gain=-1.0),
        lambda: Torque(0, np.inf),
    ],
)
def test_impossible_forces_are_refused(make) -> None:
    with pytest.raises(InputError):
        make()


@pytest.mark.parametrize("force", [Torque(3, 1.0), Actuator(3, 1.0), Spring([1.0, 1.0])])
def test_forces_that_do_not_fit_are_refused(force) -> None:
    with pytest.raises(InputError, match=r"does not exist|does not fit"):
        simulate(Actor(hinge(), forces=[force]), seconds=0.1)


@pytest.mark.parametrize(("torque", "moves"), [(0.4, False), (1.0, True)])
def test_joint_friction_holds_up_to_its_size(torque: float, moves: bool) -> None:
    forces = [JointFriction(0.5), Torque(0, torque)]
    run = simulate(Scene([Actor(hinge(), forces=forces)], gravity=False), seconds=1)
    assert run.clips[0].q is not None
    angle = abs(float(run.clips[0].q[-1, 0]))
    assert (angle > 0.02) == moves
    assert moves or angle < 2e-3  # it creeps


def test_joint_friction_takes_speed_evenly() -> None:
    start = Actor(hinge(), qd=[1.0], forces=[JointFriction(0.5)])
    run = simulate(Scene([start], gravity=False), seconds=1)
    q = run.clips[0].q
    assert q is not None
    speed = np.gradient(q[:, 0], run.clips[0].times)
    deceleration = -np.gradient(speed, run.clips[0].times)[5:20]
    assert deceleration.min() > 0.9 * deceleration.max() > 0
    with pytest.raises(InputError, match="joint friction"):
        JointFriction(-1.0)
    with pytest.raises(InputError, match="creep"):
        JointFriction(1.0, creep=0.0)
