"""Simulation: the result of a run, and the error of a run that diverged."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from kin4d.errors import Kin4dError
from kin4d.geometry.clip import Clip
from kin4d.geometry.mesh import Mesh
from kin4d.geometry.skin import SkinAnimation


@dataclass(frozen=True, eq=False, kw_only=True)
class Simulation:
    """The result of `simulate`.

    Attributes:
        clips: One per actor, with q and per-frame diagnostics: "kinetic" and "potential" energy
            (J), "contacts" (how many points touch), "penetration" (m, the deepest of them).
        names: The actors' names.
        obstacles: Meshes that do not move.
        dt: Seconds per step, as used.
        steps: How many steps were taken.
        wall_seconds: Time that stepping took, without preparation and decoding.
        reduction_errors: Metres (root mean square over mass points) by which each actor's compiled
            kinematics differ from its body, measured along the motion; 0 for exact ones.
    """

    clips: tuple[Clip, ...]
    names: tuple[str, ...]
    obstacles: tuple[Mesh, ...] = ()
    dt: float
    steps: int
    wall_seconds: float
    reduction_errors: tuple[float, ...]

    def __getitem__(self, name: str) -> Clip:
        """The clip of one actor."""
        return self.clips[self.names.index(name)]

    @property
    def real_time_factor(self) -> float:
        """Simulated seconds per second of stepping."""
        return self.steps * self.dt / max(self.wall_seconds, 1e-12)

    @cached_property
    def energy(self) -> np.ndarray:
        """[T] total mechanical energy of all actors, J."""
        return sum(
            (clip.diagnostics["kinetic"] + clip.diagnostics["potential"] for clip in self.clips),
            np.zeros(len(self.clips[0])),
        )

    @cached_property
    def clip(self) -> Clip:
        """Everything in one clip, obstacles included; q is all actors' in a row."""
        return merge_clips(self.clips, self.obstacles)


class DivergedError(Kin4dError):
    """A run that diverged. Its frames until then are kept.

    Attributes:
        step: The step that failed.
        time: Seconds at its start.
        quantity: Which quantity diverged, and of which actor.
        simulation: The frames so far.
    """

    def __init__(self, quantity: str, *, step: int, time: float, simulation: Simulation) -> None:
        self.quantity, self.step, self.time, self.simulation = quantity, step, time, simulation
        frames = len(simulation.clips[0])
        super().__init__(
            f"simulation stopped at step {step} (t = {time:.4g} s): {quantity}",
            hint=f"the {frames} frames so far are in `error.simulation`; try a smaller dt, "
            "a softer material or weaker forces",
        )


def merge_clips(clips: tuple[Clip, ...], obstacles: tuple[Mesh, ...] = ()) -> Clip:
    """Several clips of equal length and rate, and static meshes, as one."""
    first, count = clips[0], len(clips[0])
    if len(clips) == 1 and not obstacles:
        return first
    mesh = Mesh.concatenate([clip.mesh for clip in clips] + list(obstacles), name="scene")
    vertices = np.concatenate(
        [clip.vertices for clip in clips]
        + [
            np.broadcast_to(m.vertices.astype(np.float32), (count, *m.vertices.shape))
            for m in obstacles
        ],
        axis=1,
    )
    diagnostics = {
        name: _combined(name, [clip.diagnostics[name] for clip in clips])
        for name in first.diagnostics
    }
    q = [clip.q for clip in clips if clip.q is not None]
    return Clip(
        mesh=mesh,
        vertices=vertices,
        fps=first.fps,
        q=np.concatenate(q, axis=1) if q else None,
        skin=_skin(clips, obstacles),
        diagnostics=diagnostics,
    )


def _combined(name: str, tracks: list[np.ndarray]) -> np.ndarray:
    return np.max(tracks, axis=0) if name == "penetration" else np.sum(tracks, axis=0)


def _skin(clips: tuple[Clip, ...], obstacles: tuple[Mesh, ...]) -> SkinAnimation | None:
    """One skin of all, where every clip has one that is rigid."""
    skins = [clip.skin for clip in clips]
    if any(skin is None or not skin.is_rigid for skin in skins):
        return None
    joints, names, moves, count = [], [], [], 0
    for i, skin in enumerate(skin for skin in skins if skin is not None):
        joints.append(skin.joints + count)
        names += [f"{i}/{name}" for name in skin.names]
        moves.append(skin.transforms)
        count += len(skin.names)
    for i, mesh in enumerate(obstacles):
        joints.append(np.full((len(mesh.vertices), 1), count))
        names.append(f"obstacle{i}/{mesh.name}")
        moves.append(np.broadcast_to(np.eye(4), (len(clips[0]), 1, 4, 4)))
        count += 1
    index = np.concatenate(joints)
    return SkinAnimation(
        joints=index,
        weights=np.ones(index.shape, np.float32),
        names=tuple(names),
        transforms=np.concatenate(moves, axis=1),
    )
