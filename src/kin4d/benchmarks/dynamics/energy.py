"""Is energy kept? Long undamped runs, with the variational stepper and the usual ones beside it."""

from __future__ import annotations

import time
from collections.abc import Iterator

import numpy as np

from kin4d.benchmarks.dynamics.learned import learned_bodies
from kin4d.benchmarks.report import Check, Report
from kin4d.bodies.analytic import pendulum
from kin4d.bodies.body import Body
from kin4d.bodies.modal import ModalBody
from kin4d.bodies.robot.registry import load_robot
from kin4d.dynamics.forces import Damping, Force, Limits, Spring
from kin4d.dynamics.scene import Actor, Scene
from kin4d.dynamics.simulate import simulate
from kin4d.dynamics.simulation import DivergedError
from kin4d.geometry.primitives import box

STEP = 1 / 240
_SCHEMES = (
    ("variational", 4),
    ("variational", 2),
    ("rk4", 4),
    ("semi_implicit", 4),
    ("implicit_euler", 4),
)


def run(*, quick: bool, seed: int) -> Report:
    """One row for each body and integrator."""
    report = Report()
    steps = 1000 if quick else 10_000
    for name, is_learned, actor, gravity in _cases(quick, seed):
        for integrator, order in _SCHEMES:
            row = _row(actor, gravity, steps, integrator, order)
            report.rows.append({"body": name, **row})
            if integrator != "variational" or order != 4:
                continue
            whose = "learned body" if is_learned else name
            report.checks += [
                Check(
                    f"energy of {whose} over {steps} steps, of what is exchanged",
                    row["largest |dE|"],
                    1e-3,
                ),
                Check(f"growth of that error, {whose}: second half over first", row["growth"], 1.5),
            ]
    report.notes.append(
        "No damping, steps of 1/240 s. |dE| is the largest departure of the total energy from its "
        "start, over the largest kinetic energy. Growth compares the largest in the second half "
        "of a run with that in the first: 1 is none. Errors below 1e-9 count as that."
    )
    return report


def _cases(quick: bool, seed: int) -> Iterator[tuple[str, bool, Actor, bool]]:
    """Name, whether it is learned, the actor away from rest, and whether gravity acts."""
    rng = np.random.default_rng(seed)
    yield "double pendulum", False, _still(pendulum(), np.array([1.2, 0.8]), ()), True
    mesh = box((0.5, 0.1, 0.06), name="bar")
    bar = ModalBody.solid(mesh, young=2e5, density=1000.0, modes=3, pinned=_left(mesh))
    start = 0.25 * bar.limits[:, 1].numpy() * rng.uniform(-1, 1, len(bar.q0))
    yield "elastic bar", False, _still(bar, start, (Spring(bar.stiffness.numpy()),)), True
    arm = load_robot("kin4d_arm")
    low, high = arm.limits.numpy().T
    start = low + (high - low) * rng.uniform(0.2, 0.8, len(low))
    yield "arm against soft limits", False, _still(arm, start, (Limits(),)), True
    for body, spring in learned_bodies(1 if quick else 3, seed=seed):
        start = body.q0.numpy() + 0.3 * rng.uniform(-1, 1, len(body.q0))
        yield f"learned {body.rest.name}", True, _still(body, start, (spring,)), True


def _still(body: Body, q: np.ndarray, forces: tuple[Force, ...]) -> Actor:
    return Actor(body, q=q, forces=[*forces, Damping(0.0)], contacts=0)


def _left(mesh) -> np.ndarray:
    return np.flatnonzero(mesh.vertices[:, 0] < mesh.bounds[0, 0] + 1e-6)


def _row(actor: Actor, gravity: bool, steps: int, integrator, order: int) -> dict:
    started = time.perf_counter()
    diverged = False
    try:
        run = simulate(
            Scene([actor], gravity=gravity),
            seconds=steps * STEP,
            dt=STEP,
            fps=60,
            integrator=integrator,
            order=order,
        )
    except DivergedError as error:
        run, diverged = error.simulation, True
    seconds = time.perf_counter() - started
    exchanged = max(float(run.clips[0].diagnostics["kinetic"].max()), 1e-12)
    drift = abs(run.energy - run.energy[0]) / exchanged
    half = max(len(drift) // 2, 1)
    first, last = drift[:half].max(), drift[-half:].max()
    return {
        "integrator": integrator if integrator != "variational" else f"variational, order {order}",
        "largest |dE|": np.inf if diverged else float(drift.max()),
        "dE at the end": np.inf
        if diverged
        else float((run.energy[-1] - run.energy[0]) / exchanged),
        "growth": np.inf if diverged else float(max(last, 1e-9) / max(first, 1e-9)),
        "ms per step": 1e3 * run.wall_seconds / max(run.steps, 1),
        "seconds": seconds,
    }
