"""`kin4d bench --gate`: the exit code says whether every threshold is met."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from kin4d.benchmarks import startup
from kin4d.benchmarks.report import Check, Report
from kin4d.cli import main

MAKEFILE = Path(__file__).parents[2] / "Makefile"


@pytest.mark.parametrize(
    ("value", "options", "code"),
    [(0.5, ["--gate"], 0), (2.0, ["--gate"], 1), (2.0, [], 0), (float("nan"), ["--gate"], 1)],
    ids=["met", "missed", "missed without --gate", "not a number"],
)
def test_exit_code(
    value: float,
    options: list[str],
    code: int,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    tmp_path: Path,
) -> None:
    checks = [Check("import, s", value, 1.0), Check("always met", 3.0, 1.0, at_least=True)]
    monkeypatch.setattr(startup, "run", lambda *, quick, seed: Report(checks=checks))
    try:
        found = main(["bench", "startup", "--json", str(tmp_path / "startup.json"), *options])
    except SystemExit as stop:
        found = stop.code
    assert (found or 0) == code
    out, err = capsys.readouterr()
    assert ("MISSED" in out) == (value != 0.5)
    assert ("1 of 2 thresholds missed" in err) == (code == 1)
    # A missed threshold is written too.
    written = json.loads((tmp_path / "startup.json").read_text())
    assert [check["pass"] for check in written["checks"]] == [value == 0.5, True]


def test_make_bench_uses_the_gate() -> None:
    recipe = MAKEFILE.read_text().split("\nbench:")[1].split("\n\n")[0]
    assert "--gate" in recipe
    assert "exit $${failed:-0}" in recipe
