"""How-to pages: every Python block runs as it is written, on files as a reader might have them."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from kin4d import load, load_robot, write_articulated
from kin4d.bodies import hinge

FOLDER = Path(__file__).parents[1] / "docs" / "howto"
PAGES = ("my_mesh", "my_robot", "my_camera", "my_data")


def python_blocks(page: str) -> list[str]:
    """The blocks of a page that are meant to be run."""
    text = (FOLDER / f"{page}.md").read_text()
    return re.findall(r"^```python\n(.*?)^```$", text, re.DOTALL | re.MULTILINE)


@pytest.mark.parametrize("page", PAGES)
def test_python_blocks_run(page: str, tmp_path, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)
    hinge().rest.save(tmp_path / "my.glb")
    write_articulated(load_robot("kin4d_arm"), tmp_path / "my.urdf")
    blocks = python_blocks(page)
    assert blocks
    names: dict[str, object] = {}
    for block in blocks:
        exec(compile(block, f"docs/howto/{page}.md", "exec"), names)
    made = {
        "my_mesh": ("moves.glb", "pushed.html"),
        "my_robot": ("my.urdf",),
        "my_camera": ("camera.json",),
        "my_data": ("mine/store.json",),
    }
    assert [name for name in made[page] if not (tmp_path / name).is_file()] == []
    if page == "my_robot":
        assert names["robot"].coordinates == load("kin4d_arm").coordinates
        assert names["found"].converged
        assert (names["video"].mask > 0).any()
