"""Creatures: skeletons made from shapes alone, against the clips and joints of animated files."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from kin4d.benchmarks.creatures.cases import find_cases
from kin4d.benchmarks.creatures.run import run_creature
from kin4d.benchmarks.creatures.sheet import draw_creatures
from kin4d.benchmarks.creatures.tables import creatures_report
from kin4d.benchmarks.report import Report
from kin4d.progress import track

_FRAMES = 1  # of each file
_QUICK = 2  # files


def run(
    *,
    quick: bool,
    seed: int,
    objects: Sequence[Path] = (),
    split: str = "test",
    images: Path | None = None,
) -> Report:
    """Rows of every kind and file in folders of animated glTF files; nothing without folders.

    Args:
        quick: Two files and one frame of each.
        seed: Of frames, samples and states.
        objects: Folders.
        split: "test", or "dev" for choosing.
        images: A folder for a contact sheet of twenty files, drawn by seed.
    """
    files = find_cases(objects, split)
    if not files:
        return Report(notes=["creatures: no animated .glb or .gltf files: give --objects a folder"])
    if images is not None:
        draw_creatures(files, images / f"creatures_{split}.jpg", seed=seed)
    chosen = files[:_QUICK] if quick else files
    frames = 1 if quick else _FRAMES
    found = [
        run_creature(path, frames=frames, seed=seed) for path in track(chosen, "fitting creatures")
    ]
    results = [one for one in found if not isinstance(one, str)]
    return creatures_report(results, [one for one in found if isinstance(one, str)])
