"""Servers under load, in small."""

from __future__ import annotations

import pytest

from kin4d.benchmarks.reliability import servers

pytest.importorskip("viser")
pytest.importorskip("msgpack")
pytest.importorskip("mujoco")


@pytest.mark.slow
def test_servers_answer_beside_garbage() -> None:
    report = servers.run(quick=True, seed=0)
    assert [row["server"] for row in report.rows] == ["view", "serve-policy", "serve-env"]
    for row in report.rows:
        assert row["answers"] > 0, row
        assert row["failed"] == 0, row


def test_policy_has_the_form_of_one() -> None:
    assert servers.hold({}).shape[1] == 7
