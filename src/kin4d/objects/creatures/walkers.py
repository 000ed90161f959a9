"""Creatures that walk: bipeds, quadrupeds and insects, with random proportions."""

from __future__ import annotations

import numpy as np

from kin4d.objects.creatures.anatomy import FORWARD, SIDEWAYS, STIFF, Anatomy, JointRange, Wave
from kin4d.objects.creatures.parts import BACK, NECK, add_head, add_tail, leg_joints, line, vec


def biped(rng: np.random.Generator) -> Anatomy:
    """A figure that stands upright, with arms spread, hanging or between."""
    make, toy = Anatomy(), rng.random() < 0.4
    leg = rng.uniform(0.2, 0.35) if toy else rng.uniform(0.45, 0.55)
    trunk = rng.uniform(0.25, 0.35)
    wide, deep = rng.uniform(0.06, 0.1) * (1.6 if toy else 1.0), rng.uniform(0.75, 1.0)
    head = rng.uniform(0.13, 0.2) if toy else rng.uniform(0.06, 0.08)
    count = int(rng.integers(2, 4))
    column = line((0, 0, leg), (0, 0, leg + trunk), count)
    back = make.limb(
        "trunk",
        column,
        np.linspace(1.0, rng.uniform(0.9, 1.2), count + 1) * wide,
        joints=[BACK],
        flat=deep,
        normal=FORWARD,
    )
    top = leg + trunk + 0.5 * wide
    neck = rng.uniform(0.02, 0.05)
    make.limb(
        "head",
        [(0, 0, top), (0, 0, top + neck), (0, 0.01, top + neck + 1.2 * head)],
        (0.5 * head, 0.55 * head, head),
        parent=back[-1],
        joints=[NECK, STIFF],
    )
    first, spread = len(make.bones), rng.uniform(0.3, 1.5)
    reach = rng.uniform(0.35, 0.45) * (0.8 if toy else 1.0)
    at = np.array([1.1 * wide, 0.0, leg + trunk - 0.2 * wide])
    out = np.array([np.sin(spread), 0.0, -np.cos(spread)])
    thick = rng.uniform(0.026, 0.04)
    arm = np.stack([at, at + 0.45 * reach * out, at + 0.85 * reach * out, at + reach * out])
    swing = Wave(amplitude=rng.uniform(0.3, 0.6), phase=0.5)
    # About an axis across the arm, so that it swings whether it hangs or not.
    arms = JointRange(
        bend=(-0.9, 1.2),
        sway=(-0.5, 0.9),
        twist=(-0.4, 0.4),
        bend_wave=swing,
        sway_wave=Wave(offset=-min(spread, 0.9) * 0.8),
    )
    elbow = JointRange(bend=(0.0, 1.6), bend_wave=Wave(offset=0.4, amplitude=0.2, phase=0.5))
    wrist = JointRange(bend=(-0.5, 0.5))
    make.limb(
        "arm",
        arm,
        (1.2 * thick, thick, 0.8 * thick, thick),
        parent=back[-1],
        joints=[arms, elbow, wrist],
        hinge=FORWARD if spread > 1.2 else SIDEWAYS,
    )
    fat, foot = rng.uniform(0.035, 0.05) * (1.3 if toy else 1.0), rng.uniform(0.06, 0.1)
    hip = np.array([max(0.55 * wide, 1.4 * fat), 0.0, leg])
    knee, ankle = leg * rng.uniform(0.48, 0.56), leg * 0.1
    points = [
        hip,
        hip * (1.1, 1, 0) + vec(0, 0.015, knee),
        hip * (1.2, 1, 0) + vec(0, -0.01, ankle),
        hip * (1.2, 1, 0) + vec(0, foot, 0.6 * ankle),
    ]
    make.limb(
        "leg",
        points,
        (1.2 * fat, fat, 0.7 * fat, 0.6 * fat),
        parent=0,
        joints=leg_joints(rng, 0.0, amplitude=rng.uniform(0.35, 0.55)),
    )
    make.mirror(first, shift=0.5)
    return make


def quadruped(rng: np.random.Generator) -> Anatomy:
    """An animal on four legs that trots."""
    make = Anatomy()
    tall, thick = rng.uniform(0.3, 0.75), rng.uniform(0.11, 0.19)
    count, half = int(rng.integers(2, 5)), 0.5
    column = line((0, -half, tall), (0, half, tall + rng.uniform(-0.05, 0.12)), count)
    belly = thick * np.interp(np.linspace(0, 1, count + 1), [0, 0.5, 1], [0.9, 1.0, 1.05])
    back = make.limb("trunk", column, belly, joints=[BACK], flat=rng.uniform(0.75, 1.0))
    add_head(make, rng, back[-1], column[-1], thick)
    if rng.random() < 0.9:
        add_tail(make, rng, column[0] + vec(0, -0.6 * thick, 0.5 * thick), thick)
    fat, amplitude = rng.uniform(0.035, 0.075), rng.uniform(0.3, 0.5)
    plan = rng.random() < 0.6  # on its toes, with an ankle high above the ground
    for name, parent, y, phase in (("fore", back[-1], half, 0.0), ("hind", 0, -half, 0.5)):
        first, hip = len(make.bones), np.array([0.55 * thick, y * 0.92, tall - 0.25 * thick])
        backwards = -1.0 if name == "hind" else 1.0
        knee = hip * (1, 1, 0) + vec(0, 0.05 * -backwards, 0.55 * hip[2])
        ankle = hip * (1, 1, 0) + vec(0, -0.04 if plan else 0.0, (0.25 if plan else 0.1) * hip[2])
        toe = hip * (1, 1, 0) + vec(0, rng.uniform(0.02, 0.08), 0.7 * fat)
        make.limb(
            f"{name}leg",
            [hip, knee, ankle, toe],
            (1.3 * fat, fat, 0.65 * fat, 0.7 * fat),
            parent=parent,
            joints=leg_joints(rng, phase, amplitude=amplitude),
        )
        make.mirror(first, shift=0.5)
    return make


def insect(rng: np.random.Generator) -> Anatomy:
    """Six or eight legs, with or without feelers and wings, on tripods."""
    make, pairs = Anatomy(), 4 if rng.random() < 0.35 else 3
    thick, tall = rng.uniform(0.06, 0.11), rng.uniform(0.12, 0.25)
    thorax = rng.uniform(0.12, 0.25)
    make.limb("thorax", [(0, -thorax / 2, tall), (0, thorax / 2, tall)], (0.8 * thick, 0.8 * thick))
    length, fat = rng.uniform(0.2, 0.5), rng.uniform(0.8, 1.7)
    make.limb(
        "abdomen",
        [
            (0, -thorax / 2 - 0.6 * thick, tall),
            (0, -thorax / 2 - length, tall + rng.uniform(-0.05, 0.1)),
        ],
        (0.6 * thick, fat * thick),
        parent=0,
        joints=[NECK],
    )
    head = make.limb(
        "head",
        [(0, thorax / 2 + 0.7 * thick, tall), (0, thorax / 2 + 1.5 * thick, tall)],
        (0.5 * thick, rng.uniform(0.6, 1.0) * thick),
        parent=0,
        joints=[NECK],
    )[0]
    first, thin, reach = len(make.bones), rng.uniform(0.016, 0.024), rng.uniform(0.25, 0.45)
    for i in range(pairs):
        share = i / (pairs - 1)
        at = np.array([0.6 * thick, thorax * (0.5 - share), tall - 0.2 * thick])
        out = np.array([1.0, np.interp(share, [0, 1], [0.8, -0.8]), 0.0])
        out /= np.linalg.norm(out)
        points = np.stack(
            [
                at,
                at + 0.18 * reach * out,
                at + 0.6 * reach * out + vec(0, 0, 0.5 * tall),
                (at + reach * out) * (1, 1, 0) + vec(0, 0, thin),
            ]
        )
        phase = 0.5 * (i % 2)
        step, lift = (
            Wave(amplitude=0.35, phase=phase),
            Wave(amplitude=-0.5, phase=phase + 0.25, lifted=True),
        )
        hip = JointRange(bend=(-0.5, 0.5), sway=(-0.6, 0.6), sway_wave=step)
        # About an axis along the body: positive lowers the leg.
        thigh = JointRange(bend=(-0.7, 0.6), bend_wave=lift)
        make.limb(
            f"leg{i + 1}_",
            points,
            (1.5 * thin, 1.2 * thin, thin, 0.8 * thin),
            parent=0,
            joints=[hip, thigh, JointRange(bend=(-0.6, 0.8))],
            hinge=np.cross(out, [0, 0, 1.0]) * -1.0,
        )
    make.mirror(first, shift=0.5)
    if rng.random() < 0.6:
        first, at = len(make.bones), np.array([0.3 * thick, thorax / 2 + 2 * thick, tall + 0.03])
        feel = JointRange(bend=(-0.6, 0.6), sway=(-0.5, 0.5))
        make.limb(
            "feeler",
            line(at, at + vec(0.08, rng.uniform(0.1, 0.25), 0.08), 2),
            (0.014, 0.012, 0.01),
            parent=head,
            joints=[feel],
        )
        make.mirror(first)
    return make
