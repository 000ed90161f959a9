"""Every number on the command line has a range, and one beyond it is refused before any work."""

from __future__ import annotations

from dataclasses import is_dataclass
from typing import Any, get_args, get_type_hints

import pytest

from kin4d.cli import COMMANDS, _command, main
from kin4d.cli.ranges import ranges_of

# What the parser wants before it looks at a command's options.
REQUIRED = {
    "inspect": "x.obj",
    "animate": "hinge -o x.glb",
    "articulate": "x.obj -o x.urdf",
    "fit": "x.obj --target x.obj -o x.glb",
    "simulate": "hinge -o x.glb",
    "calibrate": "arm --video x --actions x --correspondences x -o x",
    "imagine": "--image x --robot x --actions x --camera x -o x",
    "export": "x.npz -o x.glb",
    "view": "x.npz",
    "serve-policy": "--policy expert",
    "evaluate-policy": "--policy expert",
    "serve-env": "",
    "data objects": "-o x",
    "data episodes": "-o x",
    "data preview": "-o x",
    "data import": "x -o x",
    "data export": "x -o x",
    "train neurok": "-o x",
    "train joint-prior": "-o x",
    "train object-world": "-o x --episodes x",
    "train diffusion": "-o x --episodes x",
    "train codec": "-o x --episodes x",
    "train policy": "-o x",
}


def options() -> dict[tuple[str, str], Any]:
    """Type hints by command and option, subcommands included."""
    found = {}
    for name in COMMANDS:
        command = _command(name)
        hints = get_type_hints(command, include_extras=True)
        for option, hint in hints.items():
            for kind, subcommand in subcommands(hint):
                inner = get_type_hints(kind, include_extras=True)
                found |= {(f"{name} {subcommand}", key): value for key, value in inner.items()}
            found[name, option] = hint
    return found


def subcommands(hint: Any) -> list[tuple[type, str]]:
    """Dataclasses in a hint, each with the name tyro knows it by."""
    head, *rest = get_args(hint) or (hint,)
    if is_dataclass(head) and rest:
        return [(head, getattr(rest[0], "name", ""))]  # pyright: ignore[reportReturnType]
    return [one for argument in get_args(hint) for one in subcommands(argument)]


def leaves(hint: Any) -> set[Any]:
    """Types in a hint, however deep."""
    inner = get_args(hint)
    return set().union(*map(leaves, inner)) if inner else {hint}


NUMBERS = {key: hint for key, hint in options().items() if leaves(hint) & {int, float}}


def test_numbers_are_found() -> None:
    assert len(NUMBERS) > 60
    assert {name for name, _ in NUMBERS} - {"bench", "robot"} <= set(REQUIRED)


@pytest.mark.parametrize("key", NUMBERS, ids=" --".join)
def test_a_number_out_of_range_is_refused(capsys, tmp_path, monkeypatch, key) -> None:
    monkeypatch.chdir(tmp_path)
    (name, option), hint = key, NUMBERS[key]
    allowed = ranges_of(hint)
    assert allowed, "annotate it with a type of kin4d.cli.ranges"
    count = 1 if "..." in str(hint) else len(allowed)
    flag = "--" + option.replace("_", "-")
    wrong = "nan" if float in leaves(hint) else str(int(allowed[0].high) + 1)
    for value in (wrong, str(int(allowed[0].low) - 1)):
        code = main([*name.split(), *REQUIRED.get(name, "").split(), flag, *[value] * count])
        assert code == 2
        assert f"{flag} is out of range" in capsys.readouterr().err
    assert list(tmp_path.iterdir()) == []
