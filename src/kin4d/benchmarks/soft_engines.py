"""Engines for soft things side by side: do they stay stable, are they true, how long they take.

The same scenes are run on each engine. Truth is asked of a case that has an answer on paper: how
far a bar that is held at one end sags under its own weight.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import suppress
from importlib.util import find_spec

import numpy as np

from kin4d.benchmarks.report import Check, Report
from kin4d.geometry.lattice import Lattice
from kin4d.objects.soft.flex import FlexEngine
from kin4d.objects.soft.kinds import KINDS, soft_scene
from kin4d.objects.soft.scene import SoftDivergedError, SoftScene
from kin4d.objects.soft.shapes import blocks
from kin4d.objects.soft.simulate import STEPS, Engine, simulate_engine
from kin4d.objects.soft.skin import embedded_skin
from kin4d.objects.soft.xpbd import XpbdEngine

_FRAMES = 48
_BARE = ("cloth_corner", "cloth_edge", "solid_twist", "solid_shake")  # no contact, no pokes
_LENGTH, _SIDE, _DENSITY = 0.4, 0.1, 1000.0  # of the bar: m, m, kg/m³

Maker = Callable[[SoftScene, float], Engine]


def run(*, quick: bool, seed: int) -> Report:
    """One row for each engine and kind, and the sag of a held bar."""
    report = Report()
    frames, seeds = (8, 1) if quick else (_FRAMES, 6)
    for name, (maker, licence) in engines().items():
        kinds = [kind for kind in KINDS if _fits(name, kind)]
        if quick:
            kinds = [kind for kind in kinds if kind in ("cloth_corner", "solid_twist", "rope_fall")]
        rows = [_row(name, maker, licence, kind, frames, seed, seeds) for kind in kinds]
        report.rows += rows
        mean = float(np.mean([row["ms per frame"] for row in rows]))
        report.ratios[f"soft sequences of {_FRAMES} frames per hour and core, {name}"] = round(
            3.6e6 / (mean * _FRAMES), 1
        )
        if not any(kind.startswith("solid") for kind in kinds):
            continue
        for young in (1e6,) if quick else (2e5, 1e6, 4e6):
            sag = _sag(maker, young, frames=16 if quick else 36)
            report.ratios[f"sag of a held bar over beam theory, {young:.0e} Pa, {name}"] = sag
            if name == "mujoco" and young == 1e6:
                report.checks.append(
                    Check("mujoco: sag of a held bar off beam theory", abs(sag - 1), 0.25)
                )
    report.notes += [
        f"{STEPS} steps a frame at 24 frames/s; scenes include their making; one core.",
        "Beam theory: small deflections, settled; the softest bar sags too far for it.",
        "taichi is a compiler without a solver of its own: our kernels in numba stand for it.",
    ]
    if find_spec("newton") is None:
        report.notes.append("newton is not installed: its rows are left out (pip install newton).")
    return report


def engines() -> dict[str, tuple[Maker, str]]:
    """The engines that are installed: how to start them, and the licence of their code."""
    found: dict[str, tuple[Maker, str]] = {
        "xpbd": (lambda scene, length: XpbdEngine(scene), "Apache-2.0 (ours)")
    }
    if find_spec("mujoco") is not None:
        found["mujoco"] = (lambda scene, length: FlexEngine(scene, length=length), "Apache-2.0")
    if find_spec("newton") is not None:
        from kin4d.benchmarks.soft_newton import NewtonEngine

        found["newton vbd"] = (lambda scene, _: NewtonEngine(scene, solver="vbd"), "Apache-2.0")
        found["newton xpbd"] = (lambda scene, _: NewtonEngine(scene, solver="xpbd"), "Apache-2.0")
    return found


def _fits(engine: str, kind: str) -> bool:
    if engine.startswith("newton"):
        return kind in _BARE
    return engine == "xpbd" or not kind.startswith(("rope", "chain"))


def _row(name, maker: Maker, licence: str, kind: str, frames: int, seed: int, seeds: int) -> dict:
    with suppress(SoftDivergedError):
        simulate_engine(
            soft_scene(kind, seed), name=kind, engine=maker, frames=2
        )  # compiled and warm
    stable, spent, vertices = 0, 0.0, 0
    for number in range(seed, seed + seeds):
        start = time.perf_counter()
        scene = soft_scene(kind, number)
        vertices += len(scene.nodes)
        try:
            simulate_engine(scene, name=kind, engine=maker, frames=frames)
            stable += 1
        except SoftDivergedError:
            pass
        spent += time.perf_counter() - start
    return {
        "engine": name,
        "kind": kind,
        "nodes": round(vertices / seeds),
        "ms per frame": round(1e3 * spent / (seeds * frames), 2),
        "stable %": round(100 * stable / seeds, 1),
        "licence": licence,
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


def _sag(maker: Maker, young: float, *, frames: int) -> float:
    """Sag over theory, the mean of the last third; infinite if it blew up."""
    try:
        sequence = simulate_engine(held_bar(young), name="held bar", engine=maker, frames=frames)
    except SoftDivergedError:
        return float("inf")
    tip = sequence.vertices[0, :, 0] > 0.5 * _LENGTH - 1e-6
    drop = sequence.vertices[0, tip, 2] - sequence.vertices[-frames // 3 :, tip, 2]
    return round(float(drop.mean()) / beam_sag(young), 3)
