"""`kin4d report`: one page from the JSON files of benchmarks."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import tyro


def report_command(
    output: Annotated[Path, tyro.conf.Positional],
    results: Annotated[tuple[Path, ...], tyro.conf.Positional],
    *,
    title: str = "Benchmarks",
    images: tuple[Path, ...] = (),
) -> None:
    """Write one HTML page with the tables, plots, thresholds, versions and hashes of benchmarks.

    Args:
        output: The page, .html.
        results: JSON files written by `kin4d bench NAME --json FILE`.
        title: Of the page.
        images: PNG, JPEG or GIF files shown at its end.
    """
    from kin4d.benchmarks.html_report import html_report, read_results
    from kin4d.errors import InputError
    from kin4d.files import write_bytes

    if output.suffix.lower() != ".html":
        raise InputError("the page of a report", value=output.name, allowed="a name in .html")
    if not results:
        raise InputError("a report needs results", hint="kin4d bench NAME --json FILE writes one")
    page = html_report([read_results(path) for path in results], title=title, images=images)
    written = write_bytes(output, page.encode())
    print(f"{len(results)} benchmarks in {written}, {written.stat().st_size / 1e6:.2g} MB")
