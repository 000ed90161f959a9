"""Simulator: steps all actors of a scene together. A step is a function from state to state."""

from __future__ import annotations

from collections.abc import Mapping
from math import isfinite

import numpy as np

from kin4d.dynamics.compiled_actor import CompiledActor, DivergedStep
from kin4d.dynamics.config import ContactConfig, StepConfig
from kin4d.dynamics.contact.detector import ContactDetector
from kin4d.dynamics.contact.solver import ContactSolver, PositionSolution
from kin4d.dynamics.driven_actor import DrivenActor
from kin4d.dynamics.integrators import Integrator
from kin4d.dynamics.motion import PrescribedMotion
from kin4d.dynamics.phase_state import PhaseState
from kin4d.dynamics.scene import Scene
from kin4d.dynamics.scene_state import (
    PHASE_ARRAYS,
    ActorState,
    Halving,
    SceneState,
    WarmStart,
)
from kin4d.dynamics.total_forces import TotalForces
from kin4d.errors import InputError


class Simulator:
    """A scene made ready to step. It keeps no state: `step` takes one and returns the next.

    Args:
        scene: Actors, forces, ground and obstacles.
        integrator: How to step.
        h: Seconds per step.
        tolerance: How far, relative to an actor's size, a step and its two halves may end apart
            before it is halved; None to halve none.
        steps: How steps are checked and halved.
        contact: How contacts are found and solved.
    """

    def __init__(
        self,
        scene: Scene,
        integrator: Integrator,
        h: float,
        tolerance: float | None = None,
        *,
        steps: StepConfig | None = None,
        contact: ContactConfig | None = None,
    ) -> None:
        self.scene, self.integrator, self.h, self.tolerance = scene, integrator, h, tolerance
        self._steps, self._contact = steps or StepConfig(), contact or ContactConfig()
        shared = scene.shared_forces
        self.actors = [
            DrivenActor(actor, self._steps)
            if actor.motion is not None
            else CompiledActor(
                actor,
                actor.all_forces(shared),
                self._steps,
                halve=tolerance is None,
                touches=scene.can_touch,
            )
            for actor in scene.named_actors
        ]
        self._no_contacts = np.zeros(len(self.actors), np.int64)
        self._detector = ContactDetector(scene, self.actors, self._contact)
        self._solver = ContactSolver(
            self._detector, self.actors, self._contact, h=h, tolerance=tolerance
        )
        self._detector.check_overlap(self.initial_state().actors)

    def drive(self, name: str, motion: PrescribedMotion) -> None:
        """Give a driven actor another motion, from its next step on.

        Its times are those of the scene, and it limits the forces of the same coordinates.
        """
        for actor in self.actors:
            if actor.name == name and isinstance(actor, DrivenActor):
                actor.motion = motion
                return
        driven = [actor.name for actor in self.actors if isinstance(actor, DrivenActor)]
        raise InputError(
            "there is no driven actor of this name", value=name, allowed=", ".join(driven) or "none"
        )

    def initial_state(self) -> SceneState:
        """The scene's start."""
        window = (0.0, 0.5 * self.h)
        return SceneState(
            time=0.0,
            force_window=window,
            actors=tuple(
                ActorState(actor.start, self._forces(actor, actor.start, 0.0, window), Halving())
                for actor in self.actors
            ),
            warm_starts=self._detector.no_impulses,
            contact_counts=self._no_contacts,
        )

    def from_arrays(self, arrays: Mapping[str, np.ndarray]) -> SceneState:
        """The state that `SceneState.to_arrays` gave; of the same scene, or an `InputError`."""
        # Targets and damping come and go, so forces are not compared.
        expected = {
            name: array.shape
            for name, array in self.initial_state().to_arrays().items()
            if "/forces/" not in name
        }
        wrong = [
            name
            for name, shape in expected.items()
            if name not in arrays or arrays[name].shape != shape
        ]
        if wrong or f"pair{len(self._detector.pairs)}" in arrays:
            raise InputError(
                "the saved state is of another scene",
                value=", ".join(wrong) or "more pairs of shapes",
                allowed="the state of a scene with the same actors, obstacles and ground",
                hint="make the simulator with the scene that the state was saved from",
            )
        time, *window = arrays["time"].tolist()
        states = []
        for i, actor in enumerate(self.actors):
            phase = PhaseState.from_arrays(
                actor.kinematics, tuple(arrays[f"actor{i}/{name}"] for name in PHASE_ARRAYS)
            )
            prefix = f"actor{i}/forces/"
            forces = TotalForces.from_arrays(
                {
                    name.removeprefix(prefix): array
                    for name, array in arrays.items()
                    if name.startswith(prefix)
                }
            )
            states.append(ActorState(phase, forces, Halving(*arrays["halving"][i].tolist())))
        return SceneState(
            time=time,
            force_window=(window[0], window[1]),
            actors=tuple(states),
            warm_starts=tuple(
                WarmStart(*arrays[f"pair{i}"]) for i in range(len(self._detector.pairs))
            ),
            contact_counts=arrays["contact_counts"],
        )

    def step(self, state: SceneState) -> SceneState:
        """The state `h` seconds later; `DivergedStep` if there is none."""
        return self._refined(state, self.h, self._trial(state, self.h), 0)

    def _refined(
        self, start: SceneState, h: float, one: SceneState | DivergedStep, depth: int
    ) -> SceneState:
        """h seconds after `start`: `one`, where a single step leads, or likewise in two halves."""
        if self.tolerance is None or depth == self._steps.max_tolerance_halvings:
            if isinstance(one, DivergedStep):
                raise one
            return one
        half = self._trial(start, 0.5 * h)
        if isinstance(one, SceneState) and isinstance(half, SceneState):
            two = self._trial(half, 0.5 * h)
            if isinstance(two, SceneState) and self._distance(one, two) <= self.tolerance:
                return two
        middle = self._refined(start, 0.5 * h, half, depth + 1)
        return self._refined(middle, 0.5 * h, self._trial(middle, 0.5 * h), depth + 1)

    def _trial(self, start: SceneState, h: float) -> SceneState | DivergedStep:
        """One step of all actors, or why it failed."""
        time, states = start.time, start.actors
        if start.force_window[1] != 0.5 * h:
            states = [
                ActorState(
                    state.phase,
                    self._forces(actor, state.phase, time, (0.0, 0.5 * h)),
                    state.halving,
                )
                for actor, state in zip(self.actors, states, strict=True)
            ]
        try:
            begun = [self.integrator.begin(state, h) for state in states]
            moved, warm_starts, counts = self._resolve(begun, time, h, start.warm_starts)
            window = (0.5 * h, 0.5 * h if self.tolerance is None else 0.0)
            ended = []
            for actor, state in zip(self.actors, moved, strict=True):
                phase = actor.rewrap(state.phase)
                forces = self._forces(actor, phase, time + h, window)
                ended.append(self.integrator.end(ActorState(phase, forces, state.halving), h))
                _check_finite(actor, ended[-1].phase)
        except DivergedStep as problem:
            return problem
        return SceneState(time + h, window, tuple(ended), warm_starts, counts)

    def _resolve(
        self, begun: list[ActorState], time: float, h: float, warm_starts: tuple[WarmStart, ...]
    ) -> tuple[list[ActorState], tuple[WarmStart, ...], np.ndarray]:
        """Where a step ends with constraints respected, warm starts, and numbers of contacts."""
        free = [self._move(*pair, time, h) for pair in zip(self.actors, begun, strict=True)]
        moved, solution = free, None
        for _ in range(self._contact.iterations):
            solution = self._solver.solve_positions(begun, moved, time, h, warm_starts, solution)
            if solution.rows is None:
                return moved, solution.warm_starts, self._no_contacts
            if not solution.rows.impulse.any():
                moved = free
                break
            moved = self._repeated(begun, free, solution, time, h)
            if self._solver.violation(moved) < self._solver.near:
                break
        assert solution is not None
        self._solver.check_targets(moved)
        return self._solver.solve_velocities(solution, moved)

    def _repeated(
        self,
        begun: list[ActorState],
        free: list[ActorState],
        solution: PositionSolution,
        time: float,
        h: float,
    ) -> list[ActorState]:
        """The step again, with impulses at its start; `free` for actors without."""
        out = []
        for i, columns in enumerate(self._solver.columns):
            impulse = solution.impulse[columns]
            if impulse.any():
                pushed = self.actors[i].pushed(begun[i], impulse)
                out.append(self._move(self.actors[i], pushed, time, h))
            else:
                out.append(free[i])
        return out

    def _move(self, actor: CompiledActor, state: ActorState, time: float, h: float) -> ActorState:
        if isinstance(actor, DrivenActor):
            return actor.follow(state, time, h)
        moved = self.integrator.move(actor, state, time, h)
        if moved is None:
            raise DivergedStep(f"no solution for the coordinates of '{actor.name}'")
        return moved

    def _distance(self, one: SceneState, two: SceneState) -> float:
        """How far mass points are apart in two states, at worst, relative to an actor's size."""
        worst = 0.0
        for actor, *pair in zip(self.actors, one.actors, two.actors, strict=True):
            points, velocities = zip(*map(actor.mass_point_motion, pair), strict=True)
            gap = np.linalg.norm(points[0] - points[1], axis=1)
            gap += self._steps.velocity_horizon * np.linalg.norm(
                velocities[0] - velocities[1], axis=1
            )
            worst = max(worst, float(gap.max()) / actor.size)
        return worst

    def _forces(
        self, actor: CompiledActor, phase: PhaseState, time: float, window: tuple[float, float]
    ) -> TotalForces:
        """What acts from window[0] seconds before `time` until window[1] seconds after it."""
        before, after = window
        span = (max(time - before, 0.0), time + after)
        return actor.forces_at(phase, time, span=span, ahead=(time, time + 2 * after))

    def energies(self, state: SceneState) -> list[tuple[float, float]]:
        """Kinetic and potential energy (J) of each actor; `DivergedStep` if one has exploded."""
        out = []
        for actor, (phase, forces) in zip(
            self.actors, ((one.phase, one.forces) for one in state.actors), strict=True
        ):
            kinetic = 0.5 * float(phase.p @ phase.velocity)
            speed = np.sqrt(2 * kinetic / actor.kinematics.mass.sum())
            if not speed < self._steps.max_speed * max(1.0, actor.size):
                raise DivergedStep(f"the kinetic energy of '{actor.name}' is {kinetic:.3g} J")
            out.append((kinetic, forces.energy))
        return out

    def penetration(self, state: SceneState) -> np.ndarray:
        """[actors] m by which each is inside something; 0 if nowhere."""
        return self._detector.penetration(state.actors, state.warm_starts)


def _check_finite(actor: CompiledActor, phase: PhaseState) -> None:
    """Raise `DivergedStep` if a quantity is not finite."""
    if isfinite(phase.q @ phase.q + phase.p @ phase.p):
        return
    for what, values in (("coordinates", phase.q), ("momentum", phase.p)):
        if not np.isfinite(values).all():
            coordinate = actor.actor.body.coordinates[int((~np.isfinite(values)).argmax())]
            raise DivergedStep(f"{what} of '{actor.name}' are not finite, first '{coordinate}'")
