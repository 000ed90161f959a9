"""Stores: many items on disk, in shards that are each whole or not there.

A store is a folder with ``store.json`` (format, version and the plan it is made by) and
``shards/00000000``, ``shards/00000001``, ... (see `kin4d.storage.shard`). A shard's number says
which items of the plan it holds, so what is missing after any interruption is plain to see, and
nothing can be there twice.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, ClassVar, Self, TypeVar

import numpy as np

from kin4d.errors import InputError
from kin4d.files import read_json, write_json
from kin4d.progress import track
from kin4d.reading import reading
from kin4d.storage.sample_id import SampleId
from kin4d.storage.shard import Shard, ShardRecord, sample_id_of, write_shard

Item = TypeVar("Item")


class ShardStore:
    """A store opened for reading; items are numbered through all shards.

    Attributes:
        FORMAT: What ``store.json`` calls this kind of store.
        VERSION: The newest version of the format that can be read.
        COMMAND: What makes such a store.
        path: Its folder.
        plan: What it was made by, as JSON values.
        shards: All that are there, in order.
        lines: Of the manifests, for all items, in order.
        identities: Of all items, in order.
    """

    FORMAT: ClassVar[str]
    VERSION: ClassVar[int] = 1
    COMMAND: ClassVar[str]

    def __init__(self, path: str | Path) -> None:
        self.path = Path(path)
        with reading(self.path, "store"):
            self.plan: dict[str, Any] = _read_head(self.path, type(self))["plan"]
            self.shards = tuple(Shard(folder, self.rows_of) for folder in _shard_folders(self.path))
            self.lines: list[dict[str, Any]] = [line for s in self.shards for line in s.lines]
            self.identities: list[SampleId] = [sample_id_of(line) for line in self.lines]
        self._where = [(s, i) for s in self.shards for i in range(len(s.lines))]

    @classmethod
    def open(cls, path: str | Path) -> Self:
        """Open a store; one from a newer version, or with a truncated shard, is an `InputError`."""
        return cls(path)

    @staticmethod
    def rows_of(line: dict[str, Any]) -> dict[str, int]:
        """Names of an item's arrays and how many rows each has."""
        raise NotImplementedError

    def __reduce__(self) -> tuple[Any, ...]:
        # Memory maps stay behind: another process opens its own.
        return type(self), (self.path,)

    def __len__(self) -> int:
        return len(self.identities)

    def arrays(self, index: int) -> dict[str, np.ndarray]:
        """Arrays of item number `index`, as they are in the shard."""
        if not -len(self) <= index < len(self):
            allowed = f"0 to {len(self) - 1}" if len(self) else "it is empty"
            raise InputError(f"{self.path} has no such item", value=index, allowed=allowed)
        shard, row = self._where[index]
        return shard.arrays(row)

    @property
    def size(self) -> int:
        """Bytes on disk."""
        return sum(file.stat().st_size for s in self.shards for file in s.folder.iterdir())

    @property
    def dropped(self) -> list[dict[str, Any]]:
        """Manifest lines of items that could not be made, each with the reason."""
        return [line for shard in self.shards for line in shard.dropped]

    def verify(self) -> list[str]:
        """What is wrong: files that differ from their checksum, and items that appear twice."""
        problems = [
            f"{shard.folder.name}/{name} differs from its checksum"
            for shard in track(self.shards, "checking shards")
            for name in shard.wrong_files()
        ]
        seen: set[str] = set()
        for who in self.identities:
            if who.key in seen:
                problems.append(f"{who.key} is there twice")
            seen.add(who.key)
        return problems

    @classmethod
    def _write(
        cls,
        path: str | Path,
        plan: dict[str, Any],
        items: Sequence[Item],
        make: Callable[[Item], ShardRecord],
        per_shard: int,
    ) -> Self:
        """Write what is missing of `items`, each made into a record."""
        with StoreWriter.begin(path, plan, cls) as writer:
            for number in range(-(-len(items) // per_shard)):
                if not writer.has(number):
                    chosen = items[number * per_shard : (number + 1) * per_shard]
                    writer.commit(number, [make(one) for one in chosen])
        return cls(path)


class StoreWriter:
    """A store opened for writing, by one process at a time."""

    def __init__(self, path: Path) -> None:
        self.path = path

    @classmethod
    @contextmanager
    def begin(
        cls, path: str | Path, plan: dict[str, Any], kind: type[ShardStore], *, grows: bool = False
    ) -> Iterator[StoreWriter]:
        """Begin a store, or go on with one that was begun by the same plan.

        Args:
            path: The store's folder.
            plan: JSON values that say what each shard will hold.
            kind: What opens it.
            grows: Whether shards are the same whatever the plan's "count" is, so that a larger
                count goes on with a store of a smaller one.
        """
        path = Path(path)
        head = path / "store.json"
        metadata = {"format": kind.FORMAT, "version": kind.VERSION, "plan": plan}
        if not head.is_file():
            if path.is_dir() and any(not item.name.startswith(".") for item in path.iterdir()):
                raise InputError(f"{path} is not empty and not a store", hint="choose a new folder")
            write_json(head, metadata)
        with _lock(path):
            found = _read_head(path, kind)["plan"]
            if grows and found["count"] < plan["count"] and not found["count"] % plan["per_shard"]:
                found["count"] = plan["count"]
            # A store without shards has nothing that another plan could spoil.
            if found != plan and _shard_folders(path):
                wrong = sorted(key for key in {*found, *plan} if found.get(key) != plan.get(key))
                raise InputError(
                    f"{path} was begun with another {', '.join(wrong)}",
                    value={key: plan.get(key) for key in wrong},
                    allowed=str({key: found.get(key) for key in wrong}),
                    hint="repeat the command it was begun with, or choose a new folder",
                )
            write_json(head, metadata)
            # Left by a killed writer; there is no other writer while the lock is held.
            for leftover in (*path.glob(".*"), *(path / "shards").glob(".*")):
                shutil.rmtree(leftover, ignore_errors=True)
            yield cls(path)

    def has(self, number: int) -> bool:
        """Whether a shard is finished."""
        return _folder(self.path, number).is_dir()

    def commit(self, number: int, records: Sequence[ShardRecord]) -> None:
        """Write a shard; killed before this returns, it is either there whole or not at all."""
        write_shard(_folder(self.path, number), records)


def _folder(path: Path, number: int) -> Path:
    return path / "shards" / f"{number:08d}"


def _shard_folders(path: Path) -> list[Path]:
    return sorted(folder for folder in (path / "shards").glob("[0-9]*") if folder.is_dir())


def _read_head(path: Path, kind: type[ShardStore]) -> dict[str, Any]:
    if not (path / "store.json").is_file():
        raise InputError(f"{path} is not a store", hint=f"make one with: {kind.COMMAND}")
    head = read_json(path / "store.json")
    if not isinstance(head, dict) or head.get("format") != kind.FORMAT:
        raise InputError(
            f"{path}/store.json is not of such a store", allowed=f'format "{kind.FORMAT}"'
        )
    version = head.get("version")
    if not isinstance(version, int) or version > kind.VERSION:
        raise InputError(
            f"{path} was written by a newer version of kin4d",
            value=version,
            allowed=f"format version up to {kind.VERSION}",
            hint="update kin4d",
        )
    return head


@contextmanager
def _lock(path: Path) -> Iterator[None]:
    """Hold the store for writing; the system lets go of it when this process ends, however."""
    import fcntl

    with (path / "store.lock").open("w") as stream:
        try:
            fcntl.flock(stream, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            raise InputError(
                f"{path} is being written by another process", hint="wait for it to end"
            ) from None
        yield
