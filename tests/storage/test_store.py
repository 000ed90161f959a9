"""Stores give back what was put in, survive kill -9, and say what is wrong with them."""

from __future__ import annotations

import errno
import json
import multiprocessing
import pickle
from pathlib import Path

import numpy as np
import pytest

from kin4d.errors import InputError, OutputError
from kin4d.objects.object_sample import ObjectSample
from kin4d.objects.pairs import make_pairs
from kin4d.objects.sequence import VertexSequence
from kin4d.objects.sequence_io import sequence_record
from kin4d.objects.sequence_sample import SequenceSample
from kin4d.objects.sequence_store import SequenceStore
from kin4d.objects.sources import make_articulated
from kin4d.storage.sample_id import SampleId
from kin4d.storage.shard import rejected_lines
from kin4d.storage.store import StoreWriter


def flag(seed: int) -> SequenceSample:
    rng = np.random.default_rng(seed)
    tracks = {name: rng.normal(size=(4, 5, 3)) for name in ("vertices", "velocities", "forces")}
    return SequenceSample(
        VertexSequence(
            name=str(seed),
            category="flag",
            source="engine 1",
            licence="CC0-1.0",
            seed=seed,
            faces=np.array([[0, 1, 2], [2, 3, 4]]),
            fps=30.0,
            material={"density": 0.2},
            pins=np.array([0, 3]),
            meta={"gravity": [0, 0, -9.81]},
            **tracks,
        )
    )


def things() -> list[ObjectSample]:
    return [make_articulated("laptop", 1), flag(1), make_articulated("door", 2), flag(2), flag(3)]


def test_what_goes_in_comes_out(tmp_path: Path) -> None:
    put = things()
    store = SequenceStore.write(tmp_path / "s", put, frames=6, per_shard=2)
    assert len(store) == 5
    assert [who.key for who in store.identities] == [one.identity.key for one in put]
    assert store.identities[1].licence == "CC0-1.0"
    assert store.verify() == []
    got = store.sample(3).sequence
    expected = flag(2).sequence
    for name in ("vertices", "velocities", "forces", "faces", "pins"):
        np.testing.assert_array_equal(getattr(got, name), getattr(expected, name))
    assert (got.fps, dict(got.material), dict(got.meta)) == (
        30.0, {"density": 0.2}, {"gravity": [0, 0, -9.81]},
    )  # fmt: skip
    laptop = store.sample(0)
    np.testing.assert_allclose(
        laptop.vertices(np.arange(6)), put[0].vertices(put[0].demo_states(6)), atol=1e-6
    )
    np.testing.assert_array_equal(laptop.face_part, put[0].face_part)
    np.testing.assert_array_equal(laptop.colors, put[0].colors)
    assert laptop.sequence.meta["joints"]


def test_stored_rigid_parts_still_move_exactly(tmp_path: Path) -> None:
    store = SequenceStore.write(tmp_path / "s", [make_articulated("cabinet", 1)], frames=12)
    pairs = make_pairs(store.sample(0), 4, np.random.default_rng(0), points=64)
    assert pairs.exact.all()
    import torch

    from kin4d.geometry.dual_quaternion import dq_apply

    moved = dq_apply(torch.from_numpy(pairs.dq), torch.from_numpy(pairs.points0)).numpy()
    np.testing.assert_allclose(moved, pairs.points1, atol=1e-5)


def test_stores_are_sources_and_travel_to_other_processes(tmp_path: Path) -> None:
    store = SequenceStore.write(tmp_path / "s", things())
    source = pickle.loads(pickle.dumps(store.source()))
    drawn = source.sample(np.random.default_rng(0), None)
    assert drawn.identity in store.identities


def test_a_second_write_adds_nothing_and_another_plan_is_refused(tmp_path: Path) -> None:
    SequenceStore.write(tmp_path / "s", things(), per_shard=2)
    times = {p: p.stat().st_mtime_ns for p in (tmp_path / "s").rglob("*.npy")}
    SequenceStore.write(tmp_path / "s", things(), per_shard=2)
    assert times == {p: p.stat().st_mtime_ns for p in (tmp_path / "s").rglob("*.npy")}
    with pytest.raises(InputError, match="begun with another keys"):
        SequenceStore.write(tmp_path / "s", things()[:2], per_shard=2)


def test_a_store_without_shards_takes_another_plan(tmp_path: Path) -> None:
    with StoreWriter.begin(tmp_path / "s", {"keys": "mistaken"}, SequenceStore):
        pass
    assert len(SequenceStore.write(tmp_path / "s", things(), per_shard=2)) == len(things())


def _write_slowly(path: Path) -> None:
    SequenceStore.write(path, [flag(seed) for seed in range(400)], per_shard=2)


def test_kill_minus_nine_loses_nothing_that_was_finished(tmp_path: Path) -> None:
    path = tmp_path / "s"
    context = multiprocessing.get_context("fork")
    kills, shards = 0, path / "shards"
    for wanted in (3, 60, 120):
        process = context.Process(target=_write_slowly, args=(path,))
        process.start()
        while process.is_alive() and len([*shards.glob("[0-9]*")]) < wanted:
            pass
        process.kill()
        process.join()
        kills += process.exitcode == -9
        before = SequenceStore.open(path)
        assert before.verify() == []
    assert kills == 3
    assert 0 < len(SequenceStore.open(path)) < 400
    _write_slowly(path)
    store = SequenceStore.open(path)
    assert [who.name for who in store.identities] == [str(seed) for seed in range(400)]
    assert store.verify() == []
    assert not [*shards.glob(".*")]


def test_damage_is_found(tmp_path: Path) -> None:
    path = tmp_path / "s"
    SequenceStore.write(path, things(), per_shard=2)
    file = path / "shards" / "00000001" / "vertices.npy"
    whole = file.read_bytes()
    flipped = bytearray(whole)
    flipped[-1] ^= 1
    file.write_bytes(flipped)
    assert SequenceStore.open(path).verify() == ["00000001/vertices.npy differs from its checksum"]
    file.write_bytes(whole[:-5])
    with pytest.raises(InputError, match=r"00000001 is damaged: vertices.npy is truncated"):
        SequenceStore.open(path)
    file.unlink()
    with pytest.raises(InputError, match=r"vertices.npy is missing"):
        SequenceStore.open(path)


def test_newer_versions_and_other_folders_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "s"
    SequenceStore.write(path, things()[:1])
    head = json.loads((path / "store.json").read_text())
    (path / "store.json").write_text(json.dumps(head | {"version": 99}))
    with pytest.raises(InputError, match=r"newer version of kin4d.*99"):
        SequenceStore.open(path)
    with pytest.raises(InputError, match="not a store"):
        SequenceStore.open(tmp_path)
    with pytest.raises(InputError, match="not empty and not a store"):
        SequenceStore.write(tmp_path, things()[:1])


def test_a_full_disk_is_said_to_be_and_keeps_what_is_finished(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path, saved, save = tmp_path / "s", [], np.save

    def full(file: Path, array: np.ndarray, **options: bool) -> None:
        if len(saved) >= 6:
            raise OSError(errno.ENOSPC, "No space left on device")
        saved.append(file)
        save(file, array, **options)

    monkeypatch.setattr(np, "save", full)
    with pytest.raises(OutputError, match="No space left on device"):
        SequenceStore.write(path, things(), per_shard=1)
    monkeypatch.undo()
    store = SequenceStore.open(path)
    assert len(store) == 1
    assert store.verify() == []
    assert len(SequenceStore.write(path, things(), per_shard=1)) == 5


def test_dropped_items_are_remembered(tmp_path: Path) -> None:
    gone = SampleId(source="engine", category="flag", name="9", licence="CC0-1.0", seed=9)
    with StoreWriter.begin(tmp_path / "s", {}, SequenceStore) as writer:
        writer.commit(
            0,
            [sequence_record(flag(0)), rejected_lines(gone, "diverged"), sequence_record(flag(1))],
        )
    store = SequenceStore.open(tmp_path / "s")
    assert [who.name for who in store.identities] == ["0", "1"]
    assert store.dropped[0]["dropped"] == "diverged"
    np.testing.assert_array_equal(store.sample(1).sequence.vertices, flag(1).sequence.vertices)


def test_two_writers_at_once_are_refused(tmp_path: Path) -> None:
    with (
        StoreWriter.begin(tmp_path / "s", {}, SequenceStore),
        pytest.raises(InputError, match="being written by another process"),
        StoreWriter.begin(tmp_path / "s", {}, SequenceStore),
    ):
        pass
