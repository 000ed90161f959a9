"""Whole runs: known motions, energy, limits, bad input."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import torch
from bending_bar import BendingBar
from scipy.spatial import Delaunay

from kin4d import Actor, FloatingBase, RigidBody, Scene, simulate
from kin4d.bodies.analytic import hinge, pendulum, slider_chain
from kin4d.bodies.inertial import Inertial
from kin4d.bodies.modal import ModalBody
from kin4d.bodies.robot.registry import load_robot
from kin4d.dynamics.forces import (
    Actuator,
    Damping,
    DragConstraint,
    Force,
    ForceTerms,
    Limits,
    Push,
    Spring,
    Torque,
    Wind,
)
from kin4d.dynamics.materials import Material
from kin4d.dynamics.simulation import DivergedError
from kin4d.errors import InputError
from kin4d.geometry.mesh import Mesh
from kin4d.geometry.primitives import box


def drift(run) -> float:
    """Largest change of energy, relative to the energy that is exchanged."""
    exchanged = np.ptp(sum(clip.diagnostics["kinetic"] for clip in run.clips))
    return float(np.abs(run.energy - run.energy[0]).max() / exchanged)


def test_a_small_pendulum_swings_with_its_period() -> None:
    run = simulate(Actor(pendulum(count=1, length=0.5), q=[0.01]), seconds=1.5, fps=240)
    time = run.clips[0].times
    expected = 0.01 * np.cos(np.sqrt(9.81 / 0.5) * time)
    np.testing.assert_allclose(run.clips[0].q[:, 0], expected, atol=2e-6)


@pytest.mark.parametrize(("order", "most"), [(2, 2e-3), (4, 1e-4)])
def test_a_double_pendulum_keeps_its_energy(order, most) -> None:
    run = simulate(Actor(pendulum(), q=[1.5, 0.3]), seconds=5, order=order)
    assert drift(run) < most


def test_the_orders_and_runge_kutta_agree() -> None:
    actor = Actor(pendulum(), q=[1.0, 0.3])
    ends = [
        simulate(actor, seconds=1, dt=dt, order=order).clips[0].q[-1]
        for order, dt in ((2, 1 / 240), (2, 1 / 480), (4, 1 / 240))
    ]
    reference = simulate(actor, seconds=1, dt=1 / 480, integrator="rk4").clips[0].q[-1]
    errors = [np.abs(end - reference).max() for end in ends]
    assert errors[0] / errors[1] == pytest.approx(4, rel=0.1)
    assert errors[2] < 0.05 * errors[0]


def test_other_schemes_gain_or_lose() -> None:
    actor = Actor(pendulum(), q=[1.5, 0.3])
    for scheme, least in (("semi_implicit", 1e-3), ("implicit_euler", 1e-2)):
        assert drift(simulate(actor, seconds=1, integrator=scheme)) > least


def spinning(qd) -> Actor:
    mesh = box((0.3, 0.2, 0.1))
    body = RigidBody(mesh, inertial=Inertial(1.0, np.zeros(3), np.diag([1.0, 2.0, 3.0]) * 1e-3))
    return Actor(FloatingBase(body), qd=[0.3, 0, 0, *qd], contacts=0)


def test_a_tumbling_body_keeps_momentum_and_flips() -> None:
    run = simulate(Scene([spinning((1e-3, 6.0, 0))], gravity=False), seconds=8)
    clip, body = run.clips[0], FloatingBase(RigidBody(box((0.3, 0.2, 0.1))))
    q = torch.from_numpy(clip.q)
    rotation = body.root_pose(q)[:, :3, :3].numpy()
    assert rotation[:, 1, 1].min() < -0.9, "the middle axis turns over (Dzhanibekov)"
    assert drift(run) < 1e-6 or np.ptp(run.energy) < 1e-8 * run.energy[0]
    np.testing.assert_allclose(clip.q[:, 0], 0.3 * clip.times, atol=1e-9)
    # Angular momentum, from finite rotations between frames an instant apart.
    assert np.linalg.norm(clip.q[:, 3:6], axis=1).max() < 3.4


def test_a_soft_body_bounces_between_smooth_limits_without_loss() -> None:
    actor = Actor(
        BendingBar(subdivisions=1),
        q=[1.2, 0.4, 0, 0],
        qd=[6, 0, 0, 0],
        forces=[Spring([5, 5, 5, 400], rest=np.zeros(4)), Limits(rate=30)],
        contacts=0,
    )
    run = simulate(actor, seconds=2)
    assert np.abs(run.clips[0].q[:, 0]).max() > 1.45, "it goes beyond where the limit sets in"
    assert drift(run) < 1e-4
    assert 0 < run.reduction_errors[0] < 1e-3


def test_a_plate_hung_by_a_corner_swings_over_to_the_other_side() -> None:
    x, y = (side.ravel() for side in np.meshgrid(*[np.linspace(0, 0.5, 6)] * 2))
    flat = Delaunay(np.column_stack([x, y]))
    mesh = Mesh(vertices=np.column_stack([x, y, 0 * x]), faces=flat.simplices, name="plate")
    plate = ModalBody.sheet(
        mesh, young=1e9, thickness=5e-3, density=500.0, modes=4, handles=36, pinned=[0]
    )
    run = simulate(Actor(plate, contacts=0), seconds=1.2)
    middle = run.clips[0].vertices.mean(1)
    lowest = int(middle[:, 2].argmin())
    reach = float(np.linalg.norm(middle[0]))
    assert middle[lowest, 2] == pytest.approx(-reach, rel=0.05)
    assert middle[lowest:, 2].max() > -0.3 * reach, "it comes up again on the other side"
    assert middle[lowest:, 0].min() < -0.5 * middle[0, 0]
    assert drift(run) < 1e-3


def test_with_a_tolerance_fast_turns_and_impacts_are_followed_closely() -> None:
    arm = pendulum(count=3, length=0.3)
    limits = Limits(restitution=0.0, bounds=[[-0.4, 3.0], [-3.0, 0.1], [-0.2, 0.2]])
    actor = Actor(arm, q=[1.5, -0.5, 0.1], forces=[limits], contacts=0)
    exact = simulate(actor, seconds=1, dt=1 / 480, tolerance=1e-8)
    coarse, fine = (simulate(actor, seconds=1, tolerance=t).clips[0] for t in (None, 1e-6))
    assert exact.clips[0].q is not None
    assert coarse.q is not None
    assert fine.q is not None
    assert np.abs(coarse.q - exact.clips[0].q).max() > 1e-3
    assert np.abs(fine.q - exact.clips[0].q).max() < 1e-4
    with pytest.raises(InputError, match="tolerance"):
        simulate(actor, seconds=1, tolerance=0.0)


def test_a_drawer_pushed_shut_stops() -> None:
    drawer = slider_chain(count=1)
    run = simulate(Actor(drawer, q=[0.3], qd=[-1.0]), seconds=1)
    np.testing.assert_allclose(run.clips[0].q[-30:, 0], 0, atol=1e-9)
    bouncing = Actor(drawer, q=[0.3], qd=[-1.0], forces=[Limits(restitution=0.5)])
    run = simulate(bouncing, seconds=0.5)
    assert run.clips[0].q[-1, 0] - run.clips[0].q[-2, 0] == pytest.approx(0.5 / 60, rel=1e-6)
    assert run.clips[0].q.min() > -1e-9


def test_pushes_give_their_impulse() -> None:
    body = FloatingBase(RigidBody(box((0.2, 0.2, 0.2)), density=125.0))
    push = Push((0, 0, 0.1), impulse=(0, 0, 2.0), start=0.013, duration=0.0517)
    run = simulate(Scene([Actor(body, forces=[push])], gravity=False), seconds=0.5)
    speed = (run.clips[0].q[-1, 2] - run.clips[0].q[-2, 2]) * 60
    assert speed == pytest.approx(2.0, rel=1e-9)


def test_torque_damping_and_servo() -> None:
    door = hinge(limits=(-np.inf, np.inf))
    run = simulate(Actor(door, forces=[Torque(0, 5.0)]), seconds=1)
    rate = np.diff(run.clips[0].q[:, 0]) * 60
    np.testing.assert_allclose(np.diff(rate) * 60, np.diff(rate).mean() * 60, rtol=1e-6)
    run = simulate(Actor(door, qd=[1.0], forces=[Damping(2.0)]), seconds=1)
    kinetic = run.clips[0].diagnostics["kinetic"]
    assert kinetic[-1] / kinetic[0] == pytest.approx(np.exp(-4), rel=1e-4)
    servo = Actuator(0, 0.8, gain=2000, damping=300)
    run = simulate(Actor(door, forces=[servo]), seconds=3)
    assert run.clips[0].q[-1, 0] == pytest.approx(0.8, abs=1e-3)


def test_a_point_with_a_position_target_is_there() -> None:
    body = pendulum(count=2, length=0.5)
    at = (0.0, 0.0, -1.0)
    drag = DragConstraint(at, lambda t: np.array([0.2 * np.sin(3 * t), 0, -0.95]), stiffness=None)
    start = Actor(body, q=[0.3175604, -0.6351208], forces=[drag], contacts=0)
    run = simulate(start, seconds=1)
    tip = run.clips[0].vertices[:, np.abs(body.rest.vertices - at).sum(1).argmin()]
    expected = 0.2 * np.sin(3 * run.clips[0].times)
    assert np.abs(tip[:, 0] - expected).max() < 0.08
    other = DragConstraint((0.0, 0.0, -0.5), (0.3, 0.0, -0.5), stiffness=None)
    with pytest.raises(DivergedError, match="contradict") as caught:
        simulate(Actor(body, forces=[drag, other]), seconds=1)
    assert len(caught.value.simulation.clips[0]) >= 1


def test_wind_drags_along() -> None:
    body = FloatingBase(RigidBody(box((0.5, 0.5, 0.01)), density=20.0))
    turned = Actor(body, forces=[Wind((0, 0, 3.0))])
    run = simulate(Scene([turned], gravity=False), seconds=1)
    speed = np.diff(run.clips[0].q[:, 2]) * 60
    assert 0.2 < speed[-1] < 3.0
    assert (np.diff(speed) > -1e-9).all()


@pytest.mark.parametrize("wrong", [{"dt": 0.0}, {"dt": -1.0}, {"dt": 0.5}, {"seconds": 0.0}])
def test_bad_times_are_refused(wrong) -> None:
    with pytest.raises(InputError, match=r"time step|seconds"):
        simulate(Actor(pendulum()), **{"seconds": 1.0, **wrong})


def test_bad_actors_are_refused() -> None:
    with pytest.raises(InputError, match="mass of"):
        Actor(pendulum(), mass=-1.0)
    with pytest.raises(InputError, match="unknown material"):
        Actor(pendulum(), material="butter")
    with pytest.raises(InputError, match=r"misses the object by 4\.75 m"):
        simulate(Actor(slider_chain(), forces=[Push((5, 0, 0), (1, 0, 0))]), seconds=1)
    with pytest.raises(InputError, match="integrator"):
        simulate(Actor(pendulum()), seconds=1, integrator="magic")  # pyright: ignore
    inside = Actor(FloatingBase(RigidBody(box((0.2, 0.2, 0.2)))))
    with pytest.raises(InputError, match="inside the ground"):
        simulate(Scene([inside], ground=0.0), seconds=1)


def test_a_diverging_run_keeps_its_frames() -> None:
    class Explosion(Force):
        def load(self, context):
            return ForceTerms(coordinates=np.full(2, np.nan if context.time > 0.1 else 0.0))

    with pytest.raises(DivergedError, match=r"step \d+ .*momentum|coordinates") as caught:
        simulate(Actor(pendulum(), forces=[Explosion()]), seconds=1)
    frames = caught.value.simulation.clips[0]
    assert 4 < len(frames) < 10
    assert np.isfinite(frames.q).all()


def test_scenes_merge_into_one_clip() -> None:
    falling = Actor(FloatingBase(RigidBody(box((0.1, 0.1, 0.1)))), material=Material(damping=0.0))
    floor = box((1, 1, 0.1))
    floor = floor.replace_vertices(floor.vertices - np.array([0, 0, 2.0]))
    falling = replace(falling, q=[2, 0, 0, 0, 0, 0])
    run = simulate(Scene([falling, pendulum()], obstacles=[floor]), seconds=0.1)
    clip = run.clip
    assert clip.q.shape == (7, 8)
    assert clip.skin is not None
    assert len(clip.mesh.vertices) == sum(len(c.mesh.vertices) for c in run.clips) + 8
    np.testing.assert_allclose(
        clip.skin.apply(clip.skin.transforms[-1], clip.mesh.vertices), clip.vertices[-1], atol=1e-5
    )
    assert run["pendulum"] is run.clips[1]


@pytest.mark.parametrize("speed", [20.0, 60.0])
def test_steps_that_are_compared_with_their_halves_are_not_made_of_them(speed: float) -> None:
    scene = Scene([Actor(pendulum(), q=[1.2, 0.8], qd=[speed, -2 * speed], contacts=0)])
    found = simulate(scene, seconds=0.1, fps=60, dt=1 / 60, tolerance=1e-8).clips[0]
    exact = simulate(scene, seconds=0.1, fps=60, dt=1 / 15_360).clips[0]
    assert np.abs(found.vertices - exact.vertices).max() < 1e-6


def test_an_arm_that_bounces_between_soft_limits_keeps_its_energy() -> None:
    # Steps that are halved at every bounce and not between them lose five times as much.
    arm = load_robot("kin4d_arm")
    low, high = arm.limits.numpy().T
    start = low + (high - low) * np.random.default_rng(0).uniform(0.2, 0.8, len(low))
    actor = Actor(arm, q=start, forces=[Limits(), Damping(0.0)], contacts=0)
    assert drift(simulate(actor, seconds=10, order=4)) < 1e-4
