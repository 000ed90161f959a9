"""Parts that kinds of creatures share: heads, tails, and the joints of legs."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from kin4d.objects.creatures.anatomy import FORWARD, Anatomy, JointRange, Wave

NECK = JointRange(bend=(-0.6, 0.6), sway=(-0.6, 0.6), twist=(-0.4, 0.4))
"""Joint of a neck."""

BACK = JointRange(bend=(-0.35, 0.35), sway=(-0.35, 0.35), twist=(-0.25, 0.25))
"""Joint of a trunk."""


def vec(x: float, y: float, z: float) -> np.ndarray:
    """[3]."""
    return np.array([x, y, z], np.float64)


def line(start: ArrayLike, end: ArrayLike, count: int) -> np.ndarray:
    """[count + 1, 3] evenly from start to end."""
    return np.linspace(np.asarray(start, np.float64), np.asarray(end, np.float64), count + 1)


def leg_joints(rng: np.random.Generator, phase: float, *, amplitude: float) -> list[JointRange]:
    """Hip, knee and ankle that step."""
    hip = JointRange(
        bend=(-0.9, 0.9),
        sway=(-0.4, 0.4),
        twist=(-0.3, 0.3),
        bend_wave=Wave(amplitude=amplitude, phase=phase),
    )
    # The shin is bent while the thigh swings forward.
    flexed = Wave(amplitude=-rng.uniform(0.6, 1.0), phase=phase + 0.25, lifted=True)
    knee = JointRange(bend=(-1.5, 0.1), bend_wave=flexed)
    ankle = Wave(amplitude=0.25, phase=phase + 0.3)
    return [hip, knee, JointRange(bend=(-0.7, 0.7), bend_wave=ankle)]


def add_head(
    make: Anatomy,
    rng: np.random.Generator,
    parent: int,
    at: np.ndarray,
    thick: float,
    *,
    snout: float = 1.0,
) -> None:
    """A neck of one to three bones, a head, and perhaps ears or horns."""
    length, lift = rng.uniform(0.1, 0.45), rng.uniform(0.2, 1.4)
    count = 1 + int(length > 0.2) + int(length > 0.32)
    out = np.array([0, np.cos(lift), np.sin(lift)])
    neck = line(at + 0.6 * thick * out, at + (0.6 * thick + length) * out, count)
    size = rng.uniform(0.4, 0.7) * thick
    nod = Wave(amplitude=0.08, phase=rng.random())
    joints = [JointRange(bend=(-0.5, 0.5), sway=(-0.5, 0.5), twist=(-0.3, 0.3), bend_wave=nod)]
    ring = make.limb(
        "neck", neck, np.linspace(0.7 * thick, 0.85 * size, count + 1), parent=parent, joints=joints
    )
    nose = neck[-1] + snout * rng.uniform(0.1, 0.3) * np.array([0, 0.97, -0.25])
    head = make.limb(
        "head",
        [neck[-1] + vec(0, 0.3 * size, 0.2 * size), nose],
        (size, rng.uniform(0.45, 0.8) * size),
        parent=ring[-1],
        joints=[NECK],
    )[0]
    if rng.random() < 0.7:
        first, long = len(make.bones), rng.uniform(0.06, 0.2)
        root = neck[-1] + vec(0.6 * size, 0, 0.8 * size)
        ear = JointRange(bend=(-0.4, 0.4), sway=(-0.4, 0.4))
        make.limb(
            "ear",
            [root, root + long * np.array([rng.uniform(0.1, 0.9), -0.1, 0.8])],
            (0.35 * size, 0.2 * size),
            parent=head,
            joints=[ear],
            flat=0.5,
            normal=FORWARD,
        )
        make.mirror(first)


def add_tail(make: Anatomy, rng: np.random.Generator, at: np.ndarray, thick: float) -> None:
    """A tail of one to six bones that wags."""
    length, droop = rng.uniform(0.15, 0.9), rng.uniform(-0.6, 1.1)
    count = max(1, int(np.rint(length / rng.uniform(0.12, 0.2))))
    wag = JointRange(bend=(-0.5, 0.5), sway=(-0.5, 0.5), sway_wave=Wave(amplitude=0.5 / count))
    out = np.array([0, -np.cos(droop), -np.sin(droop)])
    root = rng.uniform(0.2, 0.75) * thick
    make.limb(
        "tail",
        line(at, at + length * out, count),
        np.linspace(root, 0.25 * root, count + 1),
        parent=0,
        joints=[wag],
    )
