"""Damaged files of a few loaders; the slow test draws other files every time."""

from __future__ import annotations

import secrets

import numpy as np
import pytest

from kin4d.benchmarks.reliability import run
from kin4d.benchmarks.reliability.loaders import LOADERS
from kin4d.benchmarks.reliability.mutations import mutate
from kin4d.errors import InputError


@pytest.mark.parametrize(
    "seed", [1, pytest.param(secrets.randbits(32), id="random", marks=pytest.mark.slow)]
)
def test_no_damaged_file_ends_in_anything_but_a_result_or_our_error(seed: int, tmp_path) -> None:
    quick = sorted(set(LOADERS) - {"diffusion weights"})  # diffusers takes long to import
    chosen = np.random.default_rng(seed).choice(quick, 2, replace=False).tolist()
    print(f"kin4d bench reliability --seed {seed} --count 25 --loaders {chosen}")
    report = run(quick=True, seed=seed, count=25, loaders=chosen, results=tmp_path)
    assert [row["inputs"] for row in report.rows] == [25, 25]
    assert report.checks[0].value == 0, report.notes
    again = run(quick=True, seed=seed, count=25, loaders=chosen, results=tmp_path)
    assert (again.rows, again.checks) == (report.rows, report.checks)
    with pytest.raises(InputError, match="another run"):
        run(quick=True, seed=seed + 1, count=25, loaders=chosen, results=tmp_path)


def test_damage_follows_from_the_seed(tmp_path) -> None:
    found = []
    for name in ("a", "b"):
        (tmp_path / name).mkdir()
        path = LOADERS["camera"].write(tmp_path / name)
        mutate(tmp_path / name, np.random.default_rng(5))
        found.append(path.read_bytes() if path.is_file() else b"")
    assert found[0] == found[1]
