"""simulate: let a scene run. The whole of the mechanics behind one function.

    from kin4d import Actor, Scene, simulate
    from kin4d.bodies.analytic import hinge
    from kin4d.dynamics.forces import Push

    door = Actor(hinge(), forces=[Push((0.7, 0, 1), force=(0, 20, 0), duration=0.2)])
    run = simulate(Scene([door], ground=0.0), seconds=3)
    run.clip.save("door.npz")            # everything, to render and export
    run.clips[0].q                       # [T, k] of the first actor
    run.energy                           # [T] joules

What is where: `Actor` and `Scene` (scene.py) say what takes part; forces/ what acts, each a small
object with a method ``load(state)``; materials.py the presets; boundary.py finds (q, qd) from
given positions and velocities; kinematics/compiled compiles bodies to plain arrays; variational_step.py holds the
variational step, integrators.py the others beside it; contact/ keeps things apart; `Simulation`
(simulation.py) is the result: `clips` per actor with diagnostics "kinetic", "potential",
"contacts", "penetration", one merged `clip`, `real_time_factor`, `map_errors`. A run that fails
raises `DivergedError`, whose `simulation` holds the frames so far.
"""

from __future__ import annotations

import time
from dataclasses import replace
from typing import Literal

import numpy as np
import torch

from kin4d.bodies.body import bake
from kin4d.dynamics.actor_state import ActorState, DivergedStep
from kin4d.dynamics.integrators import INTEGRATORS, Variational
from kin4d.dynamics.scene import Actor, Scene
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
    order: int = 4,
    tolerance: float | None = None,
) -> Simulation:
    """Let a scene run.

    Args:
        scene: What takes part; one actor alone is a scene with gravity and nothing else.
        seconds: How long.
        dt: Longest step (s); it is shortened so that frames fall on steps.
        fps: Frames per second of the result; the first frame is the start.
        integrator: "variational" unless to compare.
        order: 4 or 2, of the variational integrator: 2 costs a third of the flow's time and
            follows the motion less closely. Bodies that are asked directly always take 2.
        tolerance: How far, of its size, a thing may be after one step from where two half ones
            lead; steps are halved until that holds, most at fast turns and impacts. Without it
            a step is halved only where the motion curves too much, in a third of the time.

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
    world = Simulator(scene, scheme, 1 / (fps * per_frame), tolerance)
    record = _Record(world, fps)
    started, steps = time.perf_counter(), 0
    for _ in range(frames - 1):
        try:
            for _ in range(per_frame):
                world.step()
                steps += 1
            record.add()
        except DivergedStep as problem:
            wall = time.perf_counter() - started
            partial = record.simulation(steps, wall)
            raise DivergedError(
                str(problem), step=steps, time=world.time, simulation=partial
            ) from None
    return record.simulation(steps, time.perf_counter() - started)


class _Record:
    """Frames as they come; vertices are decoded only at the end."""

    def __init__(self, world: Simulator, fps: float) -> None:
        self.world, self.fps = world, fps
        self.q: list[list[np.ndarray]] = [[] for _ in world.movers]
        self.rows: list[list[tuple[float, ...]]] = [[] for _ in world.movers]
        self.add()

    def add(self) -> None:
        contacts = self.world.contacts
        energies, deepest = self.world.energies(), contacts.deepest()
        for i, mover in enumerate(self.world.movers):
            self.q[i].append(mover.phase.q.copy())
            self.rows[i].append((*energies[i], float(contacts.counts[i]), float(deepest[i])))

    def simulation(self, steps: int, wall: float) -> Simulation:
        names = ("kinetic", "potential", "contacts", "penetration")
        clips = []
        for mover, q, rows in zip(self.world.movers, self.q, self.rows, strict=True):
            tracks = dict(zip(names, np.array(rows).T.copy(), strict=True))
            clips.append(
                replace(bake(mover.actor.body, np.array(q), fps=self.fps), diagnostics=tracks)
            )
        return Simulation(
            clips=tuple(clips),
            names=tuple(mover.actor.name for mover in self.world.movers),
            obstacles=tuple(self.world.scene.obstacles),
            dt=self.world.h,
            steps=steps,
            wall_seconds=wall,
            map_errors=tuple(
                _map_error(mover, q) for mover, q in zip(self.world.movers, self.q, strict=True)
            ),
        )


def _map_error(mover: ActorState, track: list[np.ndarray], *, most: int = 24) -> float:
    """Metres (root mean square) between compiled and true mass points, along the motion."""
    if mover.map.error == 0:
        return 0.0
    squares = []
    for q in track[:: max(1, len(track) // most)]:
        with torch.no_grad():
            true = mover.actor.body.points(torch.from_numpy(q)).numpy()
        squares.append(np.square(mover.map.points(q, mover.map.embed(q)[0]) - true).sum(-1).mean())
    return float(np.sqrt(np.mean(squares)))
