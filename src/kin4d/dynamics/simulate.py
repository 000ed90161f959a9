"""simulate: let a scene run. The whole of the mechanics behind one function.

    from kin4d import Actor, Scene, simulate
    from kin4d.bodies.analytic import hinge
    from kin4d.dynamics.forces import Push

    door = Actor(hinge(), forces=[Push((0.7, 0, 1), force=(0, 20, 0), duration=0.2)])
    run = simulate(Scene([door], ground=0.0), seconds=3)
    run.clip.save("door.npz")            # everything, to render and export
    run.clips[0].q                       # [T, k] of the first actor
    run.energy                           # [T] joules

`Actor` and `Scene` (scene.py) are what is simulated; forces/ what acts, each a small class with a
method ``load(context)``; materials.py the presets. kinematics/compiled evaluates bodies in plain
arrays; variational_step.py is the step, integrators.py others to compare with; contact/ keeps
shapes apart. `Simulator` maps a `SceneState` to the next one. `Simulation` (simulation.py) is the
result: `clips` per actor with diagnostics "kinetic", "potential", "contacts", "penetration", one
merged `clip`, `real_time_factor`, `reduction_errors`. A run that fails raises `DivergedError`,
whose `simulation` holds the frames so far.
"""

from __future__ import annotations

import time
from dataclasses import replace
from typing import Literal

import numpy as np
import torch

from kin4d.bodies.body import bake
from kin4d.dynamics.compiled_actor import CompiledActor, DivergedStep
from kin4d.dynamics.config import ContactConfig, StepConfig
from kin4d.dynamics.integrators import INTEGRATORS, Variational
from kin4d.dynamics.scene import Actor, Scene
from kin4d.dynamics.scene_state import SceneState
from kin4d.dynamics.simulation import DivergedError, Simulation
from kin4d.dynamics.simulator import Simulator
from kin4d.errors import InputError

LONGEST_STEP = 1 / 30


def simulate(
    scene: Scene | Actor,
    *,
    seconds: float,
    dt: float = 1 / 240,
    fps: float = 60.0,
    integrator: Literal["variational", "rk4", "semi_implicit", "implicit_euler"] = "variational",
    order: int | None = None,
    tolerance: float | None = None,
    steps: StepConfig | None = None,
    contact: ContactConfig | None = None,
) -> Simulation:
    """Let a scene run.

    Args:
        scene: What takes part; one actor alone is a scene with gravity and nothing else.
        seconds: How long.
        dt: Longest step (s); it is shortened so that frames fall on steps.
        fps: Frames per second of the result; the first frame is the start.
        integrator: "variational" unless to compare.
        order: 4 or 2, of the variational integrator: 2 takes a third of the time and follows the
            motion less closely. By default 4, and 2 for skeletons and for elastic bodies that may
            touch something: their limits would make steps of fourth order hundreds of times
            shorter. Bodies that cannot be compiled always take 2.
        tolerance: How far, relative to its size, an actor may be after one step from where two
            half ones lead; steps are halved until that holds, most at fast rotations and impacts.
            Without it a step is halved only where the motion curves too much, in a third of the
            time.
        steps: How steps are checked and halved.
        contact: How contacts are found and solved.

    Raises:
        DivergedError: With the frames so far.
    """
    scene = scene if isinstance(scene, Scene) else Scene([scene])
    for what, value in (("seconds", seconds), ("fps", fps), ("tolerance", tolerance)):
        if value is not None and not (np.isfinite(value) and value > 0):
            raise InputError(f"{what} of a simulation", value=value, allowed="> 0")
    if not (np.isfinite(dt) and 0 < dt <= LONGEST_STEP):
        raise InputError(
            "time step of a simulation", value=dt, allowed=f"seconds, > 0 and <= {LONGEST_STEP:.4f}"
        )
    if integrator not in INTEGRATORS:
        raise InputError("unknown integrator", value=integrator, allowed=", ".join(INTEGRATORS))
    scheme = Variational(order) if integrator == "variational" else INTEGRATORS[integrator]()
    per_frame = max(1, int(np.ceil(1 / (fps * dt) - 1e-9)))
    frames = round(seconds * fps) + 1
    simulator = Simulator(
        scene, scheme, 1 / (fps * per_frame), tolerance, steps=steps, contact=contact
    )
    state, recorder = simulator.initial_state(), _Recorder(simulator, fps)
    recorder.add(state)
    started, count = time.perf_counter(), 0
    for _ in range(frames - 1):
        try:
            for _ in range(per_frame):
                state = simulator.step(state)
                count += 1
            recorder.add(state)
        except DivergedStep as problem:
            wall = time.perf_counter() - started
            partial = recorder.simulation(count, wall)
            raise DivergedError(
                str(problem), step=count, time=state.time, simulation=partial
            ) from None
    return recorder.simulation(count, time.perf_counter() - started)


class _Recorder:
    """Frames as they come; vertices are decoded only at the end."""

    def __init__(self, simulator: Simulator, fps: float) -> None:
        self.simulator, self.fps = simulator, fps
        self.q: list[list[np.ndarray]] = [[] for _ in simulator.actors]
        self.rows: list[list[tuple[float, ...]]] = [[] for _ in simulator.actors]

    def add(self, state: SceneState) -> None:
        energies = self.simulator.energies(state)
        penetration = self.simulator.penetration(state)
        for i, actor in enumerate(state.actors):
            self.q[i].append(actor.phase.q)
            counts = (float(state.contact_counts[i]), float(penetration[i]))
            self.rows[i].append((*energies[i], *counts))

    def simulation(self, steps: int, wall: float) -> Simulation:
        names = ("kinetic", "potential", "contacts", "penetration")
        actors, clips = self.simulator.actors, []
        for actor, q, rows in zip(actors, self.q, self.rows, strict=True):
            tracks = dict(zip(names, np.array(rows).T.copy(), strict=True))
            clip = bake(actor.actor.body, np.array(q), fps=self.fps)
            clips.append(replace(clip, diagnostics=tracks))
        return Simulation(
            clips=tuple(clips),
            names=tuple(actor.name for actor in actors),
            obstacles=tuple(self.simulator.scene.obstacles),
            dt=self.simulator.h,
            steps=steps,
            wall_seconds=wall,
            reduction_errors=tuple(
                _reduction_error(actor, q) for actor, q in zip(actors, self.q, strict=True)
            ),
        )


def _reduction_error(actor: CompiledActor, track: list[np.ndarray], *, most: int = 24) -> float:
    """Metres (root mean square) between compiled and true mass points, along the motion."""
    if actor.kinematics.error == 0:
        return 0.0
    squares = []
    for q in track[:: max(1, len(track) // most)]:
        with torch.no_grad():
            true = actor.actor.body.points(torch.from_numpy(q)).numpy()
        squares.append(np.square(actor.kinematics.at(q).mass_points - true).sum(-1).mean())
    return float(np.sqrt(np.mean(squares)))
