"""Old names, commands and flags say what they are called now, and none of them still works."""

from __future__ import annotations

import re

import pytest

import kin4d
from kin4d.cli import main
from kin4d.renamed import COMMANDS, FLAGS, NAMES, renamed_arguments


def run(capsys, *arguments: str) -> tuple[int, str]:
    """Exit code and all that is printed."""
    try:
        code = main(arguments)
    except SystemExit as stop:
        code = int(stop.code or 0)
    return code, "".join(capsys.readouterr())


@pytest.mark.parametrize("old", NAMES)
def test_names(old: str) -> None:
    with pytest.raises(AttributeError, match=f"'{old}': it is called kin4d.{NAMES[old]} now"):
        getattr(kin4d, old)
    assert NAMES[old].partition(",")[0] in {*kin4d.__all__, "objects", "benchmarks", "kinematics"}


def test_names_that_never_were() -> None:
    with pytest.raises(AttributeError, match=r"has no attribute 'nonsense'$"):
        kin4d.nonsense  # noqa: B018


@pytest.mark.parametrize("old", COMMANDS)
def test_commands(capsys, old: str) -> None:
    code, printed = run(capsys, *old.split())
    assert code == 2
    assert f"'kin4d {old}' is called 'kin4d {COMMANDS[old]}' now" in printed


def test_robots() -> None:
    assert renamed_arguments(["robot", "sketch"]) == ["robot 'sketch' is called 'kin4d_arm' now"]
    assert renamed_arguments(["robot", "panda"]) == []


@pytest.mark.parametrize(("command", "old"), [(c, old) for c in FLAGS for old in FLAGS[c]])
def test_flags(capsys, command: str, old: str) -> None:
    new = FLAGS[command][old]
    code, printed = run(capsys, *command.split(), "x", old, "1")
    assert code == 2
    assert f"{old} is called {new} now" in printed
    # What all kinds of training share is shown by each of them.
    code, help_text = run(capsys, *command.split(), *["codec"] * (command == "train"), "--help")
    words = re.split(r"[^a-z0-9_-]+", help_text)
    assert code == 0
    assert new in words
    assert old not in words
