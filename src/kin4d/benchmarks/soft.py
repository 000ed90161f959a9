"""Soft objects: are simulations stable, how long do they take, and is the material right?

The material is checked by a case with a closed form: how far a bar that is held at one end sags
under its own weight.
"""

from __future__ import annotations

import time
from contextlib import suppress

import numpy as np

from kin4d.benchmarks.report import Check, Report
from kin4d.geometry.lattice import Lattice
from kin4d.objects.soft.kinds import KINDS, simulate_soft, soft_scene
from kin4d.objects.soft.scene import SoftDivergedError, SoftScene
from kin4d.objects.soft.shapes import blocks
from kin4d.objects.soft.simulate import STEPS, simulate_scene
from kin4d.objects.soft.skin import embedded_skin

_FRAMES = 48
_LENGTH, _SIDE, _DENSITY = 0.4, 0.1, 1000.0  # of the bar: m, m, kg/m³


def run(*, quick: bool, seed: int) -> Report:
    """One row for each kind of motion, and the sag of a held bar over that of beam theory."""
    report = Report()
    frames, seeds = (8, 1) if quick else (_FRAMES, 6)
    kinds = ("cloth_corner", "solid_twist", "rope_fall") if quick else tuple(KINDS)
    report.rows = [_row(kind, frames, range(seed, seed + seeds)) for kind in kinds]
    mean = float(np.mean([row["ms per frame"] for row in report.rows]))
    per_hour = round(3.6e6 / (mean * _FRAMES), 1)
    report.ratios[f"soft sequences of {_FRAMES} frames per hour and core"] = per_hour
    for young in (1e6,) if quick else (2e5, 1e6, 4e6):
        sag = _sag(young, frames=16 if quick else 36)
        report.ratios[f"sag of a held bar over beam theory, {young:.0e} Pa"] = sag
        if young == 1e6:
            report.checks.append(Check("sag of a held bar off beam theory", abs(sag - 1), 0.25))
    report.notes += [
        f"Soft objects: {STEPS} MuJoCo steps a frame at 24 frames/s, scene set-up included.",
        "Beam theory: small deflections, settled; the softest bar sags too far for it.",
    ]
    return report


def _row(kind: str, frames: int, seeds: range) -> dict:
    stable, start = 0, time.perf_counter()
    for seed in seeds:
        with suppress(SoftDivergedError):
            simulate_soft(kind, seed, frames=frames)
            stable += 1
    spent = time.perf_counter() - start
    return {
        "kind": kind,
        "nodes": round(sum(len(soft_scene(kind, seed).nodes) for seed in seeds) / len(seeds)),
        "ms per frame": round(1e3 * spent / (len(seeds) * frames), 2),
        "stable %": round(100 * stable / len(seeds), 1),
    }


def held_bar(young: float) -> SoftScene:
    """A square bar along x, held at its left end."""
    mesh = blocks(np.ones((1, 1, 1), bool), (_LENGTH, _SIDE, _SIDE), 3, "bar")
    lattice = Lattice.around(mesh, cells=270)
    return SoftScene(
        category="held bar",
        nodes=lattice.nodes,
        elements=lattice.tetrahedra,
        masses=lattice.volumes * _DENSITY,
        skin=embedded_skin(*lattice.carriers(mesh.vertices), mesh.faces, len(lattice.nodes)),
        material={"density": _DENSITY, "young": young, "poisson": 0.3, "damping": 0.02},
        pins=np.flatnonzero(lattice.nodes[:, 0] < -0.5 * _LENGTH + 1e-6),
    )


def beam_sag(young: float) -> float:
    """Metres that the free end of `held_bar` sags, by bending and shear of a slender beam."""
    load = _DENSITY * 9.81 * _SIDE**2
    bending = load * _LENGTH**4 / (8 * young * _SIDE**4 / 12)
    shearing = load * _LENGTH**2 / (2 * 5 / 6 * young / 2.6 * _SIDE**2)
    return bending + shearing


def _sag(young: float, *, frames: int) -> float:
    """Sag over theory, the mean of the last third; infinite if the simulation diverged."""
    try:
        sequence = simulate_scene(held_bar(young), name="held bar", frames=frames)
    except SoftDivergedError:
        return float("inf")
    tip = sequence.vertices[0, :, 0] > 0.5 * _LENGTH - 1e-6
    drop = sequence.vertices[0, tip, 2] - sequence.vertices[-frames // 3 :, tip, 2]
    return round(float(drop.mean()) / beam_sag(young), 3)
