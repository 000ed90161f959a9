"""Same seed, same bits, in processes that hash differently."""

from __future__ import annotations

import pytest

from kin4d.benchmarks.reliability import determinism
from kin4d.benchmarks.reliability.digests import DIGESTS

QUICK = ("data objects", "simulation")


@pytest.mark.parametrize(
    "name", [pytest.param(n, marks=() if n in QUICK else pytest.mark.slow) for n in DIGESTS]
)
def test_two_processes_compute_the_same_bits(name: str) -> None:
    pytest.importorskip("mujoco")
    report = determinism.compare([name])
    assert report.rows[0]["same bits"], report.rows
