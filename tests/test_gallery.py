"""The gallery: every page is there, was made by a command that exists, and plays."""

from __future__ import annotations

import re
import time
from pathlib import Path

import pytest
from browser import colours, complaints, wait_until

FOLDER = Path(__file__).parents[1] / "docs" / "gallery"
INDEX = (FOLDER / "index.md").read_text()
FRAMES = re.findall(r'<iframe src="([a-z_]+)\.html"[^>]*loading="lazy"', INDEX)
COMMANDS = re.findall(r"```bash\n(kin4d [^\n]+)\n```", INDEX)


def test_all_pages_are_there_and_small() -> None:
    assert len(FRAMES) >= 24
    assert len(set(FRAMES)) == len(FRAMES)
    assert {file.stem for file in FOLDER.glob("*.html")} == set(FRAMES)
    assert sum(file.stat().st_size for file in FOLDER.iterdir()) < 15e6


def test_each_has_the_command_that_makes_it() -> None:
    assert [re.search(r"(\w+)\.html$", command)[1] for command in COMMANDS] == FRAMES


def plays(tab, name: str) -> None:
    tab.goto((FOLDER / f"{name}.html").as_uri())
    wait_until(tab, "kin4d.ready && kin4d.drawn > 1")
    first = tab.evaluate("kin4d.frame")
    wait_until(tab, f"kin4d.frame != {first}")
    assert tab.evaluate("kin4d.error") == ""
    assert colours(tab.screenshot()) > 8
    assert complaints(tab) == []


@pytest.mark.parametrize("name", ["cabinet", "toy_falls"])
def test_pages_play(tab, name: str) -> None:
    plays(tab, name)


@pytest.mark.slow
@pytest.mark.parametrize("name", FRAMES)
def test_every_page_plays(tab, name: str) -> None:
    plays(tab, name)


def test_frames_are_filled_when_one_scrolls_to_them(tab, tmp_path) -> None:
    """Of many pages in one only those in sight hold a drawing context."""
    frames = re.findall(r"<iframe .*?</iframe>", INDEX)
    page = tmp_path / "index.html"
    page.write_text("<br>".join(frames).replace('src="', f'src="{FOLDER.as_uri()}/'))
    tab.goto(page.as_uri(), wait_until="commit")

    def ready() -> int:
        return sum(frame.evaluate("window.kin4d?.ready ?? false") for frame in tab.frames[1:])

    deadline = time.monotonic() + 120
    while ready() == 0:
        assert time.monotonic() < deadline, "no frame was filled"
        tab.wait_for_timeout(200)
    assert ready() <= 8
    assert not any("Too many active WebGL contexts" in text for text in tab.errors)
