"""The cache of piece objects: what is read back is what was cut, and it is cut once."""

from __future__ import annotations

from dataclasses import fields
from pathlib import Path

import numpy as np
import pytest

from kin4d.errors import InputError
from kin4d.geometry.pieces import PieceSamples
from kin4d.objects.piece_cache import cached_piece_objects
from kin4d.objects.piece_object import LinkJoints, PieceObject
from kin4d.objects.piece_stream import PiecePool, PieceStream
from kin4d.objects.procedural.categories import make_object
from kin4d.objects.sources import articulated_source


def _cut() -> list[PieceObject]:
    rng = np.random.default_rng(0)
    return [PieceObject.of(make_object(name, 3), rng) for name in ("cabinet", "fan", "lamp")]


def test_objects_come_back_as_they_were_and_are_cut_once(tmp_path: Path) -> None:
    calls = []

    def make() -> list[PieceObject]:
        calls.append(1)
        return _cut()

    made = [cached_piece_objects(tmp_path, {"each": 1}, make) for _ in range(2)]
    assert len(calls) == 1
    for found in made:
        for one, other in zip(found, _cut(), strict=True):
            assert one.name == other.name
            for field in ("link", "cloud", "cloud_link", "q0"):
                np.testing.assert_array_equal(getattr(one, field), getattr(other, field))
            for kind, name in ((PieceSamples, "pieces"), (LinkJoints, "joints")):
                for field in fields(kind):
                    a, b = (getattr(getattr(x, name), field.name) for x in (one, other))
                    np.testing.assert_array_equal(a, b)
    cached_piece_objects(tmp_path, {"each": 2}, make)
    assert len(calls) == 2, "another pool is another folder"


def test_batches_from_a_cache_are_those_without_one(tmp_path: Path) -> None:
    source = articulated_source().only(["box", "safe"])
    pools = [
        PiecePool.procedural(source, "train", each=2, cache=cache)
        for cache in (None, tmp_path, tmp_path)
    ]
    first, *others = (PieceStream([pool], batch=4, seed=3)[0] for pool in pools)
    for batch, targets in others:
        assert (batch.points == first[0].points).all()
        assert (targets.relation == first[1].relation).all()


def test_a_broken_cache_names_its_folder_and_says_what_to_do(tmp_path: Path) -> None:
    cached_piece_objects(tmp_path, {}, _cut)
    (folder,) = tmp_path.iterdir()
    (folder / "pieces.points.npy").write_bytes(b"broken")
    with pytest.raises(InputError, match=f"{folder.name}.*delete it"):
        cached_piece_objects(tmp_path, {}, _cut)
