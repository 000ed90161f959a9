"""simulate_scene: run a soft scene, detect divergence, and record vertices, velocities, forces."""

from __future__ import annotations

import numpy as np

from kin4d.errors import InputError
from kin4d.objects.sequence import VertexSequence
from kin4d.objects.soft.flex import FlexEngine
from kin4d.objects.soft.scene import SoftDivergedError, SoftScene

STEPS = 10  # per frame
_FASTEST = 60.0  # m/s, far above what falls or waves here
_LONGEST = 4.0  # times an element's edge at rest


def simulate_scene(
    scene: SoftScene,
    *,
    name: str,
    seed: int = 0,
    frames: int = 48,
    fps: float = 24.0,
) -> VertexSequence:
    """The scene over time; `SoftDivergedError` if it blows up.

    Args:
        scene: Object, material, pins, obstacles and forces.
        name: Of the sequence.
        seed: The seed the scene was made from.
        frames: How many, the start included.
        fps: Frames per second.
    """
    if frames < 1 or not fps > 0:
        raise InputError("frames and fps must be positive", value=(frames, fps))
    length = 1 / (fps * STEPS)
    engine = FlexEngine(scene, length=length)
    divergence = _DivergenceCheck(scene)
    nodes, speeds, forces = [], [], []
    for frame in range(frames):
        for step in range(STEPS if frame else 0):
            time = ((frame - 1) * STEPS + step) * length
            push = scene.forces(time, engine.nodes, engine.speeds)
            engine.step(scene.skin.carry.T @ push, scene.held(time + length))
        divergence.check(engine, frame)
        nodes.append(engine.nodes.copy())
        speeds.append(engine.speeds.copy())
        forces.append(scene.forces(frame / fps, nodes[-1], speeds[-1]))
    vertices, velocities = scene.skin.over_time(np.stack(nodes), np.stack(speeds))
    pinned = np.zeros(len(scene.nodes))
    pinned[scene.pins] = 1
    return VertexSequence(
        name=name,
        category=scene.category,
        source="kin4d soft, mujoco",
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
            "engine": "mujoco",
            "nodes": len(scene.nodes),
            "obstacles": [
                {"shape": o.shape, "size": list(o.size), "position": list(o.position)}
                for o in scene.obstacles
            ],
            **scene.notes,
        },
    )


class _DivergenceCheck:
    """Raises `SoftDivergedError` when nodes are too fast or elements too long."""

    def __init__(self, scene: SoftScene) -> None:
        self.name, self.elements = scene.category, scene.elements
        self.rest = self._edges(scene.nodes)

    def _edges(self, nodes: np.ndarray) -> np.ndarray:
        corners = nodes[self.elements]
        return np.linalg.norm(corners - np.roll(corners, 1, axis=1), axis=-1)

    def check(self, engine: FlexEngine, frame: int) -> None:
        nodes, speeds = engine.nodes, engine.speeds
        # Comparisons with NaN are false, so this is true of finite states alone.
        slow = (abs(speeds) < _FASTEST).all()
        if not (slow and (self._edges(nodes) < _LONGEST * self.rest).all()):
            raise SoftDivergedError(
                f"simulation of '{self.name}' diverged at frame {frame}",
                hint="drop it, or take a softer material",
            )
