"""Generation gives the same store whoever does the work, and goes on after kill -9."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from store_files import checksums, kill_after_a_shard

from kin4d.errors import InputError
from kin4d.objects.generate import DatasetSpec, generate_objects
from kin4d.objects.sequence_store import SequenceStore

PLAN = DatasetSpec(categories=("door", "laptop"), count=10, frames=3, per_shard=2)


@pytest.fixture(scope="module")
def alone(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("alone") / "s"
    generate_objects(PLAN, path)
    return path


def test_the_plan_is_what_is_made(alone: Path) -> None:
    store = SequenceStore.open(alone)
    assert len(store) == 10
    assert store.verify() == []
    assert {who.category for who in store.identities} == {"door", "laptop"}
    assert sorted({who.seed for who in store.identities if who.seed is not None}) == [*range(5)]
    assert len(store.shards) == PLAN.shards == 5


@pytest.mark.parametrize("wrong", [{"sources": ("artculated",)}, {"categories": ("dor",)}])
def test_a_mistyped_plan_leaves_nothing(tmp_path: Path, wrong: dict) -> None:
    with pytest.raises(InputError, match=r"no such source|no source has"):
        generate_objects(DatasetSpec(**wrong), tmp_path / "s")
    assert list(tmp_path.iterdir()) == []


def test_processes_give_the_same_store(alone: Path, tmp_path: Path) -> None:
    generate_objects(PLAN, tmp_path / "s", workers=2)
    assert checksums(tmp_path / "s") == checksums(alone)


def test_ray_gives_the_same_store(alone: Path, tmp_path: Path) -> None:
    pytest.importorskip("ray")
    generate_objects(PLAN, tmp_path / "s", workers=2, cluster=True)
    assert checksums(tmp_path / "s") == checksums(alone)


def _run(path: Path) -> None:
    generate_objects(PLAN, path)


def test_killed_generation_goes_on(alone: Path, tmp_path: Path) -> None:
    path = tmp_path / "s"
    kill_after_a_shard(_run, path, how="fork")
    assert 1 <= len(checksums(path)) < PLAN.shards
    generate_objects(PLAN, path)
    assert checksums(path) == checksums(alone)


def test_stores_can_be_copied_by_plan(alone: Path, tmp_path: Path) -> None:
    again = generate_objects(DatasetSpec(sources=(f"store:{alone}",), count=5), tmp_path / "s")
    assert again.identities == SequenceStore.open(alone).identities[::2]


def test_objects_that_cannot_be_made_are_dropped_with_the_reason(tmp_path: Path) -> None:
    folder = tmp_path / "objects" / "Door_1"
    folder.mkdir(parents=True)
    (folder / "object.urdf").write_text('<robot name="x"><link name="base"/></robot>')
    store = generate_objects(DatasetSpec(sources=(f"urdf:{folder.parent}",)), tmp_path / "s")
    assert len(store) == 0
    assert "no surface" in store.dropped[0]["dropped"]


@pytest.mark.parametrize(
    ("options", "what"),
    [
        ({"sources": ("thin air",)}, "no such source"),
        ({"categories": ("spaceship",)}, "no source has such a category"),
        ({"count": 0}, "count"),
        ({"seed": -1}, "seed"),
    ],
)
def test_impossible_plans_are_refused(options: dict, what: str, tmp_path: Path) -> None:
    with pytest.raises(InputError, match=what):
        generate_objects(DatasetSpec(**options), tmp_path / "s")


def test_plans_are_written_down(alone: Path) -> None:
    assert json.loads((alone / "store.json").read_text())["plan"]["categories"] == [
        "door",
        "laptop",
    ]
