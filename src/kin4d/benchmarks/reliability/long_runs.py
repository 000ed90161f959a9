"""Long runs: a million steps of simulation and ten thousand of an environment with flat memory and
no NaN, and two brackets that hang in each other."""

from __future__ import annotations

import os
import time
from pathlib import Path
from typing import Any

import numpy as np

from kin4d.benchmarks.report import Check, Report
from kin4d.dynamics.integrators import Variational
from kin4d.dynamics.scene import Actor, Scene
from kin4d.dynamics.simulator import Simulator
from kin4d.geometry.mesh import Mesh
from kin4d.geometry.primitives import box
from kin4d.progress import track

_STEP = 1 / 240
_GROWTH = 0.02  # of memory, from a tenth of the run to its end
_BAR = 0.02  # m, thickness of a bracket
_BOX = 8  # vertices of each of its bars, the crossbar first
_TURNS = (0.0, 15.0, 30.0, 45.0)  # degrees


def run(*, quick: bool, seed: int) -> Report:
    """Rows of simulation, environment and brackets; a hundredth of each if quick."""
    report = Report()
    _simulation(report, steps=10_000 if quick else 1_000_000)
    _environment(report, steps=100 if quick else 10_000, seed=seed)
    _brackets(report, seconds=0.1 if quick else 2.0)
    return report


def _simulation(report: Report, *, steps: int) -> None:
    """A pendulum without damping: all that a step makes must be let go."""
    from kin4d.bodies.analytic import pendulum

    body = pendulum()
    simulator = Simulator(Scene([Actor(body, q=body.q0.numpy() + 0.5)]), Variational(2), _STEP)
    state = simulator.initial_state()
    begun, first = time.process_time(), float(np.sum(simulator.energies(state)))
    memory, worst, finite = _Memory(), 0.0, True
    for number in track(range(steps), "stepping"):
        state = simulator.step(state)
        if number % (steps // 100) == 0:
            energy = float(np.sum(simulator.energies(state)))
            worst = max(worst, abs(energy - first))
            finite &= bool(np.isfinite(state.actors[0].phase.q).all())
            memory.note()
    # The energy that a fall from level to lowest sets free measures how much it may drift.
    scale = abs(first) + float(body.mass.sum()) * 9.81 * body.rest.bbox_diagonal
    row = {"long run": "simulation", "steps": steps, "finite": finite}
    row |= {"memory (MB)": memory.last / 1e6, "growth": memory.growth}
    row |= {"processor time (us/step)": 1e6 * (time.process_time() - begun) / steps}
    row |= {"energy drift": worst / scale}
    report.rows.append(row)
    report.checks += [
        Check(f"growth of memory over {steps} steps of simulation", memory.growth, _GROWTH),
        Check(
            f"of {steps} steps of simulation, coordinates that are not finite", int(not finite), 0
        ),
        Check(f"drift of energy over {steps} steps", worst / scale, 0.01),
    ]


def _environment(report: Report, *, steps: int, seed: int) -> None:
    """Random small actions, episode after episode."""
    from kin4d.envs import MUJOCO
    from kin4d.envs.env import make_task_env

    env: Any = make_task_env(MUJOCO, task="push", max_steps=100)
    rng, memory, finite, done = np.random.default_rng(seed), _Memory(), True, True
    begun = time.process_time()
    for number in track(range(steps), "acting"):
        if done:
            env.reset(seed=seed + number)
        action = rng.uniform(-0.01, 0.01, env.action_space.shape)
        observation, _, over, cut, _ = env.step(action)
        done = over or cut
        if number % max(steps // 100, 1) == 0:
            finite &= all(np.isfinite(one).all() for one in _numbers(observation))
            memory.note()
    env.close()
    row = {"long run": "environment", "steps": steps, "finite": finite}
    row |= {"memory (MB)": memory.last / 1e6, "growth": memory.growth}
    row |= {"processor time (us/step)": 1e6 * (time.process_time() - begun) / steps}
    report.rows.append(row)
    report.checks += [
        Check(f"growth of memory over {steps} steps of an environment", memory.growth, _GROWTH),
        Check(f"{steps} steps of an environment that meet NaN", int(not finite), 0),
    ]


def _numbers(observation: Any) -> list[np.ndarray]:
    values = observation.values() if isinstance(observation, dict) else [observation]
    return [one for one in values if isinstance(one, np.ndarray) and one.dtype.kind == "f"]


def bracket() -> Mesh:
    """A U of three bars, 0.2 m wide and 0.2 m high, open above."""
    bars = [box((0.2, _BAR, _BAR)).transformed(_moved(0.0, 0.0))]
    bars += [box((_BAR, _BAR, 0.2)).transformed(_moved(x, 0.11)) for x in (-0.09, 0.09)]
    return Mesh.concatenate(bars, name="bracket")


def _moved(x: float, z: float) -> np.ndarray:
    pose = np.eye(4)
    pose[[0, 2], 3] = x, z
    return pose


def _brackets(report: Report, *, seconds: float) -> None:
    """One bracket is fixed and open above; another, upside down and turned by a right angle and
    some degrees, falls 1 cm into it and hangs there."""
    for turn in _TURNS:
        report.rows.append(_hang(turn, steps=round(seconds / _STEP)))
    rows = report.rows[-len(_TURNS) :]
    slowest, gain, fallen = (
        max(row[what] for row in rows) for what in ("slowest step (s)", "energy gain", "fallen (m)")
    )
    report.checks += [
        Check("hooked brackets: slowest step, s of processor time", slowest, 0.1),
        Check("hooked brackets: energy gained, of that of the fall", gain, 0.05),
        Check("hooked brackets: fallen, m (2 cm more is through the other)", fallen, 0.015),
    ]


def _hang(turn: float, *, steps: int) -> dict[str, Any]:
    """The row of a start turned by `turn` degrees."""
    import kin4d

    cos, sin = np.cos(np.radians(turn)), np.sin(np.radians(turn))
    pose = np.array([[sin, -cos, 0, 0], [-cos, -sin, 0, 0], [0, 0, -1, _BAR + 0.01], [0, 0, 0, 1]])
    loose = kin4d.load(bracket(), body_type="rigid", material="steel", pose=pose)
    actor = Actor(loose, name="bracket", contacts=2048, contact_cells=60)
    scene = Scene([actor], obstacles=[bracket()], surface="steel")
    simulator = Simulator(scene, Variational(2), _STEP)
    state = simulator.step(simulator.initial_state())  # what is compiled, is compiled here
    state = simulator.initial_state()
    first = float(np.sum(simulator.energies(state)))
    slowest = gain = deepest = 0.0
    start = _height(loose, state)
    for _ in track(range(steps), "hanging"):
        begun = time.process_time()
        state = simulator.step(state)
        slowest = max(slowest, time.process_time() - begun)
        gain = max(gain, float(np.sum(simulator.energies(state))) - first)
        deepest = max(deepest, float(np.max(simulator.penetration(state))))
    scale = float(loose.mass.sum()) * 9.81 * 0.01  # of the fall by 1 cm
    row = {"long run": f"hooked brackets, turned by {turn:g} degrees", "steps": steps}
    row |= {"slowest step (s)": slowest, "energy gain": gain / scale}
    return row | {"penetration (m)": deepest, "fallen (m)": start - _height(loose, state)}


def _height(body: Any, state: Any) -> float:
    """Of the middle of the crossbar, m, however the bracket is tilted."""
    import torch

    q = torch.from_numpy(state.actors[0].phase.q)
    return float(body.vertices(q)[:_BOX, 2].mean())


class _Memory:
    """Resident bytes over a run."""

    def __init__(self) -> None:
        self._noted: list[int] = []

    def note(self) -> None:
        pages = int(Path("/proc/self/statm").read_text().split()[1])
        self._noted.append(pages * os.sysconf("SC_PAGE_SIZE"))

    @property
    def last(self) -> int:
        return self._noted[-1]

    @property
    def growth(self) -> float:
        """From a tenth of the run to its end."""
        return self.last / max(self._noted[: len(self._noted) // 10 + 1]) - 1
