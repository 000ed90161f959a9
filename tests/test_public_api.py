"""The public interface: names and signatures as they were last agreed on."""

from __future__ import annotations

import inspect
import json
import re
from pathlib import Path

import pytest

import kin4d

SNAPSHOT = Path(__file__).parent / "public_api.json"


def public_api() -> dict[str, object]:
    """Signature of every public function, and of a class and its public members."""
    found: dict[str, object] = {}
    for name in sorted(set(kin4d.__all__) - {"__version__"}):
        value = getattr(kin4d, name)
        found[name] = members(value) if inspect.isclass(value) else signature(value)
    return found


def members(kind: type) -> dict[str, str]:
    found = {"()": signature(kind)}
    for base in reversed(kind.__mro__):
        if not base.__module__.startswith("kin4d"):
            continue
        for name, value in vars(base).items():
            if name.startswith("_"):
                continue
            function = value.__func__ if isinstance(value, classmethod | staticmethod) else value
            found[name] = signature(function) if inspect.isfunction(function) else "attribute"
    return dict(sorted(found.items()))


def signature(value) -> str:
    text = str(inspect.signature(value))
    return re.sub(r" at 0x[0-9a-f]+", "", text)


def test_the_public_interface_is_the_one_agreed_on() -> None:
    found = public_api()
    if not SNAPSHOT.exists():
        SNAPSHOT.write_text(json.dumps(found, indent=1) + "\n")
        pytest.fail(f"{SNAPSHOT.name} was missing and is written: look at it and commit it")
    agreed = json.loads(SNAPSHOT.read_text())
    changed = {name for name in {*found, *agreed} if found.get(name) != agreed.get(name)}
    assert {name: found.get(name) for name in changed} == {
        name: agreed.get(name) for name in changed
    }, "if this is meant, delete tests/public_api.json, run this test and say so in CHANGELOG.md"
