"""Run a soft scene on an engine, watch that it does not blow up, and keep all that is known."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

import numpy as np

from kin4d.errors import InputError
from kin4d.objects.sequence import VertexSequence
from kin4d.objects.soft.flex import FlexEngine
from kin4d.objects.soft.scene import SoftDivergedError, SoftScene
from kin4d.objects.soft.xpbd import XpbdEngine

STEPS = 10  # per frame
_FASTEST = 60.0  # m/s, far above what falls or waves here
_LONGEST = 4.0  # times an element's edge at rest


class Engine(Protocol):
    """A scene in the making."""

    @property
    def nodes(self) -> np.ndarray:
        """[N, 3] m."""
        ...

    @property
    def speeds(self) -> np.ndarray:
        """[N, 3] m/s."""
        ...

    def step(self, forces: np.ndarray, held: np.ndarray, length: float) -> None:
        """Go on by `length` s, under forces [N, 3] N, the pins ending at `held` [P, 3] m."""
        ...


ENGINES: dict[str, Callable[[SoftScene, float], Engine]] = {
    "xpbd": lambda scene, length: XpbdEngine(scene),
    "mujoco": lambda scene, length: FlexEngine(scene, length=length),
}


def simulate_engine(
    scene: SoftScene,
    *,
    name: str,
    seed: int = 0,
    engine: str | Callable[[SoftScene, float], Engine] | None = None,
    frames: int = 48,
    fps: float = 24.0,
) -> VertexSequence:
    """The scene over time; `SoftDivergedError` if it blows up.

    Args:
        scene: What happens.
        name: Of the sequence.
        seed: What the scene was made from.
        engine: ``"mujoco"`` (true to the material; cloth and solids) or ``"xpbd"`` (faster, but
            softer than the material says). By default the first, and the second for ropes. Or
            what starts another, given the scene and the length of a step (s).
        frames: How many, the start included.
        fps: Frames per second.
    """
    if engine is None:
        engine = "xpbd" if scene.dimension == 1 else "mujoco"
    if isinstance(engine, str) and engine not in ENGINES:
        raise InputError("unknown soft engine", value=engine, allowed=", ".join(ENGINES))
    if frames < 1 or not fps > 0:
        raise InputError("frames and fps must be positive", value=(frames, fps))
    length = 1 / (fps * STEPS)
    running = ENGINES[engine](scene, length) if isinstance(engine, str) else engine(scene, length)
    made_by = engine if isinstance(engine, str) else type(running).__name__
    watch = _Watch(scene)
    nodes, speeds, forces = [], [], []
    for frame in range(frames):
        for step in range(STEPS if frame else 0):
            time = ((frame - 1) * STEPS + step) * length
            push = scene.forces(time, running.nodes, running.speeds)
            running.step(scene.skin.carry.T @ push, scene.held(time + length), length)
        watch.check(running, frame)
        nodes.append(running.nodes.copy())
        speeds.append(running.speeds.copy())
        forces.append(scene.forces(frame / fps, nodes[-1], speeds[-1]))
    vertices, velocities = scene.skin.over_time(np.stack(nodes), np.stack(speeds))
    pinned = np.zeros(len(scene.nodes))
    pinned[scene.pins] = 1
    return VertexSequence(
        name=name,
        category=scene.category,
        source=f"kin4d soft, {made_by}",
        licence="CC0-1.0",
        seed=seed,
        vertices=vertices,
        faces=scene.skin.faces,
        fps=fps,
        velocities=velocities,
        forces=np.stack(forces) if scene.is_pushed else None,
        material={**scene.material, "mass": float(scene.masses.sum())},
        pins=np.flatnonzero(scene.skin.carry @ pinned > 0.999),
        meta={
            "up": "z",
            "gravity": list(scene.gravity),
            "engine": made_by,
            "nodes": len(scene.nodes),
            "obstacles": [
                {"shape": o.shape, "size": list(o.size), "position": list(o.position)}
                for o in scene.obstacles
            ],
            **scene.notes,
        },
    )


class _Watch:
    """Notices when a simulation has blown up."""

    def __init__(self, scene: SoftScene) -> None:
        self.name, self.elements = scene.category, scene.elements
        self.rest = self._edges(scene.nodes)

    def _edges(self, nodes: np.ndarray) -> np.ndarray:
        corners = nodes[self.elements]
        return np.linalg.norm(corners - np.roll(corners, 1, axis=1), axis=-1)

    def check(self, running: Engine, frame: int) -> None:
        nodes, speeds = running.nodes, running.speeds
        # Comparisons with NaN are false, so this is true of sound states alone.
        slow = (abs(speeds) < _FASTEST).all()
        if not (slow and (self._edges(nodes) < _LONGEST * self.rest).all()):
            raise SoftDivergedError(
                f"simulation of '{self.name}' diverged at frame {frame}",
                hint="drop it, or take a softer material",
            )
