"""A cache of piece objects: cutting thousands of objects takes minutes, reading them back seconds.

One folder per pool, one .npy file per field with the rows of all objects, mapped into memory, so
that processes share them.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Sequence
from dataclasses import fields
from itertools import pairwise
from pathlib import Path

import numpy as np

from kin4d.files import atomic_path, read_json, remove_abandoned, write_json
from kin4d.geometry.pieces import PieceSamples
from kin4d.objects.piece_object import LinkJoints, PieceObject
from kin4d.reading import reading

_VERSION = 1
"""Of the layout and of how objects are cut: other caches are made again."""

_TABLES = ("pieces", "cloud", "joints", "free")


def cached_piece_objects(
    cache: Path | None, description: dict, make: Callable[[], Sequence[PieceObject]]
) -> Sequence[PieceObject]:
    """The objects that `make` cuts, read from a cache if they are there, else kept in it.

    Args:
        cache: A folder; None for no cache.
        description: JSON that tells this pool from others: its sources, split and how many.
        make: Cuts the objects.
    """
    if cache is None:
        return make()
    text = json.dumps({"version": _VERSION, **description}, sort_keys=True)
    folder = cache / hashlib.sha256(text.encode()).hexdigest()[:16]
    remove_abandoned(cache)
    if not folder.exists():
        objects = make()
        with atomic_path(folder) as part:
            write_piece_objects(part, objects)
    with reading(folder, "cache of pieces", hint="delete it: it is made again"):
        return read_piece_objects(folder)


def write_piece_objects(folder: Path, objects: Sequence[PieceObject]) -> None:
    """Write objects into a new folder."""
    folder.mkdir()
    for table in _TABLES:
        rows = [_columns(obj, table) for obj in objects]
        counts = np.array([len(next(iter(row.values()))) for row in rows], np.int64)
        np.save(folder / f"{table}.rows.npy", np.concatenate([[0], np.cumsum(counts)]))
        for name in rows[0]:
            np.save(folder / f"{table}.{name}.npy", np.concatenate([row[name] for row in rows]))
    write_json(folder / "names.json", [obj.name for obj in objects])


def read_piece_objects(folder: Path) -> list[PieceObject]:
    """Objects of a folder, mapped from its files."""
    tables = {}
    for table in _TABLES:
        columns = {
            path.stem.removeprefix(f"{table}."): np.load(path, mmap_mode="r")
            for path in folder.glob(f"{table}.*.npy")
        }
        rows = columns.pop("rows")
        tables[table] = [
            {name: column[start:stop] for name, column in columns.items()}
            for start, stop in pairwise(rows)
        ]
    return [
        PieceObject(
            name=name,
            pieces=PieceSamples(**{key: v for key, v in pieces.items() if key != "link"}),
            link=pieces["link"],
            cloud=cloud["points"],
            cloud_link=cloud["link"],
            joints=LinkJoints(**joints),
            q0=free["q0"],
        )
        for name, pieces, cloud, joints, free in zip(
            read_json(folder / "names.json"), *(tables[table] for table in _TABLES), strict=True
        )
    ]


def _columns(obj: PieceObject, table: str) -> dict[str, np.ndarray]:
    if table == "pieces":
        own = {one.name: getattr(obj.pieces, one.name) for one in fields(PieceSamples)}
        return {**own, "link": obj.link}
    if table == "cloud":
        return {"points": obj.cloud, "link": obj.cloud_link}
    if table == "joints":
        return {one.name: getattr(obj.joints, one.name) for one in fields(LinkJoints)}
    return {"q0": obj.q0}
