"""Creatures that glide ahead: birds, fish and snakes, with random proportions."""

from __future__ import annotations

import numpy as np

from kin4d.objects.creatures.anatomy import FORWARD, SIDEWAYS, STIFF, Anatomy, JointRange, Wave
from kin4d.objects.creatures.parts import NECK, add_head, line, vec


def bird(rng: np.random.Generator) -> Anatomy:
    """A bird or bat with spread wings that flaps them."""
    make = Anatomy()
    thick, length = rng.uniform(0.12, 0.2), rng.uniform(0.3, 0.5)
    back = make.limb("trunk", [(0, -length / 2, 0.3), (0, length / 2, 0.36)], (0.7 * thick, thick))
    add_head(make, rng, back[0], np.array([0, length / 2, 0.36]), thick, snout=0.6)
    tail = rng.uniform(0.15, 0.4)
    make.limb(
        "tail",
        [(0, -length / 2 - 0.04, 0.3), (0, -length / 2 - tail, 0.3)],
        (0.4 * thick, rng.uniform(0.05, 0.12)),
        parent=0,
        joints=[JointRange(bend=(-0.5, 0.5), sway=(-0.4, 0.4))],
        flat=0.15,
        normal=np.array([0, 0, 1.0]),
    )
    span, chord, bones = rng.uniform(0.5, 0.9), rng.uniform(0.07, 0.13), int(rng.integers(2, 4))
    first = len(make.bones)
    shoulder = np.array([0.7 * thick, 0.25 * length, 0.38])
    sweep = rng.uniform(-0.25, 0.1)
    wing = line(shoulder, shoulder + vec(span, sweep, rng.uniform(-0.05, 0.1)), bones)
    flap = rng.uniform(0.4, 0.7)
    joints = [
        JointRange(bend=(-0.9, 0.9), sway=(-0.6, 0.6), bend_wave=Wave(amplitude=flap)),
        JointRange(
            bend=(-0.7, 0.7), sway=(-0.8, 0.4), bend_wave=Wave(amplitude=0.7 * flap, phase=-0.2)
        ),
    ]
    make.limb(
        "wing",
        wing,
        np.linspace(1.2, 0.6, bones + 1) * chord,
        parent=0,
        joints=joints,
        hinge=FORWARD,
        flat=0.18,
        normal=np.array([0, 0, 1.0]),
    )
    hip, low = np.array([0.45 * thick, -0.05, 0.27]), rng.uniform(0.02, 0.1)
    thin = rng.uniform(0.018, 0.03)
    tucked = JointRange(bend=(-0.8, 0.8), sway=(-0.3, 0.3), bend_wave=Wave(offset=-0.5))
    make.limb(
        "leg",
        [
            hip,
            hip + vec(0, 0.03, -0.12),
            hip + vec(0, -0.01, -0.22 - low),
            hip + vec(0, 0.09, -0.24 - low),
        ],
        (1.8 * thin, thin, thin, thin),
        parent=0,
        joints=[tucked, JointRange(bend=(-1.2, 0.3)), JointRange(bend=(-0.6, 0.6))],
    )
    make.mirror(first)
    return make


def fish(rng: np.random.Generator) -> Anatomy:
    """A fish that swims, or with a level tail a dolphin."""
    make, level = Anatomy(), rng.random() < 0.25
    high, count = rng.uniform(0.1, 0.22), int(rng.integers(3, 7))
    slim = rng.uniform(0.35, 0.8)
    column = line((0, 0.5, 0), (0, -0.42, 0), count)
    place = np.linspace(0, 1, count + 1)
    shape = high * np.interp(place, [0, 0.25, 0.55, 1], [0.55, 1.0, 0.85, 0.22])
    joints = [STIFF]
    for share in place[1:-1]:
        wave = Wave(amplitude=0.1 + 0.3 * share**2, phase=-0.6 * share)
        along, still = (wave, Wave()) if level else (Wave(), wave)
        joints.append(
            JointRange(bend=(-0.4, 0.4), sway=(-0.5, 0.5), bend_wave=along, sway_wave=still)
        )
    body = make.limb("body", column, shape, joints=joints, flat=slim)
    big = rng.uniform(0.12, 0.24)
    spread = np.array([0.8, -0.6, 0]) if level else np.array([0, -0.6, 0.8])
    fan = Wave(amplitude=0.3, phase=-0.7)
    fin = JointRange(
        bend=(-0.6, 0.6),
        sway=(-0.6, 0.6),
        sway_wave=Wave() if level else fan,
        bend_wave=fan if level else Wave(),
    )
    end = column[-1]
    lobe = make.limb(
        "tail",
        [end + vec(0, 0.02, 0), end + vec(0, -0.08, 0)],
        (0.25 * high, 0.05),
        parent=body[-1],
        joints=[fin],
        flat=0.3,
        normal=[0, 0, 1.0] if level else SIDEWAYS,
    )[0]
    for side in (1.0, -1.0):
        out = spread * (side, 1, 1) if level else spread * (1, 1, side)
        make.limb(
            "fluke" if side > 0 else "fluke_other",
            [end + vec(0, -0.06, 0), end + vec(0, -0.06, 0) + big * out],
            (0.04, 0.025),
            parent=lobe,
            flat=0.4,
            normal=[0, 0, 1.0] if level else SIDEWAYS,
        )
    if rng.random() < 0.8:
        at = np.array([0, 0.05, 0.85 * high])
        make.limb(
            "dorsal",
            [at, at + vec(0, -0.12, rng.uniform(0.06, 0.16))],
            (0.07, 0.03),
            parent=body[count // 2],
            flat=0.2,
        )
    first, span = len(make.bones), rng.uniform(0.1, 0.3)
    root = np.array([0.75 * high * slim, 0.2, -0.25 * high])
    paddle = JointRange(bend=(-0.6, 0.6), sway=(-0.6, 0.6), bend_wave=Wave(amplitude=0.3))
    make.limb(
        "fin",
        [root, root + span * np.array([0.75, -0.55, -0.25])],
        (0.04, rng.uniform(0.03, 0.06)),
        parent=body[0],
        joints=[paddle],
        hinge=FORWARD,
        flat=0.25,
        normal=[0, 0, 1.0],
    )
    make.mirror(first)
    return make


def snake(rng: np.random.Generator) -> Anatomy:
    """A snake or worm that lies straight or in bends, and winds its way."""
    make, count = Anatomy(), int(rng.integers(7, 15))
    thick, turns = rng.uniform(0.018, 0.05), rng.uniform(0.6, 1.3)
    bends = 0.0 if rng.random() < 0.5 else rng.uniform(0.2, 0.7)
    place = np.linspace(0, 1, count + 1)
    heading = bends * np.sin(2 * np.pi * (turns * place + rng.random()))
    steps = np.stack([np.sin(heading), -np.cos(heading), np.zeros(count + 1)], 1)[:-1] / count
    column = np.concatenate([np.zeros((1, 3)), np.cumsum(steps, 0)]) + vec(0, 0.5, thick)
    shape = thick * np.interp(place, [0, 0.12, 0.4, 1], [1.0, 0.75, 1.1, 0.25])
    joints = [STIFF]
    for share in place[1:-1]:
        wave = Wave(amplitude=0.45 if bends == 0 else 0.3, phase=-turns * share)
        joints.append(JointRange(bend=(-0.4, 0.4), sway=(-0.7, 0.7), sway_wave=wave))
    body = make.limb("body", column, shape, joints=joints)
    make.limb(
        "head",
        [column[0], column[0] + vec(0, rng.uniform(0.03, 0.08), 0)],
        (1.1 * thick, rng.uniform(0.7, 1.5) * thick),
        parent=body[0],
        joints=[NECK],
    )
    return make
