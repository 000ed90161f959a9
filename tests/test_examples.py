"""Every example runs as it stands, and stays short enough to be read."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import pytest

EXAMPLES = sorted((Path(__file__).parents[1] / "examples").glob("[0-9]*.py"))


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_example(path: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    source = path.read_text()
    assert len(source.splitlines()) <= 100
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    module.main(output=tmp_path)
    assert capsys.readouterr().out.strip(), "an example says what it made"
    assert any(file.stat().st_size > 0 for file in tmp_path.iterdir())
