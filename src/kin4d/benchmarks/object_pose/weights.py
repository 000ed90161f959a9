"""Weights: which models are evaluated, from names, files, runs and folders of runs."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from kin4d.benchmarks.object_pose.methods import Cage, Learned, Method
from kin4d.errors import InputError
from kin4d.neurok.pretrained import FILE, SHIPPED, neurok_weights_file
from kin4d.training.checkpoint import load_tensors

FULL = "full"
"""In a folder of runs, the one that others are compared with."""

CAGE = SHIPPED / "cage.safetensors"


@dataclass(frozen=True)
class Entry:
    """One set of weights.

    Attributes:
        file: Where they are.
        name: For people.
        kind: "neurok" or "cage".
        hours: Spent on training them, NaN if they do not say.
        run: Whether it is one of a folder of runs, to be compared with that folder's `FULL`.
    """

    file: Path
    name: str
    kind: str
    hours: float
    run: bool = False

    @property
    def digest(self) -> str:
        """Of the file: 16 hex digits of SHA-256."""
        return hashlib.sha256(self.file.read_bytes()).hexdigest()[:16]


def find_weights(names: Sequence[str]) -> list[Entry]:
    """The weights of `names`, and the cage deformer's that ship unless others are given.

    Args:
        names: Each one that `from_pretrained` knows, the cage deformer's file, or a folder of runs:
            one subfolder each.
    """
    found = []
    for name in names:
        folder = Path(name)
        runs = sorted(folder.glob(f"*/{FILE}")) if folder.is_dir() else []
        if runs and not (folder / FILE).is_file():
            found += [_entry(file, file.parent.name, run=True) for file in runs]
        else:
            label = folder.name if folder.is_dir() else folder.stem
            found.append(_entry(neurok_weights_file(name), label))
    if CAGE.is_file() and not any(one.kind == "cage" for one in found):
        found.append(_entry(CAGE, "cage"))
    return found


def _entry(file: Path, name: str, *, run: bool = False) -> Entry:
    _, about = load_tensors(file)
    kind = about.get("model")
    if kind not in ("neurok", "cage"):
        raise InputError(f"{file} holds another model", value=kind, allowed="neurok, cage")
    hours = about.get("training", {}).get("hours", float("nan"))
    return Entry(file, name, str(kind), float(hours), run and kind == "neurok")


def main_model(entries: Sequence[Entry]) -> Entry | None:
    """The model that thresholds apply to: the first that is no run of a folder, else the full."""
    models = [one for one in entries if one.kind == "neurok"]
    alone = [one for one in models if not one.run] or [one for one in models if one.name == FULL]
    return (alone or models or [None])[0]


def weight_rows(entries: Sequence[Entry]) -> tuple[list[Method], list[Method]]:
    """Methods for all objects, and those that run on the test split only: the ablations."""
    main = main_model(entries)
    everywhere: list[Method] = []
    apart: list[Method] = []
    for one in entries:
        if one.kind == "cage":
            everywhere += [
                Cage(str(one.file)),
                Cage(str(one.file), search=True, name="keypoint cage, searched"),
            ]
        elif one is main:
            everywhere.append(Learned(str(one.file), row_name(one)))
            apart.append(Learned(str(one.file), unreduced_name(one), reduced=False))
        else:
            apart.append(Learned(str(one.file), row_name(one)))
    return everywhere, apart


def row_name(entry: Entry) -> str:
    """What a model's row is called."""
    return f"NeuROK, {entry.name}"


def unreduced_name(entry: Entry) -> str:
    """What the row of a model without reduction is called."""
    return f"NeuROK, {entry.name}, state not reduced"
