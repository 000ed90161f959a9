"""LiveSimulation: a scene that steps in real time while a hand pulls at it."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from kin4d.bodies.body import Body, bake
from kin4d.bodies.capabilities import FloatingRoot, modal_stiffness
from kin4d.dynamics.compiled_actor import DivergedStep
from kin4d.dynamics.forces import Damping, Force, Spring
from kin4d.dynamics.integrators import Variational
from kin4d.dynamics.scene import Actor, Scene
from kin4d.dynamics.simulation import merge_clips
from kin4d.dynamics.simulator import Simulator
from kin4d.errors import Kin4dError
from kin4d.geometry.clip import Clip
from kin4d.geometry.sampling import SurfaceSamples
from kin4d.viewer.live_forces import LiveHold, LivePull

STEP = 1 / 120
RECORDED_FPS = 30
MOST_FRAMES = 60 * RECORDED_FPS


class LiveDivergedError(Kin4dError):
    """A live simulation that diverged; it stands at its last good state."""


@dataclass(frozen=True)
class Frame:
    """One recorded instant.

    Attributes:
        time: Seconds.
        q: Coordinates of every actor.
        kinetic: J.
        potential: J.
    """

    time: float
    q: tuple[np.ndarray, ...]
    kinetic: float
    potential: float


class LiveSimulation:
    """A scene and its state. Not for several threads at once.

    Args:
        scene: What takes part.
        step: Seconds per step, at most.

    Attributes:
        scene: As given.
        frames: What was recorded, `RECORDED_FPS` a second, the last minute.
        real_time_factor: Simulated seconds per second of computing, lately.
    """

    def __init__(self, scene: Scene, *, step: float = STEP) -> None:
        self.scene = scene
        self._pulls = [LivePull() for _ in scene.named_actors]
        self._holds = [LiveHold() for _ in scene.named_actors]
        actors = [
            actor
            if actor.motion is not None
            else replace(actor, forces=[*actor.forces, pull, hold])
            for actor, pull, hold in zip(scene.named_actors, self._pulls, self._holds, strict=True)
        ]
        self._simulator = Simulator(replace(scene, actors=actors), Variational(2), step)
        self.real_time_factor = 1.0
        self.reset()

    def reset(self) -> None:
        """Back to the start."""
        self._state = self._simulator.initial_state()
        self.frames: deque[Frame] = deque([self._frame()], maxlen=MOST_FRAMES)
        self._debt = 0.0

    @property
    def bodies(self) -> list[Body]:
        """The actors' bodies."""
        return [actor.body for actor in self.scene.named_actors]

    @property
    def time(self) -> float:
        """Seconds since the start."""
        return self._state.time

    @property
    def q(self) -> tuple[np.ndarray, ...]:
        """Coordinates of every actor."""
        return tuple(state.phase.q for state in self._state.actors)

    def grab(self, actor: int, grabbed: SurfaceSamples) -> None:
        """Take hold of a point of an actor's surface."""
        body = self.scene.named_actors[actor].body
        kinematics = self._simulator.actors[actor].kinematics
        count = self._simulator.actors[actor].contact_count
        rest = kinematics.at(body.q0.numpy()).surface_points[:count]
        samples = self.scene.named_actors[actor].collision.contact_points
        part = np.zeros(len(body.rest.vertices), np.int64)
        if body.skin is not None and body.skin.is_rigid:
            part = body.skin.joints[:, 0]
        self._pulls[actor].grab(
            rest,
            part[samples.corners[:, 0]],
            grabbed.points(body.rest.vertices)[0],
            int(part[grabbed.corners[0, 0]]),
        )

    def pull(self, actor: int, target: np.ndarray, *, strength: float = 1.0) -> None:
        """Move the hand that holds an actor to `target` [3] (m)."""
        self._pulls[actor].strength = strength
        self._pulls[actor].move(target)

    def release(self) -> None:
        """Let go of everything."""
        for pull in self._pulls:
            pull.release()

    def hold(self, actor: int, held: Sequence[int]) -> None:
        """Coordinates of an actor that stay where they are."""
        q = self._state.actors[actor].phase.q
        self._holds[actor].held = {index: float(q[index]) for index in held}

    def continued(self, scene: Scene) -> LiveSimulation:
        """The same motion in a changed scene with the same bodies' coordinates."""
        actors = [
            actor
            if actor.motion is not None
            else replace(actor, q=state.phase.q, qd=state.phase.velocity)
            for actor, state in zip(scene.named_actors, self._state.actors, strict=True)
        ]
        changed = LiveSimulation(replace(scene, actors=actors), step=self._simulator.h)
        for old, new in zip(self._holds, changed._holds, strict=True):
            new.held = old.held
        return changed

    def advance(self, seconds: float, *, most: float = 0.03) -> None:
        """Step as far as `seconds` (s) ask, or as far as `most` (s) of computing get.

        Raises:
            LiveDivergedError: It stands at its last good state then, with nothing held.
        """
        begun, steps = time.perf_counter(), 0
        self._debt = min(self._debt + seconds, 0.25)
        while self._debt >= self._simulator.h and time.perf_counter() - begun < most:
            try:
                state = self._simulator.step(self._state)
                self._simulator.energies(state)
            except DivergedStep as problem:
                self.release()
                self._debt = 0.0
                raise LiveDivergedError(
                    f"the simulation stopped at t = {self.time:.3g} s: {problem}",
                    hint="press Reset, choose a softer material or pull less",
                ) from None
            self._state = state
            self._debt -= self._simulator.h
            steps += 1
            if state.time - self.frames[-1].time >= 1 / RECORDED_FPS - 1e-9:
                self.frames.append(self._frame())
        if steps:
            spent = max(time.perf_counter() - begun, 1e-9)
            self.real_time_factor += 0.2 * (
                steps * self._simulator.h / spent - self.real_time_factor
            )

    def clip(self) -> Clip:
        """What was recorded, as one clip of all actors and obstacles."""
        tracks = zip(*(frame.q for frame in self.frames), strict=True)
        clips = [
            bake(body, np.array(track), fps=RECORDED_FPS)
            for body, track in zip(self.bodies, tracks, strict=True)
        ]
        return merge_clips(tuple(clips), tuple(self.scene.obstacles))

    def _frame(self) -> Frame:
        energies = self._simulator.energies(self._state)
        return Frame(
            time=self._state.time,
            q=self.q,
            kinetic=sum(kinetic for kinetic, _ in energies),
            potential=sum(potential for _, potential in energies),
        )


def body_scene(
    body: Body,
    *,
    material: str | None = None,
    gravity: bool = True,
    ground: bool = True,
    q: np.ndarray | None = None,
    mass: float | None = None,
) -> Scene:
    """One body as a scene: on a floor below its lowest point if it floats.

    Args:
        body: Any body.
        material: Name; without one, a body that hardly damps itself.
        gravity: Whether it falls.
        ground: Whether there is a floor, for bodies that float.
        q: [k] where it starts.
        mass: kg, if not the body's own.
    """
    stiffness = modal_stiffness(body)
    forces: list[Force] = [] if stiffness is None else [Spring(stiffness.numpy())]
    if material is None:
        forces.append(Damping(0.5))
    actor = Actor(body, forces=forces, q=q, mass=mass)
    if material is not None:
        actor = replace(actor, material=material)
    floor = None
    if ground and isinstance(body, FloatingRoot):
        floor = float(body.rest.bounds[0, 2]) - 1e-3 * body.rest.bbox_diagonal
    return Scene([actor], gravity=gravity, ground=floor)
