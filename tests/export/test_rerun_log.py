"""Recordings of rerun hold the clip: read back with rerun's own reader."""

from __future__ import annotations

import sys

import pytest

from kin4d.bodies import bake, hinge, sweep_joints
from kin4d.episodes.store import shipped_episodes
from kin4d.errors import MissingExtraError
from kin4d.export.rerun_log import write_rerun
from kin4d.geometry.clip import Clip


@pytest.fixture(scope="module")
def door() -> Clip:
    return bake(hinge(), sweep_joints(hinge(), frames=5), fps=10)


def test_without_rerun_it_says_what_to_install(door, tmp_path, monkeypatch) -> None:
    monkeypatch.setitem(sys.modules, "rerun", None)
    with pytest.raises(MissingExtraError, match=r"kin4d\[rerun\]"):
        write_rerun(door, tmp_path / "door.rrd")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("what", ["parts", "vertices", "video"])
def test_a_recording_is_written(door, tmp_path, what: str) -> None:
    pytest.importorskip("rerun", reason="needs rerun: pip install rerun-sdk")
    thing = {
        "parts": door,
        "vertices": Clip(mesh=door.mesh, vertices=door.vertices, fps=10.0),
        "video": shipped_episodes().episode(0).video,
    }[what]
    path = write_rerun(thing, tmp_path / "one.rrd", name="thing")
    assert path.read_bytes()[:3] == b"RRF"
    chunk = pytest.importorskip("rerun.chunk", reason="reads recordings since rerun 0.38")
    rows: dict[str, int] = {}
    for one in chunk.RrdReader(path).stream().to_chunks():
        rows[one.entity_path] = rows.get(one.entity_path, 0) + one.num_rows
    expected = {
        "parts": {"/thing/door": 5, "/thing/door/mesh": 1, "/thing/frame": 5},
        "vertices": {"/thing": 5},
        "video": {"/thing": 1, "/thing/image": 26, "/thing/points": 25},
    }[what]
    assert {name: rows.get(name) for name in expected} == expected
