"""MechanicsPanel: a simulation that runs while one looks: start, push, material, energy, scrub."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import numpy as np

from kin4d.dynamics.scene import Scene
from kin4d.geometry.clip import Clip
from kin4d.geometry.sampling import SurfaceSamples
from kin4d.viewer.live_simulation import RECORDED_FPS, LiveDivergedError, LiveSimulation
from kin4d.viewer.page import Page

SHOWN_FPS = 30
_PLOT_EVERY = 0.4  # s
_PLOT_POINTS = 150


class MechanicsPanel:
    """Runs a scene in real time.

    Args:
        page: Where.
        make_scene: The scene to run, made when it is first needed.
        show: Shows coordinates of every actor.

    Attributes:
        simulation: What runs; None before the first start.
    """

    def __init__(
        self,
        page: Page,
        make_scene: Callable[[], Scene],
        show: Callable[[tuple[np.ndarray, ...]], None],
    ) -> None:
        self._page, self._make_scene, self._show = page, make_scene, show
        self.simulation: LiveSimulation | None = None
        self.running = False
        self._held: dict[int, list[int]] = {}
        self._clock = self._plotted = 0.0
        self._replay: float | None = None
        self.folder = page.gui.add_folder("Mechanics", order=2)
        with self.folder:
            self.start = page.gui.add_button("Start")
            self.reset = page.gui.add_button("Reset")
            self.strength = page.gui.add_slider(
                "pull", min=0.1, max=10.0, step=0.1, initial_value=1.0, hint="strength of the mouse"
            )
            self.replay = page.gui.add_checkbox("replay", initial_value=False, disabled=True)
            self.scrub = page.gui.add_slider(
                "time [s]",
                min=0.0,
                max=1.0,
                step=1 / RECORDED_FPS,
                initial_value=0.0,
                disabled=True,
            )
            self.status = page.gui.add_markdown("Start, then drag the object with the mouse.")
            empty = np.zeros(2)
            self.plot = page.gui.add_uplot(
                (np.array([0.0, 1.0]), empty, empty, empty),
                (
                    {"label": "s"},
                    {"label": "kinetic J", "stroke": "#d9480f", "width": 2},
                    {"label": "potential J", "stroke": "#1971c2", "width": 2},
                    {"label": "sum J", "stroke": "#868e96", "width": 2},
                ),
                scales={"x": {"time": False}},
                aspect=1.7,
                title="energy",
            )
        page.on_click(self.start, lambda _: self.stop() if self.running else self.go())
        page.on_click(self.reset, lambda _: self.back())
        page.on_change(self.scrub, self._scrubbed)
        page.on_change(self.replay, self._replayed)

    def go(self) -> None:
        """Start or go on."""
        self._page.settle()
        if self.simulation is None:
            self.status.content = "Preparing ..."
            self.simulation = LiveSimulation(self._make_scene())
            for actor, held in self._held.items():
                self.simulation.hold(actor, held)
        self._set_running(True)

    def stop(self) -> None:
        """Pause."""
        self._set_running(False)
        if self.simulation is not None:
            self._offer_replay(self.simulation)

    def back(self) -> None:
        """To the start, paused."""
        self._page.settle()
        self._set_running(False)
        self.forget()
        self._show(start_coordinates(self._make_scene()))

    def forget(self) -> None:
        """Drop the run: the next start makes the scene anew."""
        self.simulation = None
        self._set_running(False)
        self.scrub.disabled = self.replay.disabled = True
        self.replay.value = False

    def change(self) -> None:
        """Go on in the scene as it is made now, from where everything is."""
        if self.simulation is not None:
            self.simulation = self.simulation.continued(self._make_scene())

    def hold(self, actor: int, held: list[int]) -> None:
        """Coordinates of an actor that stay where they are."""
        self._held[actor] = held
        if self.simulation is not None:
            self.simulation.hold(actor, held)

    def grab(self, actor: int, grabbed: SurfaceSamples) -> None:
        """Take hold of a point of an actor's surface."""
        if self.simulation is not None:
            self.simulation.grab(actor, grabbed)

    def pull(self, actor: int, target: np.ndarray) -> None:
        """Draw it to `target` [3] (m)."""
        if self.simulation is not None:
            self.simulation.pull(actor, target, strength=float(self.strength.value))

    def release(self) -> None:
        """Let go."""
        if self.simulation is not None:
            self.simulation.release()

    def clip(self) -> Clip | None:
        """What was recorded, if anything moved."""
        recorded = self.simulation is not None and len(self.simulation.frames) > 1
        return self.simulation.clip() if self.simulation is not None and recorded else None

    def tick(self) -> float | None:
        """Go on; seconds until the next tick."""
        simulation, now = self.simulation, time.monotonic()
        if simulation is None or not (self.running or self.replay.value):
            return None
        passed, self._clock = now - self._clock, now
        if self.replay.value:
            self._play_on(simulation, passed)
            return 1 / SHOWN_FPS
        try:
            simulation.advance(passed)
        except LiveDivergedError:
            self._set_running(False)
            self._offer_replay(simulation)
            raise
        self._show(simulation.q)
        if now - self._plotted > _PLOT_EVERY:
            self._plotted = now
            self._draw(simulation)
        return max(1 / SHOWN_FPS - (time.monotonic() - now), 0.001)

    def _set_running(self, running: bool) -> None:
        self.running = running
        self.start.label = "Stop" if running else "Start"
        self._clock = time.monotonic()
        if running:
            self.replay.value = False
            self.scrub.disabled = self.replay.disabled = True

    def _offer_replay(self, simulation: LiveSimulation) -> None:
        first, last = simulation.frames[0].time, simulation.frames[-1].time
        if last > first:
            self.scrub.min, self.scrub.max = first, last
            self.scrub.value = last
            self.scrub.disabled = self.replay.disabled = False

    def _scrubbed(self) -> None:
        if self.simulation is not None and not self.running:
            self._show_at(self.simulation, float(self.scrub.value))

    def _replayed(self) -> None:
        self._clock = time.monotonic()

    def _play_on(self, simulation: LiveSimulation, passed: float) -> None:
        first, last = simulation.frames[0].time, simulation.frames[-1].time
        at = float(self.scrub.value) + passed
        at = first if at > last else at
        self.scrub.value = at
        self._show_at(simulation, at)

    def _show_at(self, simulation: LiveSimulation, at: float) -> None:
        times = [frame.time for frame in simulation.frames]
        index = min(int(np.searchsorted(times, at - 1e-9)), len(times) - 1)
        self._show(simulation.frames[index].q)

    def _draw(self, simulation: LiveSimulation) -> None:
        frames = [*simulation.frames][-10 * RECORDED_FPS :]
        frames = frames[:: max(1, len(frames) // _PLOT_POINTS)]
        if len(frames) > 1:
            kinetic, potential = (
                np.array([getattr(frame, name) for frame in frames])
                for name in ("kinetic", "potential")
            )
            times = np.array([frame.time for frame in frames])
            self.plot.data = (times, kinetic, potential, kinetic + potential)
        factor = simulation.real_time_factor
        pace = "real time" if factor >= 1 else f"{factor:.2g} times real time: slow motion"
        self.status.content = f"t = {simulation.time:.1f} s, {pace}"


def start_coordinates(scene: Scene) -> tuple[np.ndarray, ...]:
    """Where every actor of a scene starts."""
    return tuple(np.array(actor.q, np.float64) for actor in scene.named_actors)


def material_names() -> list[Any]:
    """Of a list to choose from."""
    from kin4d.dynamics.materials import MATERIALS

    return ["(as it is)", *MATERIALS]
