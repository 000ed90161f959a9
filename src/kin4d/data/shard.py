"""Shard: a few dozen sequences in one folder of plain arrays, with their checksums.

A shard is a folder of

- ``manifest.jsonl``: one line per sequence, in order: who it is, its licence and seed, how many
  frames T, vertices V and faces F it has, and all that is not an array. Items that could not be
  made are lines with ``dropped``, the reason.
- ``vertices.npy`` [sum T V, 3] float32 m, ``faces.npy`` [sum F, 3] int32, and for the sequences
  whose line names them in ``arrays``: ``velocities.npy`` and ``forces.npy`` [sum T V, 3] float32,
  ``part.npy`` [sum F] int32, ``colors.npy`` [sum V, 3] uint8. Sequences follow each other.
- ``checksums.json``: size and BLAKE2b of each of these files.

It is written beside its place and renamed into it, so a shard that is there is whole.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from kin4d.data.articulated_specimen import ArticulatedSpecimen
from kin4d.data.sequence import VertexSequence
from kin4d.data.sequence_specimen import SequenceSpecimen
from kin4d.data.specimen import Identity, Specimen
from kin4d.errors import InputError
from kin4d.files import atomic_path, read_json

_TRACKS = ("vertices", "velocities", "forces")
_DTYPES = {
    "vertices": np.float32,
    "faces": np.int32,
    "velocities": np.float32,
    "forces": np.float32,
    "part": np.int32,
    "colors": np.uint8,
}


@dataclass(frozen=True, eq=False)
class Record:
    """One item of a shard, ready to be written.

    Attributes:
        line: Its line of the manifest.
        arrays: By name; see the module. Empty for an item that was dropped.
    """

    line: dict[str, Any]
    arrays: dict[str, np.ndarray]


def record(specimen: Specimen, *, frames: int = 16, fps: float = 10.0) -> Record:
    """A specimen's motion as a record: a sequence as it is, anything else by its `track`.

    Args:
        specimen: The object.
        frames: Length of the track.
        fps: Frames per second of the track.
    """
    arrays: dict[str, np.ndarray] = {"faces": specimen.faces}
    extra: dict[str, Any] = {"fps": fps, "material": {}, "pins": [], "meta": {}}
    if isinstance(specimen, SequenceSpecimen):
        sequence = specimen.sequence
        for name in _TRACKS:
            if (track := getattr(sequence, name)) is not None:
                arrays[name] = track
        extra = {
            "fps": sequence.fps,
            "material": dict(sequence.material),
            "pins": sequence.pins.tolist(),
            "meta": dict(sequence.meta),
        }
    else:
        states = specimen.track(frames)
        arrays["vertices"] = specimen.vertices(states)
        if isinstance(specimen, ArticulatedSpecimen):
            names = [joint.name for joint in specimen.object.free_joints]
            extra["meta"] = {"joints": names, "q": states.round(9).tolist()}
    if (specimen.face_part >= 0).all():
        arrays["part"] = specimen.face_part
    if specimen.colors is not None:
        arrays["colors"] = specimen.colors
    arrays = {name: np.ascontiguousarray(array, _DTYPES[name]) for name, array in arrays.items()}
    length, count = arrays["vertices"].shape[:2]
    counts = {"frames": length, "vertices": count, "faces": len(specimen.faces)}
    line = {**asdict(specimen.identity), **counts, **extra, "arrays": sorted(arrays)}
    return Record(line, arrays)


def dropped(identity: Identity, reason: str) -> Record:
    """The record of an item that could not be made."""
    return Record({**asdict(identity), "dropped": reason}, {})


def write_shard(folder: Path, records: Sequence[Record]) -> None:
    """Write a shard; it appears whole or not at all."""
    with atomic_path(folder) as path:
        path.mkdir()
        lines = "".join(json.dumps(one.line) + "\n" for one in records)
        (path / "manifest.jsonl").write_text(lines, encoding="utf-8")
        for name in _DTYPES:
            blocks = [_rows(one.arrays[name]) for one in records if name in one.arrays]
            if blocks:
                np.save(path / f"{name}.npy", np.concatenate(blocks), allow_pickle=False)
        sums = {file.name: _checksum(file) for file in sorted(path.iterdir())}
        (path / "checksums.json").write_text(json.dumps(sums, indent=1) + "\n", encoding="utf-8")


class Shard:
    """A shard on disk, memory-mapped. Opening one checks the sizes of its files."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        sums = read_json(folder / "checksums.json")
        if not isinstance(sums, dict) or "manifest.jsonl" not in sums:
            raise _broken(folder, "its list of checksums is not one")
        self._sums: dict[str, Any] = sums
        for name, (size, _) in sums.items():
            file = folder / name
            if not file.is_file():
                raise _broken(folder, f"{name} is missing")
            if file.stat().st_size != size:
                found = file.stat().st_size
                raise _broken(folder, f"{name} is truncated: {found} of {size} bytes")
        text = (folder / "manifest.jsonl").read_text(encoding="utf-8")
        try:
            lines = [json.loads(line) for line in text.splitlines()]
            self.lines = [line for line in lines if "dropped" not in line]
            self.dropped = [line for line in lines if "dropped" in line]
            self._starts = _starts(self.lines)
        except (ValueError, KeyError, TypeError) as error:
            raise _broken(folder, f"its manifest cannot be read: {error!r}") from error
        self._maps: dict[str, np.ndarray] = {}

    def specimen(self, index: int) -> SequenceSpecimen:
        """The sequence at `index` among those not dropped."""
        line = self.lines[index]
        arrays = {name: self._array(name, index) for name in line["arrays"]}
        who = identity_of(line)
        frames, count = line["frames"], line["vertices"]
        tracks = {
            name: arrays[name].reshape(frames, count, 3) for name in _TRACKS if name in arrays
        }
        sequence = VertexSequence(
            name=who.name,
            category=who.category,
            source=who.source,
            licence=who.licence,
            seed=who.seed or 0,
            faces=arrays["faces"],
            fps=line["fps"],
            material=line["material"],
            pins=np.array(line["pins"], np.int64),
            meta=line["meta"],
            **tracks,
        )
        part = arrays["part"].astype(np.int64) if "part" in arrays else None
        return SequenceSpecimen(sequence, who, face_part=part, colors=arrays.get("colors"))

    def wrong_files(self) -> list[str]:
        """Names of files whose checksum does not match."""
        return [
            name
            for name, expected in self._sums.items()
            if _checksum(self.folder / name) != expected
        ]

    def _array(self, name: str, index: int) -> np.ndarray:
        if name not in self._maps:
            try:
                self._maps[name] = np.load(self.folder / f"{name}.npy", mmap_mode="r")
            except (OSError, ValueError) as error:
                raise _broken(self.folder, f"{name}.npy cannot be read: {error}") from error
        start, rows = self._starts[index][name]
        return self._maps[name][start : start + rows]


def identity_of(line: dict[str, Any]) -> Identity:
    """The identity in a line of a manifest."""
    names = ("source", "category", "name", "licence", "seed", "instance")
    return Identity(**{name: line[name] for name in names})


def _rows(array: np.ndarray) -> np.ndarray:
    return array.reshape(-1, 3) if array.ndim == 3 else array


def _starts(lines: Sequence[dict[str, Any]]) -> list[dict[str, tuple[int, int]]]:
    """First row and number of rows of every array of every sequence."""
    ends = dict.fromkeys(_DTYPES, 0)
    starts = []
    for line in lines:
        track = line["frames"] * line["vertices"]
        rows = {"faces": line["faces"], "part": line["faces"], "colors": line["vertices"]}
        here = {}
        for name in line["arrays"]:
            count = rows.get(name, track)
            here[name] = (ends[name], count)
            ends[name] += count
        starts.append(here)
    return starts


def _checksum(file: Path) -> list[int | str]:
    with file.open("rb") as stream:
        digest = hashlib.file_digest(stream, lambda: hashlib.blake2b(digest_size=16))
    return [file.stat().st_size, digest.hexdigest()]


def _broken(folder: Path, why: str) -> InputError:
    return InputError(
        f"shard {folder} is damaged: {why}",
        hint="delete this shard's folder and run the command that made the store again; "
        "it makes only what is missing",
    )
