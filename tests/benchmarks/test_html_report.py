"""One page from benchmark JSON: everything in it is shown, intervals are right, nothing is run."""

from __future__ import annotations

import json
import re
from pathlib import Path

import numpy as np
import pytest
from browser import complaints

from kin4d.benchmarks.html_report import html_report, read_results
from kin4d.benchmarks.report import Check, Report
from kin4d.benchmarks.report_plots import dot_plot, mean_interval, series_of
from kin4d.cli import main
from kin4d.errors import InputError

ROOT = Path(__file__).parents[2]


def result(**changes) -> dict:
    report = Report(
        rows=[
            {"method": method, "number": number, "error": 0.1 * number + shift}
            for method, shift in (("ours", 0.0), ("theirs", 1.0))
            for number in range(10)
        ],
        checks=[Check("error of ours", 0.45, 0.5), Check("speed", 2.0, 3.0, at_least=True)],
        notes=["Ten objects."],
        weights={"small": "abc123"},
    )
    return {**report.to_dict(name="trial", seed=3, quick=False), **changes}


def test_everything_is_shown() -> None:
    page = html_report([result()], title="Trials")
    for text in (
        "Trials",
        "kin4d bench trial --seed 3",
        "1 of 2",
        "abc123",
        "Ten objects",
        "torch",
    ):
        assert text in page
    assert page.count("<tr>") > 20
    assert '<td class="missed">missed</td>' in page


def test_repetitions_are_means_with_intervals() -> None:
    data = result()
    (series,) = series_of(tuple(data["rows"][0]), data["rows"])
    assert series.name == "error"
    assert series.repeated
    assert [point.label for point in series.points] == ["ours", "theirs"]
    ours = series.points[0]
    assert ours.value == pytest.approx(0.45)
    # Mean of ten evenly spaced values: standard error 0.0957.
    assert ours.low == pytest.approx(0.45 - 1.96 * 0.0908, abs=0.03)
    assert ours.high == pytest.approx(0.45 + 1.96 * 0.0908, abs=0.03)
    assert dot_plot(series).count("<circle") == 2


def test_given_intervals_are_taken() -> None:
    rows = [
        {"policy": name, "success": value, "success low": value - 0.1, "success high": value + 0.2}
        for name, value in (("a", 0.5), ("b", 0.7))
    ]
    (series,) = series_of(tuple(rows[0]), rows)
    assert (series.points[0].low, series.points[0].high) == pytest.approx((0.4, 0.7))


def test_rows_that_nothing_tells_apart_are_not_averaged() -> None:
    rows = [{"size": "small", "ms": float(value)} for value in range(4)]
    assert series_of(("size", "ms"), rows) == []
    rows = [{"size": "small", "faces": 10**k, "ms": float(k)} for k in range(4)]
    (series,) = series_of(("size", "faces", "ms"), rows)
    assert [point.label for point in series.points] == ["1", "10", "100", "1000"]
    assert not series.repeated


def test_the_interval_covers_the_mean_as_often_as_it_says() -> None:
    rng = np.random.default_rng(1)
    covered = 0
    for trial in range(200):
        low, high = mean_interval(rng.normal(size=30), seed=trial)
        covered += low <= 0 <= high
    assert 0.88 <= covered / 200 <= 0.99


def test_text_of_a_file_is_shown_and_not_run() -> None:
    page = html_report([result(bench="<script>alert(1)</script>", notes=["<img src=x onerror=y>"])])
    assert "<script" not in page
    assert "<img" not in page
    assert re.search(r"default-src 'none'", page)


@pytest.mark.parametrize(
    ("content", "why"),
    [
        ("[]", "no JSON object"),
        ("{", "readable"),
        (json.dumps({"bench": "x"}), "'command'"),
        (json.dumps(result(rows=[1])), "row"),
        (json.dumps(result(checks=[{"name": "x"}])), "'value'"),
    ],
)
def test_files_that_are_no_results(tmp_path, content: str, why: str) -> None:
    (tmp_path / "bad.json").write_text(content)
    with pytest.raises(InputError, match=r"bad\.json") as error:
        read_results(tmp_path / "bad.json")
    assert why in str(error.value)


def test_the_command_writes_a_page_of_all_our_benchmarks(tmp_path, tab, capsys) -> None:
    files = sorted((ROOT / "benchmarks").glob("*.json"))
    image = ROOT / "docs" / "images" / "articulate.jpg"
    page = tmp_path / "report.html"
    assert main(["report", str(page), *map(str, files), "--images", str(image)]) == 0
    assert f"{len(files)} benchmarks" in capsys.readouterr().out
    tab.goto(page.as_uri())
    assert tab.locator("h2").count() == len(files) + 1
    assert tab.locator("svg").count() > 10
    assert tab.requests == [page.as_uri()] or all(
        url.startswith(("data:", "file:")) for url in tab.requests
    )
    assert complaints(tab) == []


def test_the_page_needs_a_name_and_results(tmp_path, capsys) -> None:
    assert main(["report", str(tmp_path / "x.txt"), "a.json"]) == 2
    assert ".html" in capsys.readouterr().err
    assert main(["report", str(tmp_path / "x.html"), str(tmp_path / "missing.json")]) == 2
    assert "missing.json" in capsys.readouterr().err
