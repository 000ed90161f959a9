"""Actors that follow a prescribed motion: what they push, and where their force ends."""

from __future__ import annotations

import numpy as np
import pytest

from kin4d import Actor, InputError, Material, PrescribedMotion, Scene, load, simulate
from kin4d.bodies.articulated import ArticulatedBody
from kin4d.bodies.articulated_base import Link
from kin4d.bodies.floating import FloatingBase
from kin4d.bodies.inertial import Inertial
from kin4d.bodies.joint import Joint
from kin4d.bodies.rigid import RigidBody
from kin4d.dynamics.integrators import Variational
from kin4d.dynamics.simulator import Simulator
from kin4d.geometry.primitives import box

GRIPPY = Material(name="grippy", friction=0.5, restitution=0.0, damping=0.0)
SIDE, DENSITY = 0.2, 125.0
MASS = DENSITY * SIDE**3  # 1 kg


def slider(size: tuple[float, float, float], height: float) -> ArticulatedBody:
    """A block that slides along x, its middle at `height`."""
    mesh = box(size)
    joint = Joint(
        name="x", kind="prismatic", parent="rail", child="block", axis=np.array([1.0, 0, 0]),
        limits=(-2.0, 2.0),
    )  # fmt: skip
    root = np.eye(4)
    root[2, 3] = height
    links = [Link("rail"), Link("block", mesh, Inertial.of_mesh(mesh, density=DENSITY))]
    return ArticulatedBody(links, [joint], root=root, name="slider")


def cube() -> FloatingBase:
    return FloatingBase(RigidBody(box((SIDE, SIDE, SIDE), name="cube"), density=DENSITY))


def travel(speed: float, *, seconds: float = 1.0, **options) -> PrescribedMotion:
    return PrescribedMotion(np.array([[0.0], [speed * seconds]]), fps=1 / seconds, **options)


def test_a_driven_body_pushes_and_is_not_pushed() -> None:
    pusher = Actor(slider((SIDE, SIDE, SIDE), SIDE / 2), motion=travel(0.5), material=GRIPPY)
    pushed = Actor(cube(), q=[SIDE + 0.05, 0, SIDE / 2, 0, 0, 0], material=GRIPPY)
    run = simulate(Scene([pusher, pushed], ground=0.0), seconds=1.0, fps=20)
    assert run.clips[0].q is not None
    assert np.allclose(run.clips[0].q[:, 0], 0.5 * run.clip.times, atol=1e-12)
    # It ends in front of the pusher and has not left it.
    assert run.clips[1].q is not None
    assert run.clips[1].q[-1, 0] == pytest.approx(0.5 + SIDE, abs=2e-3)
    assert run.clips[1].diagnostics["penetration"].max() < 1e-3


@pytest.mark.parametrize(("force", "moves"), [(0.8, False), (1.2, True)])
def test_a_force_limit_decides_what_is_moved(force: float, moves: bool) -> None:
    motion = travel(0.3, max_force={"x": force * GRIPPY.friction * MASS * 9.81})
    frictionless = Material(name="ice", friction=0.0, restitution=0.0)
    pusher = Actor(slider((SIDE, SIDE, 0.1), SIDE / 2), motion=motion, material=frictionless)
    pushed = Actor(cube(), q=[SIDE + 0.01, 0, SIDE / 2, 0, 0, 0], material=GRIPPY)
    scene = Scene([pusher, pushed], ground=0.0, surface=GRIPPY)
    run = simulate(scene, seconds=1.5, fps=20)
    assert run.clips[1].q is not None
    moved = run.clips[1].q[-1, 0] - run.clips[1].q[0, 0]
    assert moved > 0.2 if moves else moved < 0.03


def test_friction_carries_a_body_only_as_far_as_it_reaches() -> None:
    times = np.arange(0, 1.01, 0.01)
    ends = []
    for acceleration in (0.6 * 9.81, 0.4 * 9.81):  # friction is 0.5
        motion = PrescribedMotion(0.5 * acceleration * np.square(times[:40])[:, None], fps=100)
        platform = Actor(slider((2.0, 0.6, 0.1), 0.05), motion=motion, material=GRIPPY)
        rider = Actor(cube(), q=[0, 0, 0.1 + SIDE / 2, 0, 0, 0], material=GRIPPY)
        run = simulate(Scene([platform, rider]), seconds=0.39, fps=100)
        assert run.clips[0].q is not None
        assert run.clips[1].q is not None
        ends.append((run.clips[1].q[-1, 0], run.clips[0].q[-1, 0]))
    slipped, carried = ends
    assert slipped[0] == pytest.approx(0.5 * 0.5 * 9.81 * 0.39**2, rel=0.05)
    assert carried[0] == pytest.approx(carried[1], rel=0.03)


def test_two_driven_actors_of_one_name_get_their_own() -> None:
    body = slider((SIDE, SIDE, SIDE), 0.1)
    scene = Scene([Actor(body, motion=travel(1.0)), Actor(body, motion=travel(2.0))])
    assert [actor.name for actor in scene.named_actors] == ["slider", "slider-2"]


def test_a_driven_actor_can_be_given_another_motion() -> None:
    body = slider((SIDE, SIDE, SIDE), 0.1)
    simulator = Simulator(Scene([Actor(body, motion=travel(1.0))]), Variational(2), 0.1)
    state = simulator.step(simulator.initial_state())
    assert state.actors[0].phase.q == pytest.approx([0.1])
    simulator.drive("slider", travel(3.0))
    assert simulator.step(state).actors[0].phase.q == pytest.approx([0.6])
    with pytest.raises(InputError, match="no driven actor"):
        simulator.drive("crane", travel(1.0))


def test_wrong_motions_are_refused() -> None:
    body = slider((SIDE, SIDE, SIDE), 0.1)
    with pytest.raises(InputError, match="does not fit its body"):
        Actor(body, motion=PrescribedMotion(np.zeros((2, 3)), fps=10))
    with pytest.raises(InputError, match="no coordinate 'y'"):
        Actor(body, motion=travel(1.0, max_force={"y": 1.0}))
    with pytest.raises(InputError, match="takes no q"):
        Actor(body, motion=travel(1.0), q=[0.1])
    with pytest.raises(InputError, match="no link 'gripper'"):
        Actor(body, contact_links=("gripper",))


def test_only_chosen_links_touch() -> None:
    arm = load("kin4d_arm")
    fingers = Actor(arm, contact_links=("finger_left", "finger_right"), contacts=64)
    assert arm.skin is not None
    names = {
        arm.skin.names[i] for i in arm.skin.joints[fingers.collision.contact_points.corners].ravel()
    }
    assert names == {"finger_left", "finger_right"}
    assert len(fingers.collision.link_fields) == 2
    assert fingers.collision.size < 0.2 < Actor(arm).collision.size
