"""Reading files from strangers: every failure names the file, memory is counted before it is taken,
and no name inside a file leads out of its folder.
"""

from __future__ import annotations

import json
import math
import os
import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

from kin4d.errors import InputError, Kin4dError

READ_GB = "KIN4D_READ_GB"
"""Environment variable: GiB that reading one file may take, 1 by default."""

PIXELS = 100_000_000
"""Most pixels of an image."""

_TIMES_SIZE = 16  # a file may always take so many times the bytes it has
_DEPTH, _VALUES = 100, 8_000_000  # of JSON: levels, and brackets and commas
_DIGITS = 40  # of a whole number in JSON
_SCHEME = re.compile(r"[a-zA-Z][a-zA-Z0-9+.-]*:")


@contextmanager
def reading(
    path: str | Path, what: str, *, place: str = "", hint: str | None = None
) -> Iterator[None]:
    """Whatever goes wrong inside is an `InputError` that names the file and the place in it.

    Args:
        path: The file or folder that is read.
        what: Its format, as in "is not a readable PLY file".
        place: Where in it: "episode 3", "column 'action'".
        hint: The next step for the user.
    """
    where = f"{path}, {place}" if place else f"{path}"
    try:
        yield
    except InputError as error:
        # Values refused deeper down (a camera, actions) do not know which file they came from.
        if type(error) is not InputError or _names(Path(path), str(error)):
            raise
        raise InputError(
            f"{where}: {error.what}", value=error.value, allowed=error.allowed, hint=error.hint
        ) from error
    except Kin4dError:
        raise
    except Exception as error:  # whatever libraries raise over a broken file
        inside = f" ({place})" if place else ""
        raise InputError(
            f"{path} is not a readable {what}{inside}: {_reason(error)}", hint=hint
        ) from error


def _names(path: Path, text: str) -> bool:
    """Whether a message says which file it is about; a name of a letter or two may be any word."""
    name = rf"(?<!\w){re.escape(path.name)}(?!\w)"
    return str(path) in text or (len(path.name) > 3 and re.search(name, text) is not None)


def _reason(error: Exception) -> str:
    if isinstance(error, MemoryError):
        return "it needs more memory than there is"
    if isinstance(error, RecursionError):
        return "it is nested too deeply"
    if "pickle" in str(error):
        # numpy's advice to allow pickle would run whatever code a stranger's file holds.
        return "it is no array of numbers"
    if isinstance(error, OSError) and error.strerror:
        return error.strerror
    text = " ".join(str(error).split())[:300]
    return text if isinstance(error, ValueError) and text else f"{type(error).__name__}: {text}"


class Budget:
    """Memory that reading one file may take: `READ_GB`, or a multiple of the file's own size."""

    def __init__(self, path: str | Path, *, size: int | None = None) -> None:
        self.path = Path(path)
        if size is None:
            size = self.path.stat().st_size if self.path.is_file() else 0
        allowed = float(os.environ.get(READ_GB, 1)) * 2**30
        self.most = self.left = max(int(allowed), _TIMES_SIZE * size)

    def spend(self, count: float, what: str) -> None:
        """Count `count` bytes that `what` will take; an `InputError` if that is too much."""
        if not count >= 0:
            raise InputError(f"{self.path}: {what} has an impossible size", value=count)
        self.left -= count
        if self.left < 0:
            raise InputError(
                f"{self.path}: {what} needs more memory than a file of this size may take",
                value=f"{(self.most - self.left) / 2**30:.3g} GiB",
                allowed=f"{self.most / 2**30:.3g} GiB",
                hint=f"if you trust the file, set the environment variable {READ_GB} higher",
            )

    def spend_array(self, shape: Sequence[int], itemsize: int, what: str) -> None:
        """Count an array of this shape."""
        self.spend(math.prod(int(n) for n in shape) * itemsize, what)


def check_pixels(width: int, height: int) -> None:
    """Refuse an image that is too large to decode."""
    if not 0 < width * height <= PIXELS:
        raise InputError(
            "an image has too many pixels",
            value=f"{width} x {height}",
            allowed=f"1 to {PIXELS:,}",
            hint="make it smaller",
        )


def parse_json(text: str | bytes) -> Any:
    """The value of a JSON text; a `ValueError` if it is malformed, too deep or too large."""
    data = text.encode() if isinstance(text, str) else text
    if data.count(b"[") + data.count(b"{") > _DEPTH or len(data) > _VALUES:
        import numpy as np

        bare = re.sub(rb'"[^"\\]*(?:\\.[^"\\]*)*"', b"", data, flags=re.DOTALL)
        codes = np.frombuffer(bare, np.uint8)
        opened, closed = (np.isin(codes, np.frombuffer(c, np.uint8)) for c in (b"[{", b"]}"))
        if (opened.astype(np.int8) - closed).cumsum(dtype=np.int32).max(initial=0) > _DEPTH:
            raise ValueError(f"it is nested more than {_DEPTH} levels deep")
        if int(opened.sum()) + bare.count(b",") > _VALUES:
            raise ValueError(f"it holds more than {_VALUES:,} values")
    return json.loads(data, parse_int=_whole_number)


def _whole_number(digits: str) -> int:
    if len(digits) > _DIGITS:
        raise ValueError(f"a whole number has {len(digits)} digits, at most {_DIGITS} are read")
    return int(digits)


def array_bytes(stream: IO[bytes]) -> int:
    """Bytes of the array that the header of an .npy stream declares; nothing else is read."""
    from numpy.lib import format as npy

    version = npy.read_magic(stream)
    read = npy.read_array_header_1_0 if version == (1, 0) else npy.read_array_header_2_0
    shape, _, dtype = read(stream)
    if min(shape, default=0) < 0:
        raise ValueError(f"an array has the shape {shape}")
    return math.prod(shape) * dtype.itemsize


def confined_path(
    source: str | Path,
    name: str,
    *,
    base: Path | None = None,
    roots: Sequence[Path] = (),
    absolute: bool = False,
) -> Path:
    """Where the file that `source` calls `name` lies; nothing is opened.

    A file from a stranger must not make us read what it likes, so addresses (`https:`, `C:`),
    absolute names and names that leave the allowed folders, also by a link, are an `InputError`.

    Args:
        source: The file that holds the name.
        name: As it stands there.
        base: The folder that names are relative to; by default that of `source`.
        roots: The folders it may lie in; by default that of `source`, and the one where `source`
            really is if it is a link itself.
        absolute: Whether an absolute name is allowed, if it lies in `roots`.
    """
    source = Path(source)
    roots = roots or (source.absolute().parent, source.resolve().parent)
    if isinstance(name, str) and "\0" not in name and not _SCHEME.match(name):
        plain = name.replace("\\", "/")
        if absolute or not plain.startswith("/"):
            path = Path(os.path.normpath((base or source.parent) / plain))
            # Others may open it as it is written, and follow a link before they go up from it.
            real = {path.resolve(), ((base or source.parent) / plain).resolve()}
            folders = [root.resolve() for root in roots]
            if all(any(one.is_relative_to(folder) for folder in folders) for one in real):
                return path
    raise InputError(
        f"{source} refers to a file outside its folder",
        value=name,
        allowed="relative paths that stay inside " + ", ".join(dict.fromkeys(map(str, roots))),
        hint="put the file there",
    )
