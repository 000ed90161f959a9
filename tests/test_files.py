"""Output files appear whole or not at all, and never in place of what they are not."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from kin4d.errors import OutputError
from kin4d.files import atomic_path, json_text, remove_abandoned, write_bytes, write_json


def test_a_failure_leaves_the_old_file_and_no_litter(tmp_path: Path) -> None:
    target = tmp_path / "result.txt"
    target.write_text("old")

    def write(error: type[BaseException]) -> None:
        with atomic_path(target) as path:
            path.write_text("half")
            raise error

    for error in (RuntimeError, KeyboardInterrupt):
        with pytest.raises(error):
            write(error)
    with pytest.raises(OutputError, match="cannot write"):
        write(OSError)
    assert target.read_text() == "old"
    assert [*tmp_path.iterdir()] == [target]


@pytest.mark.parametrize("name", ["frames", "replaced", "old", "new", "x" * 250, "ü ß 日本"])
def test_folders_are_swapped_whole_under_any_name(tmp_path: Path, name: str) -> None:
    target = tmp_path / name
    for content in ("first", "second"):
        with atomic_path(target) as path:
            path.mkdir()
            (path / content).touch()
        assert [entry.name for entry in target.iterdir()] == [content]
    assert [*tmp_path.iterdir()] == [target]


def test_an_interrupted_swap_puts_the_old_folder_back(tmp_path: Path, monkeypatch) -> None:
    target = tmp_path / "frames"
    target.mkdir()
    (target / "precious").touch()

    def interrupted(*_) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(Path, "replace", interrupted)
    with pytest.raises(KeyboardInterrupt), atomic_path(target) as path:
        path.mkdir()
    assert (target / "precious").exists()
    assert [*tmp_path.iterdir()] == [target]


def test_a_folder_is_not_replaced_by_a_file(tmp_path: Path) -> None:
    (tmp_path / "folder").mkdir()
    with pytest.raises(OutputError, match="directory"):
        write_bytes(tmp_path / "folder", b"")
    with pytest.raises(OutputError, match="cannot write"):
        write_bytes(tmp_path / "folder" / ".." / ".", b"")


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no named pipes here")
def test_a_pipe_or_device_is_not_replaced(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(OutputError, match="device or a pipe"):
        write_bytes(tmp_path / "pipe", b"")
    assert (tmp_path / "pipe").is_fifo()


def test_json_holds_no_infinities(tmp_path: Path) -> None:
    value = {"limits": [-float("inf"), (1.5, float("nan"))], "name": "ü", "count": 2}

    def refuse(word: str) -> None:
        raise AssertionError(f"{word} is not JSON")

    write_json(tmp_path / "a.json", value)
    found = json.loads((tmp_path / "a.json").read_text(), parse_constant=refuse)
    assert found == {"limits": [None, [1.5, None]], "name": "ü", "count": 2}
    assert json_text({"a": 0.1}) == '{\n  "a": 0.1\n}'


KILLED = """
import os, signal, sys
from pathlib import Path
from kin4d.files import atomic_path
target, replaced = Path(sys.argv[1]), sys.argv[2] == "replaced"
replace = Path.replace
def killed(*_): os.kill(os.getpid(), signal.SIGKILL)
with atomic_path(target) as path:
    path.mkdir()
    (path / "new").touch()
    if not replaced:
        killed()
    Path.replace = killed
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no locks of this kind here")
@pytest.mark.parametrize("when", ["written", "replaced"])
def test_what_a_killed_writer_leaves_is_removed(tmp_path: Path, when: str) -> None:
    target = tmp_path / "frames"
    target.mkdir()
    (target / "precious").touch()
    ended = subprocess.run([sys.executable, "-c", KILLED, str(target), when], check=False)
    assert ended.returncode == -9
    assert len([*tmp_path.glob(".frames.*")]) == 1
    assert target.exists() == (when == "written")
    with atomic_path(target) as path:
        assert (target / "precious").exists()
        assert len([*tmp_path.glob(".frames.*")]) == 1  # ours
        remove_abandoned(tmp_path)
        path.mkdir()
    assert [*tmp_path.rglob("*")] == [target]
