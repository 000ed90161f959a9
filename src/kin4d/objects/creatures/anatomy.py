"""Anatomy: the bones of a made creature, with their thickness, joints and part in its gait.

x is sideways and mirrors the creature, y is forward, z is up; lengths are in body lengths until the
creature is made.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

SIDEWAYS = np.array([1.0, 0.0, 0.0])
FORWARD = np.array([0.0, 1.0, 0.0])


@dataclass(frozen=True, kw_only=True)
class Wave:
    """What a coordinate does in a gait: ``offset + amplitude * sin(2 pi (cycles + phase))``.

    Attributes:
        amplitude: rad.
        phase: Share of a cycle, 0 to 1.
        offset: rad.
        lifted: Whether only the positive half counts, as a knee bends while the leg is in the air.
    """

    amplitude: float = 0.0
    phase: float = 0.0
    offset: float = 0.0
    lifted: bool = False

    def at(self, cycles: np.ndarray) -> np.ndarray:
        """[T] rad at times [T] in cycles."""
        wave = np.sin(2 * np.pi * (cycles + self.phase))
        # The square keeps the velocity continuous where the other half begins.
        return self.offset + self.amplitude * (
            np.maximum(wave, 0.0) * np.abs(wave) if self.lifted else wave
        )


@dataclass(frozen=True, eq=False, kw_only=True)
class Move:
    """One coordinate of a joint.

    Attributes:
        name: "bend", "sway" or "twist".
        axis: [3] unit.
        limits: rad.
        wave: In the gait.
    """

    name: str
    axis: np.ndarray
    limits: tuple[float, float]
    wave: Wave = Wave()


@dataclass(frozen=True, eq=False, kw_only=True)
class Bone:
    """A round cone on a joint.

    Attributes:
        name: Of the bone, unique.
        parent: Number of the bone it hangs on, -1 for the root, which has no joint.
        start: [3] where its joint is.
        end: [3].
        radius: At start and end.
        flat: Thickness along `normal`, of the radius.
        normal: [3] unit.
        moves: Coordinates of the joint.
    """

    name: str
    parent: int
    start: np.ndarray
    end: np.ndarray
    radius: tuple[float, float]
    flat: float = 1.0
    normal: np.ndarray
    moves: tuple[Move, ...] = ()


@dataclass(frozen=True, kw_only=True)
class JointRange:
    """Limits (rad) of the joints of a limb, and what they do in the gait; None for no coordinate.

    Attributes:
        bend: About the limb's hinge axis.
        sway: About the axis across the bone and the hinge.
        twist: About the bone.
        bend_wave: In the gait.
        sway_wave: In the gait.
    """

    bend: tuple[float, float] | None = (-0.6, 0.6)
    sway: tuple[float, float] | None = None
    twist: tuple[float, float] | None = None
    bend_wave: Wave = Wave()
    sway_wave: Wave = Wave()


STIFF = JointRange(bend=None)
"""No joint: the bone is one with its parent."""


class Anatomy:
    """Bones in a tree, parents first, added limb by limb.

    Attributes:
        bones: So far.
    """

    def __init__(self) -> None:
        self.bones: list[Bone] = []

    def limb(
        self,
        name: str,
        points: Sequence[Sequence[float] | np.ndarray] | np.ndarray,
        radii: Sequence[float] | np.ndarray,
        *,
        parent: int = -1,
        joints: Sequence[JointRange] = (),
        hinge: np.ndarray = SIDEWAYS,
        flat: float = 1.0,
        normal: np.ndarray | Sequence[float] = SIDEWAYS,
    ) -> list[int]:
        """Bones in a row; their numbers.

        Args:
            name: Of the limb; bones are numbered if there are several.
            points: [n + 1, 3] ends of n bones.
            radii: [n + 1] at the points.
            parent: The bone it hangs on; -1 for the root.
            joints: [n] of the bones; the last one is repeated. A root has none.
            hinge: [3] axis that joints bend about, made orthogonal to each bone.
            flat: See `Bone`.
            normal: See `Bone`.
        """
        ends, numbers = np.asarray(points, np.float64), []
        for i in range(len(ends) - 1):
            joint = joints[min(i, len(joints) - 1)] if joints else STIFF
            self.bones.append(
                Bone(
                    name=name if len(ends) == 2 else f"{name}{i + 1}",
                    parent=parent,
                    start=ends[i],
                    end=ends[i + 1],
                    radius=(float(radii[i]), float(radii[i + 1])),
                    flat=flat,
                    normal=np.asarray(normal, np.float64),
                    moves=() if parent < 0 else _moves(joint, ends[i + 1] - ends[i], hinge),
                )
            )
            parent = len(self.bones) - 1
            numbers.append(parent)
        return numbers

    def mirror(self, first: int, *, shift: float = 0.0) -> None:
        """Add the mirror images of all bones from number `first` on, which are then the left ones.

        Args:
            first: Number of a bone.
            shift: By which the images are later in the gait, in cycles.
        """
        own = self.bones[first:]
        flip = np.array([-1.0, 1.0, 1.0])
        self.bones[first:] = [replace(bone, name=f"left_{bone.name}") for bone in own]
        for bone in own:
            on_limb = bone.parent >= first
            self.bones.append(
                replace(
                    bone,
                    name=f"right_{bone.name}",
                    parent=bone.parent + len(own) if on_limb else bone.parent,
                    start=flip * bone.start,
                    end=flip * bone.end,
                    normal=flip * bone.normal,
                    # A mirrored rotation is about the mirrored axis, the other way round.
                    moves=tuple(
                        replace(
                            move,
                            axis=-flip * move.axis,
                            wave=replace(move.wave, phase=move.wave.phase + shift),
                        )
                        for move in bone.moves
                    ),
                )
            )


def _moves(joint: JointRange, along: np.ndarray, hinge: np.ndarray) -> tuple[Move, ...]:
    along = along / np.linalg.norm(along)
    bend = hinge - (hinge @ along) * along
    bend = bend / np.linalg.norm(bend)
    wanted = (
        ("bend", bend, joint.bend, joint.bend_wave),
        ("sway", np.cross(along, bend), joint.sway, joint.sway_wave),
        ("twist", along, joint.twist, Wave()),
    )
    return tuple(
        Move(name=name, axis=axis, limits=limits, wave=wave)
        for name, axis, limits, wave in wanted
        if limits is not None
    )
