"""SequenceStore: motions of many objects on disk, in shards that are each whole or not there.

A store is a folder with ``store.json`` (format, version and the plan it is made by) and
``shards/00000000``, ``shards/00000001``, ... (see `kin4d.data.shard`). A shard's number says which
items of the plan it holds, so what is missing after any interruption is plain to see, and nothing
can be there twice.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from kin4d.data.sequence_specimen import SequenceSpecimen
from kin4d.data.shard import Record, Shard, identity_of, record, write_shard
from kin4d.data.sources import ListedSource
from kin4d.data.specimen import Identity, Specimen
from kin4d.errors import InputError
from kin4d.files import read_json, write_json
from kin4d.progress import track

FORMAT, VERSION = "kin4d sequences", 1


class SequenceStore:
    """A store opened for reading; sequences are numbered through all shards.

    Attributes:
        path: Its folder.
        plan: What it was made by, as JSON values.
        shards: All that are there, in order.
        identities: Of all sequences, in order.
    """

    def __init__(self, path: str | Path) -> None:
        self.path = Path(path)
        head = _read_head(self.path)
        self.plan: dict[str, Any] = head["plan"]
        self.shards = tuple(Shard(folder) for folder in _shard_folders(self.path))
        self.lines: list[dict[str, Any]] = [line for s in self.shards for line in s.lines]
        self.identities: list[Identity] = [identity_of(line) for line in self.lines]
        self._where = [(s, i) for s in self.shards for i in range(len(s.lines))]

    @classmethod
    def open(cls, path: str | Path) -> SequenceStore:
        """Open a store; one from a newer version, or with a truncated shard, is an `InputError`."""
        return cls(path)

    def __reduce__(self) -> tuple[Any, ...]:
        # Memory maps stay behind: another process opens its own.
        return SequenceStore, (self.path,)

    def __len__(self) -> int:
        return len(self.identities)

    def specimen(self, index: int) -> SequenceSpecimen:
        """Sequence number `index`."""
        shard, place = self._where[index]
        return shard.specimen(place)

    def source(self) -> ListedSource:
        """All of it, to draw training pairs from."""
        return ListedSource(self.path.name, self.identities, self.specimen)

    @property
    def dropped(self) -> list[dict[str, Any]]:
        """Manifest lines of items that could not be made, each with the reason."""
        return [line for shard in self.shards for line in shard.dropped]

    def verify(self) -> list[str]:
        """What is wrong: files that differ from their checksum, and sequences that appear twice."""
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
    def write(
        cls,
        path: str | Path,
        specimens: Sequence[Specimen],
        *,
        frames: int = 16,
        per_shard: int = 32,
    ) -> SequenceStore:
        """Write specimens that are at hand; goes on where an earlier call was interrupted.

        Args:
            path: The store's folder.
            specimens: What to write; the same ones when going on.
            frames: Length of the tracks of specimens that have none of their own.
            per_shard: Sequences per shard.
        """
        plan = {"keys": [one.identity.key for one in specimens], "per_shard": per_shard}
        with StoreWriter.begin(path, plan | {"frames": frames}) as writer:
            for number in range(-(-len(specimens) // per_shard)):
                if not writer.has(number):
                    chosen = specimens[number * per_shard : (number + 1) * per_shard]
                    writer.commit(number, [record(one, frames=frames) for one in chosen])
        return cls(path)


class StoreWriter:
    """A store opened for writing, by one process at a time."""

    def __init__(self, path: Path) -> None:
        self.path = path

    @classmethod
    @contextmanager
    def begin(cls, path: str | Path, plan: dict[str, Any]) -> Iterator[StoreWriter]:
        """Begin a store, or go on with one that was begun by the same plan.

        Args:
            path: The store's folder.
            plan: JSON values that say what each shard will hold.
        """
        path = Path(path)
        head = path / "store.json"
        if not head.is_file():
            if path.is_dir() and any(not item.name.startswith(".") for item in path.iterdir()):
                raise InputError(f"{path} is not empty and not a store", hint="choose a new folder")
            write_json(head, {"format": FORMAT, "version": VERSION, "plan": plan})
        found = _read_head(path)["plan"]
        if found != plan:
            wrong = sorted(key for key in {*found, *plan} if found.get(key) != plan.get(key))
            raise InputError(
                f"{path} was begun with another {', '.join(wrong)}",
                value={key: plan.get(key) for key in wrong},
                allowed=str({key: found.get(key) for key in wrong}),
                hint="repeat the command it was begun with, or choose a new folder",
            )
        with _lock(path):
            # What a killed writer left half done. Nobody else writes: we hold the lock.
            for leftover in (*path.glob(".*"), *(path / "shards").glob(".*")):
                shutil.rmtree(leftover, ignore_errors=True)
            yield cls(path)

    def has(self, number: int) -> bool:
        """Whether a shard is finished."""
        return _folder(self.path, number).is_dir()

    def commit(self, number: int, records: Sequence[Record]) -> None:
        """Write a shard; killed before this returns, it is either there whole or not at all."""
        write_shard(_folder(self.path, number), records)


def _folder(path: Path, number: int) -> Path:
    return path / "shards" / f"{number:08d}"


def _shard_folders(path: Path) -> list[Path]:
    return sorted(folder for folder in (path / "shards").glob("[0-9]*") if folder.is_dir())


def _read_head(path: Path) -> dict[str, Any]:
    if not (path / "store.json").is_file():
        raise InputError(
            f"{path} is not a store", hint="make one with: kin4d data objects --out DIR"
        )
    head = read_json(path / "store.json")
    if not isinstance(head, dict) or head.get("format") != FORMAT:
        raise InputError(f"{path}/store.json is not of a store", allowed=f'format "{FORMAT}"')
    version = head.get("version")
    if not isinstance(version, int) or version > VERSION:
        raise InputError(
            f"{path} was written by a newer version of kin4d",
            value=version,
            allowed=f"format version up to {VERSION}",
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
