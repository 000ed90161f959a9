"""Work in trouble: the benchmark sees where it fell and what it left."""

from __future__ import annotations

import pytest

from kin4d.benchmarks.reliability import kills
from kin4d.benchmarks.reliability.killed_job import Trouble

pytest.importorskip("mujoco")


def test_places_are_distinguished() -> None:
    made = ["mkdir ", "mkdir /.a.x.unfinished", "mkdir /.a.x.unfinished/new"]
    moved, removed = "rename /checkpoint.safetensors", "rmtree /.a.x.unfinished"
    assert kills.place_of(made) == "inside saving"
    assert kills.place_of([*made, removed]) == "elsewhere"
    assert kills.place_of([*made, moved, removed]) == "inside validation"
    assert kills.place_of([*made, moved, removed, *made]) == "inside saving"
    assert kills.place_of([*made, "rename /weights.safetensors", removed]) == "elsewhere"
    assert kills.place_of([]) == "elsewhere"


@pytest.mark.slow
def test_every_job_survives_four_troubles() -> None:
    reports = [kills.kill_often(name, 4, seed=0) for name in kills.JOBS]
    checks = kills.job_checks([row for report in reports for row in report.rows])
    assert all(check.passed for check in checks), [report.notes for report in reports]


def test_data_survives_every_kind_of_trouble(tmp_path, forkserver) -> None:
    whole, name = tmp_path / "whole", "data objects"
    complete = kills.run_in_child(forkserver, name, whole, tmp_path, None)
    assert complete.code == 0
    assert len(complete.operations) > 40
    for number, kind in enumerate(kills.TROUBLES):
        folder, at = tmp_path / kind, 12 + 9 * number
        ending = kills.run_in_child(forkserver, name, folder, tmp_path, Trouble(kind, at))
        assert ending.code == {"SIGKILL": -9, "SIGTERM": 130}.get(kind, 2)
        kinds, expected = ([one.split()[0] for one in run.operations] for run in (ending, complete))
        assert kinds[:at] == expected[:at]
        assert len(kinds) == at or "disk" in kind
        if "disk" in kind:
            assert "cannot" in (folder / "said").read_text()
        again = kills.run_in_child(forkserver, name, folder, tmp_path, None)
        assert again.code == 0
        assert kills.difference_of("bytes", folder, whole) == ""


@pytest.fixture(scope="module")
def forkserver():
    import multiprocessing

    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(["kin4d.cli.data", "kin4d.objects.generate"])
    return context
