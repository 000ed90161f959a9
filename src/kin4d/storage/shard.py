"""Shard: a few dozen items in one folder of plain arrays, with their checksums.

A shard is a folder of

- ``manifest.jsonl``: one line per item, in order: who it is, its licence and seed, and all that is
  not an array. Items that could not be made are lines with ``rejected_lines``, the reason.
- ``NAME.npy``: the rows of the arrays of that name of all items that have one, after each other.
- ``checksums.json``: size and BLAKE2b of each of these files.

It is written beside its place and renamed into it, so a shard that is there is whole.
"""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from kin4d.errors import InputError
from kin4d.files import atomic_path, read_json, read_json_lines
from kin4d.reading import confined_path, reading
from kin4d.storage.sample_id import SampleId

_REPAIR = (
    "delete this shard's folder and run the command that made the store again; "
    "it makes only what is missing"
)

RowsOf = Callable[[dict[str, Any]], dict[str, int]]
"""Names of an item's arrays and how many rows each has, from its line of the manifest."""


@dataclass(frozen=True, eq=False)
class ShardRecord:
    """One item of a shard, ready to be written.

    Attributes:
        line: Its line of the manifest.
        arrays: By name; those of one name have the same dtype and shape of rows in all items.
            Empty for an item that was dropped.
    """

    line: dict[str, Any]
    arrays: dict[str, np.ndarray]


def rejected_lines(identity: SampleId, reason: str) -> ShardRecord:
    """The record of an item that could not be made."""
    return ShardRecord({**asdict(identity), "dropped": reason}, {})


def write_shard(folder: Path, records: Sequence[ShardRecord]) -> None:
    """Write a shard; it appears whole or not at all."""
    with atomic_path(folder) as path:
        path.mkdir()
        lines = "".join(json.dumps(one.line) + "\n" for one in records)
        (path / "manifest.jsonl").write_text(lines, encoding="utf-8")
        for name in sorted({name for one in records for name in one.arrays}):
            blocks = [one.arrays[name] for one in records if name in one.arrays]
            np.save(path / f"{name}.npy", np.concatenate(blocks), allow_pickle=False)
        sums = {file.name: _checksum(file) for file in sorted(path.iterdir())}
        (path / "checksums.json").write_text(json.dumps(sums, indent=1) + "\n", encoding="utf-8")


class Shard:
    """A shard on disk, memory-mapped. Opening one checks the sizes of its files."""

    def __init__(self, folder: Path, rows_of: RowsOf) -> None:
        self.folder = folder
        with reading(folder, "shard", hint=_REPAIR):
            self._open(folder, rows_of)

    def _open(self, folder: Path, rows_of: RowsOf) -> None:
        sums = read_json(folder / "checksums.json")
        if not isinstance(sums, dict) or "manifest.jsonl" not in sums:
            raise _broken(folder, "its list of checksums is not one")
        self._sums: dict[str, Any] = sums
        for name, (size, _) in sums.items():
            file = _inside(folder, name)
            if not file.is_file():
                raise _broken(folder, f"{name} is missing")
            if file.stat().st_size != size:
                found = file.stat().st_size
                raise _broken(folder, f"{name} is truncated: {found} of {size} bytes")
        lines = read_json_lines(folder / "manifest.jsonl")
        self.lines = [line for line in lines if "dropped" not in line]
        self.dropped = [line for line in lines if "dropped" in line]
        with reading(folder, "shard", place="its manifest", hint=_REPAIR):
            self._starts = _starts(self.lines, rows_of)
        self._maps: dict[str, np.ndarray] = {}

    def arrays(self, index: int) -> dict[str, np.ndarray]:
        """Arrays by name, not copied, of the item at `index` among those not dropped."""
        return {
            name: self._map(name)[start : start + rows]
            for name, (start, rows) in self._starts[index].items()
        }

    def wrong_files(self) -> list[str]:
        """Names of files whose checksum does not match."""
        return [
            name
            for name, expected in self._sums.items()
            if _checksum(_inside(self.folder, name)) != expected
        ]

    def _map(self, name: str) -> np.ndarray:
        if name not in self._maps:
            file = _inside(self.folder, f"{name}.npy")
            with reading(self.folder, "shard", place=f"{name}.npy", hint=_REPAIR):
                found = np.load(file, mmap_mode="r", allow_pickle=False)
                if not isinstance(found, np.ndarray):
                    raise ValueError("it is an archive of arrays")
                self._maps[name] = found
        return self._maps[name]


def sample_id_of(line: dict[str, Any]) -> SampleId:
    """The identity in a line of a manifest."""
    names = ("source", "category", "name", "licence", "instance")
    if not all(isinstance(line[name], str) for name in names):
        raise ValueError("an item's identity is not of words")
    if not isinstance(line["seed"], int | None):
        raise ValueError(f"an item's seed is {line['seed']!r}")
    return SampleId(**{name: line[name] for name in names}, seed=line["seed"])


def _starts(lines: Sequence[dict[str, Any]], rows_of: RowsOf) -> list[dict[str, tuple[int, int]]]:
    """First row and number of rows of every array of every item."""
    ends: Counter[str] = Counter()
    starts = []
    for line in lines:
        rows = rows_of(line)
        if not all(isinstance(count, int) and count >= 0 for count in rows.values()):
            raise ValueError(f"an item's arrays have {[*rows.values()]} rows")
        starts.append({name: (ends[name], count) for name, count in rows.items()})
        ends.update(rows)
    return starts


def _checksum(file: Path) -> list[int | str]:
    with file.open("rb") as stream:
        digest = hashlib.file_digest(stream, lambda: hashlib.blake2b(digest_size=16))
    return [file.stat().st_size, digest.hexdigest()]


def _inside(folder: Path, name: str) -> Path:
    """The file of this name in a shard, which may come from anywhere."""
    return confined_path(folder / "manifest.jsonl", name)


def _broken(folder: Path, why: str) -> InputError:
    return InputError(f"shard {folder} is damaged: {why}", hint=_REPAIR)
