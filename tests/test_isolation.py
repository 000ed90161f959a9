"""What a library does to the child process stays there: crashes, loops and memory."""

from __future__ import annotations

import ctypes
import os
from collections.abc import Callable
from contextlib import contextmanager
from pathlib import Path

import pytest

from kin4d import isolation
from kin4d.errors import InputError
from kin4d.isolation import isolated
from kin4d.reading import reading

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")


def loop() -> None:
    while True:
        pass


def refuse() -> None:
    raise InputError("a.bin is odd", value=(3, 4), allowed="1 to 2", hint="mend it")


def ask_for(what: Callable[[], object], path: Path):
    @contextmanager
    def library():
        yield lambda: what()

    with reading(path, "test file"), isolated(path, "The library", library) as ask:
        return ask()


@pytest.fixture
def path(tmp_path: Path) -> Path:
    (tmp_path / "a.bin").write_bytes(b"x")
    return tmp_path / "a.bin"


def test_answers_come_whole(path: Path) -> None:
    data = os.urandom(3_000_000)
    assert ask_for(lambda: ({"a": [1, None, "ü"]}, data), path) == ({"a": [1, None, "ü"]}, data)
    assert ask_for(lambda: (None, b""), path) == (None, b"")


@pytest.mark.parametrize(
    "what", [os.abort, lambda: ctypes.string_at(0), lambda: os._exit(0)], ids=["abort", "segv", "0"]
)
def test_a_crash_is_an_error_that_names_the_file(path: Path, what: Callable[[], object]) -> None:
    with pytest.raises(InputError, match=r"The library cannot read .*a\.bin.*crashes"):
        ask_for(what, path)


def test_a_loop_ends(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(isolation, "_SECONDS", 0.2)
    with pytest.raises(InputError, match="too long"):
        ask_for(loop, path)


def test_memory_is_limited(path: Path) -> None:
    with pytest.raises(InputError, match=r"a\.bin.*more memory"):
        ask_for(lambda: (None, b"x" * 2**36), path)


def test_errors_are_as_they_were(path: Path) -> None:
    with pytest.raises(InputError) as caught:
        ask_for(refuse, path)
    assert str(caught.value) == "a.bin is odd (got [3, 4]). Allowed: 1 to 2. Next: mend it."
    with pytest.raises(InputError, match=r"not a readable test file: KeyError: 'b'"):
        ask_for(lambda: {}["b"], path)


def test_no_process_is_left(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    children, fork = [], os.fork

    def noted() -> int:
        children.append(fork())
        return children[-1]

    monkeypatch.setattr(os, "fork", noted)
    ask_for(lambda: (1, b""), path)
    with pytest.raises(ChildProcessError):
        os.waitpid(children[0], os.WNOHANG)
