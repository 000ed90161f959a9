"""Ragdolls: skeletons in skins fall, keep their energy where nothing takes it, and are fast."""

from __future__ import annotations

import time

import numpy as np
import pytest
import torch
from toy_creature import toy_creature

from kin4d import Actor, FloatingBase, Scene, simulate
from kin4d.bodies.creature.build import CreatureConfig, skeletal_body
from kin4d.dynamics.forces import Damping, Limits
from kin4d.dynamics.integrators import Variational
from kin4d.dynamics.simulator import Simulator
from kin4d.geometry.sampling import sample_surface
from kin4d.kinematics.compiled.compiled_kinematics import compile_kinematics


@pytest.fixture(scope="module")
def creature() -> FloatingBase:
    return FloatingBase(skeletal_body(toy_creature(), mass=3.0, config=CreatureConfig(voxels=8000)))


def test_kinetic_energy_of_a_skin_is_exact_in_four_rows_a_bone(creature: FloatingBase) -> None:
    samples = sample_surface(creature.rest, 40, seed=3)
    kinematics = compile_kinematics(creature, samples)
    rng = np.random.default_rng(1)
    q = creature.q0.numpy() + 0.2 * rng.normal(size=len(creature.q0))
    at, state = kinematics.at(q), torch.from_numpy(q)
    jacobian = creature.jacobian(state).numpy()
    mass = np.einsum("pik,p,pil->kl", jacobian, creature.mass.numpy(), jacobian)
    np.testing.assert_allclose(at.jacobian.T @ at.jacobian, mass, atol=1e-10 * mass.max())
    np.testing.assert_allclose(at.mass_points, creature.points(state).numpy(), atol=1e-9)
    assert creature.skin is not None
    assert len(at.y) <= 12 * len(creature.skin.names)
    # A force on the mass points does the same work on y.
    force, qd = rng.normal(size=(len(jacobian), 3)), rng.normal(size=len(q))
    work = float(np.einsum("pi,pik,k->", force, jacobian, qd))
    assert kinematics.pull_back(force) @ (at.jacobian @ qd) == pytest.approx(work, rel=1e-9)
    points, slopes = kinematics.points_and_jacobians(at, np.arange(40))
    true = samples.points(creature.vertices(state).numpy())
    np.testing.assert_allclose(points, true, atol=1e-9)
    ahead = kinematics.at(q + 1e-6 * qd).surface_points
    np.testing.assert_allclose((ahead - points) / 1e-6, slopes @ qd, atol=1e-4)


def test_limbs_that_swing_freely_keep_their_energy(creature: FloatingBase) -> None:
    k = len(creature.q0)
    qd = np.zeros(k)
    qd[6:] = np.random.default_rng(0).normal(0, 0.5, k - 6)
    free = Limits(bounds=np.tile([-np.inf, np.inf], (k, 1)))
    actor = Actor(creature, qd=qd, forces=[Damping(0.0), free], contacts=0)
    run = simulate(Scene([actor], gravity=False), seconds=1.0, fps=60)
    q = run.clips[0].q
    assert q is not None
    assert np.abs(q[-1, 6:]).max() > 0.3
    assert np.abs(run.energy / run.energy[0] - 1).max() < 0.01


def test_limits_and_friction_never_add_energy(creature: FloatingBase) -> None:
    k = len(creature.q0)
    qd = np.zeros(k)
    qd[6:] = np.random.default_rng(0).normal(0, 2.0, k - 6)
    scene = Scene([Actor(creature, qd=qd, contacts=0)], gravity=False)
    run = simulate(scene, seconds=1.5, fps=60)
    low, high = creature.limits.numpy()[6:].T
    q = run.clips[0].q
    assert q is not None
    assert ((q[:, 6:] < low) | (q[:, 6:] > high)).any()  # limits turn some round
    assert run.energy[-1] < 0.5 * run.energy[0]
    assert np.diff(run.energy).max() < 0.01 * run.energy[0]


def test_joints_come_to_rest_and_falling_does_not(creature: FloatingBase) -> None:
    qd = np.zeros(len(creature.q0))
    qd[0], qd[6:] = 1.0, 1.0
    run = simulate(Scene([Actor(creature, qd=qd, contacts=0)], gravity=False), seconds=2, fps=30)
    kinetic = run.clips[0].diagnostics["kinetic"]
    momentum = float(creature.mass.sum())
    velocity = (run.clips[0].vertices[-1] - run.clips[0].vertices[-2]).mean(0) * 30
    assert kinetic[-1] < kinetic[0]
    assert kinetic[-1] > 0.4 * momentum  # it flies on: 1/2 m v^2
    assert velocity[0] > 0.7


def test_a_ragdoll_falls_within_its_limits_and_fast(creature: FloatingBase) -> None:
    floor = float(creature.rest.bounds[0, 2]) - 0.3
    scene = Scene([creature], ground=floor)
    simulator = Simulator(scene, Variational(None), 1 / 120)
    state = simulator.step(simulator.initial_state())  # compiles
    begin = time.process_time()
    for _ in range(120):
        state = simulator.step(state)
    assert time.process_time() - begin < 5.0  # about one; fifty with steps of fourth order
    low, high = creature.limits.numpy()[6:].T
    q = state.actors[0].phase.q[6:]
    assert ((q > low - 0.6) & (q < high + 0.6)).all()
    assert simulator.penetration(state)[0] < 0.05
    assert state.contact_counts[0] > 0


def test_the_order_can_still_be_chosen(creature: FloatingBase) -> None:
    stiff = Actor(creature, forces=[Limits(rate=20.0)], contacts=0)
    second, fourth, default = (
        simulate(Scene([stiff]), order=order, seconds=1 / 30, fps=30.0).clips[0].vertices
        for order in (2, 4, None)
    )
    np.testing.assert_array_equal(second, default)
    np.testing.assert_allclose(second, fourth, atol=1e-3)
