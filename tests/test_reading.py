"""Files from strangers: one error for whatever goes wrong, bounded memory, confined names."""

from __future__ import annotations

import io
import json
import struct
import zipfile
from pathlib import Path

import numpy as np
import pytest

from kin4d.errors import InputError, MissingExtraError
from kin4d.files import read_array, read_arrays, read_json, read_json_lines
from kin4d.reading import READ_GB, Budget, confined_path, parse_json, reading


@pytest.mark.parametrize(
    "error",
    [
        KeyError("a"),
        IndexError("b"),
        TypeError("c"),
        struct.error("d"),
        RecursionError(),
        MemoryError(),
        OSError(5, "Input/output error"),
        AssertionError(),
        ZeroDivisionError(),
    ],
)
def test_whatever_a_library_raises_names_file_and_place(error: Exception) -> None:
    with (
        pytest.raises(InputError, match=r"dir/a\.xyz is not a readable XYZ .*\(row 3\)") as found,
        reading("dir/a.xyz", "XYZ file", place="row 3"),
    ):
        raise error
    assert found.value.__cause__ is error


def test_refusals_from_deeper_down_get_the_file_and_others_pass() -> None:
    with pytest.raises(InputError, match=r"a\.xyz, row 3: fps must .*got -1.*Allowed: > 0"):  # noqa: SIM117
        with reading("a.xyz", "XYZ file", place="row 3"):
            raise InputError("fps must be positive", value=-1, allowed="> 0")
    with pytest.raises(InputError, match=r"^a\.xyz is empty\.$"), reading("a.xyz", "XYZ file"):
        raise InputError("a.xyz is empty")
    with pytest.raises(MissingExtraError), reading("a.xyz", "XYZ file"):
        raise MissingExtraError("needs a package")
    with pytest.raises(KeyboardInterrupt), reading("a.xyz", "XYZ file"):
        raise KeyboardInterrupt


def test_json_is_bounded_in_depth_and_size(tmp_path: Path) -> None:
    assert parse_json(json.dumps({"a": ["[[[[", '\\"{'] * 200})) == {"a": ["[[[[", '\\"{'] * 200}
    deep = "[" * 90 + "]" * 90
    assert parse_json(deep) == json.loads(deep)
    for text in ("[" * 60_000 + "]" * 60_000, "[" * 60_000, '{"a":' * 3000 + "1" + "}" * 3000):
        (tmp_path / "a.json").write_text(text)
        with pytest.raises(InputError, match=r"a\.json is not a readable JSON"):
            read_json(tmp_path / "a.json")
    with pytest.raises(ValueError, match="more than"):
        parse_json(b"[" + b"1," * 9_000_000 + b"1]")
    (tmp_path / "a.jsonl").write_bytes(b'{"a": 1}\n\n[1]\n')
    with pytest.raises(InputError, match=r"a\.jsonl .*line 3"):
        read_json_lines(tmp_path / "a.jsonl")
    (tmp_path / "a.jsonl").write_bytes(b'{"a": "\xaf"}')
    with pytest.raises(InputError, match="line 1"):
        read_json_lines(tmp_path / "a.jsonl")


def npz_that_asks_for(shape: str) -> bytes:
    header = f"{{'descr': '<f8', 'fortran_order': False, 'shape': {shape}, }}\n".encode()
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w") as archive:
        body = b"\x93NUMPY\x01\0" + struct.pack("<H", len(header)) + header
        archive.writestr("a.npy", body)
    return stream.getvalue()


@pytest.mark.parametrize("shape", ["(70_000_000_000,)", "(10**9,)", "(1000, 1000, 1000)", "(-5,)"])
def test_a_small_archive_cannot_ask_for_much_memory(tmp_path: Path, shape: str) -> None:
    path = tmp_path / "a.npz"
    path.write_bytes(npz_that_asks_for(shape))
    assert path.stat().st_size < 300
    with pytest.raises(InputError, match=r"a\.npz"):
        read_arrays(path, what="clip")
    (tmp_path / "a.npy").write_bytes(zipfile.ZipFile(path).read("a.npy"))
    with pytest.raises(InputError, match=r"a\.npy"):
        read_array(tmp_path / "a.npy", what="table")


def test_large_files_may_take_much_memory(tmp_path: Path, monkeypatch) -> None:
    budget = Budget("a", size=2**30)
    budget.spend(10 * 2**30, "half of it")
    with pytest.raises(InputError, match=rf"the rest needs more memory.*{READ_GB}"):
        budget.spend(10 * 2**30, "the rest")
    Budget("a", size=0).spend_array((2**10, 2**10), 1024, "all that is allowed")
    monkeypatch.setenv(READ_GB, "0.001")
    with pytest.raises(InputError, match="more memory"):
        Budget("a", size=0).spend(2**21, "it")
    with pytest.raises(InputError, match="impossible"):
        Budget("a", size=0).spend(-1, "it")
    np.save(tmp_path / "a.npy", np.empty((0, 7)))
    assert read_array(tmp_path / "a.npy", what="table").shape == (0, 7)


def test_names_stay_inside(tmp_path: Path) -> None:
    home = tmp_path / "home"
    (home / "sub").mkdir(parents=True)
    (tmp_path / "secret").write_text("x")
    (home / "link").symlink_to(tmp_path / "secret")
    (home / "up").symlink_to(tmp_path)
    (home / "good").symlink_to(home / "sub")
    source = home / "a.json"
    assert confined_path(source, "sub/b.png") == home / "sub/b.png"
    assert confined_path(source, "good/b.png") == home / "good/b.png"
    assert confined_path(source, "sub/../b.png") == home / "b.png"
    for name in (
        "../secret",
        "sub/../../secret",
        "..\\secret",
        "link",
        "up/secret",
        # As written it leaves by the link, shortened it does not.
        "up/../home/../../x",
        str(tmp_path / "secret"),
        str(home / "sub"),
        "file:///etc/passwd",
        "https://example.org/a",
        "C:\\a",
        "a\0b",
        None,
        3,
    ):
        with pytest.raises(InputError, match="outside its folder"):
            confined_path(source, name)  # pyright: ignore[reportArgumentType]
    inside = str(home / "sub" / "b")
    assert confined_path(source, inside, roots=[home], absolute=True) == Path(inside)


def test_a_linked_file_may_name_what_lies_beside_it_really(tmp_path: Path) -> None:
    # Caches keep every file as a link to one folder.
    (tmp_path / "blobs").mkdir()
    (tmp_path / "snapshot").mkdir()
    for name in ("a.json", "b.bin"):
        (tmp_path / "blobs" / name).write_text("x")
        (tmp_path / "snapshot" / name).symlink_to(tmp_path / "blobs" / name)
    assert confined_path(tmp_path / "snapshot" / "a.json", "b.bin").is_file()
