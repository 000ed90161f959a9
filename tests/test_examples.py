"""Every example and notebook runs as it stands, and stays short enough to be read."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
EXAMPLES = sorted((ROOT / "examples").glob("[0-9]*.py"))
NOTEBOOKS = sorted((ROOT / "notebooks").glob("*.ipynb"))
TOPICS = (
    "learned_body articulate fit simulate contact robot_pointmaps inverse_kinematics calibration "
    "episodes imagine training export policy scene"
)


def test_every_topic_has_an_example() -> None:
    assert [path.stem[3:] for path in EXAMPLES] == TOPICS.split()


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_example(path: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert len(path.read_text().splitlines()) <= 60
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    module.main(output=tmp_path)
    assert capsys.readouterr().out.strip(), "an example says what it made"
    (picture,) = tmp_path.glob(f"{path.stem}.*")
    assert 0 < picture.stat().st_size <= 200_000
    page = (ROOT / "docs" / "examples" / f"{path.stem}.md").read_text()
    assert f"{{{{ example {path.stem} }}}}" in page
    assert f"../images/examples/{picture.name}" in page
    assert (ROOT / "docs" / "images" / "examples" / picture.name).stat().st_size <= 200_000


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_notebook(path: Path, tmp_path: Path) -> None:
    nbformat, nbclient = (pytest.importorskip(name) for name in ("nbformat", "nbclient"))
    notebook = nbformat.read(path, as_version=4)
    code = [cell for cell in notebook.cells if cell.cell_type == "code"]
    assert all(not cell.outputs and cell.execution_count is None for cell in code)
    resources = {"metadata": {"path": str(tmp_path)}}
    nbclient.NotebookClient(notebook, timeout=120, resources=resources).execute()
    shown = {kind for cell in code for out in cell.outputs for kind in out.get("data", {})}
    assert {"image/gif", "text/plain"} & shown
    assert any((tmp_path / "out").rglob("*.*"))


def test_there_are_two_notebooks() -> None:
    assert len(NOTEBOOKS) == 2
