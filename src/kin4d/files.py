"""Output files appear whole or not at all: written beside their target, then renamed."""

from __future__ import annotations

import glob
import json
import math
import os
import shutil
import tempfile
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from kin4d.errors import InputError, OutputError
from kin4d.reading import Budget, array_bytes, parse_json, reading

if TYPE_CHECKING:
    import numpy as np

_NAME, _WORKSPACE = 32, ".unfinished"  # letters of a name that its workspace has; how it ends


@contextmanager
def atomic_path(target: str | Path) -> Iterator[Path]:
    """Yield a temporary sibling of `target` (same suffix); on success it replaces `target`.

    Missing parent folders are made. On any exception the temporary file is removed and the old
    `target` is left as it was; what a process that was killed left there is removed first.
    `target` may be a folder: write into the yielded path as a folder (the caller makes it) and the
    whole folder is swapped in.
    """
    target = Path(target)
    try:
        if target.exists() and not (target.is_file() or target.is_dir()):
            raise OutputError(
                f"cannot write {target}: it is a device or a pipe, which a file would replace",
                hint="name a file",
            )
        target.parent.mkdir(parents=True, exist_ok=True)
        remove_abandoned(target.parent, name=target.name)
        workspace, lock = _make_workspace(target)
    except OSError as error:
        raise _cannot_write(target, error) from error
    # The real name inside a private folder: writers that look at names and suffixes are not misled.
    temporary, replaced = (workspace / part / target.name for part in ("new", "old"))
    try:
        temporary.parent.mkdir()
        replaced.parent.mkdir()
        yield temporary
        if target.is_dir() and temporary.is_dir():
            target.rename(replaced)
        temporary.replace(target)
    except OSError as error:
        raise _cannot_write(target, error) from error
    finally:
        if replaced.exists() and not target.exists():
            replaced.rename(target)
        shutil.rmtree(workspace, ignore_errors=True)
        if lock is not None:
            os.close(lock)


def remove_abandoned(folder: str | Path, *, name: str | None = None) -> None:
    """Remove what `atomic_path`, killed on the way, left in `folder`; the work of others stays.

    A folder that was being replaced at that moment is put back.

    Args:
        folder: Where files were written.
        name: Only of a file of this name.
    """
    folder = Path(folder)
    start = "*" if name is None else glob.escape(name[:_NAME])
    for workspace in folder.glob(f".{start}.*{_WORKSPACE}"):
        lock = _lock(workspace, wait=False)
        if lock is None:
            continue
        try:
            for replaced in workspace.glob("old/*"):
                if not (folder / replaced.name).exists():
                    replaced.rename(folder / replaced.name)
            shutil.rmtree(workspace, ignore_errors=True)
        finally:
            os.close(lock)


def _make_workspace(target: Path) -> tuple[Path, int | None]:
    """A folder beside `target` and the lock that says that its maker lives."""
    while True:
        prefix = f".{target.name[:_NAME]}."
        workspace = Path(tempfile.mkdtemp(prefix=prefix, suffix=_WORKSPACE, dir=target.parent))
        lock = _lock(workspace, wait=True)
        if workspace.exists():  # else another took it for abandoned before it was locked
            return workspace, lock
        if lock is not None:
            os.close(lock)


def _lock(workspace: Path, *, wait: bool) -> int | None:
    """A lock that ends with this process, or None: another holds it, or there are no such locks."""
    try:
        import fcntl

        descriptor = os.open(workspace, os.O_RDONLY)
    except (ImportError, OSError):
        return None
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB))
    except OSError:
        os.close(descriptor)
        return None
    return descriptor


def write_bytes(target: str | Path, data: bytes) -> Path:
    """Write `data` to `target` atomically."""
    with atomic_path(target) as path:
        path.write_bytes(data)
    return Path(target)


def write_json(target: str | Path, value: Any) -> Path:
    """Write `value` as indented JSON, atomically; see `json_text`."""
    return write_bytes(target, (json_text(value) + "\n").encode())


def json_text(value: Any) -> str:
    """`value` as indented JSON. NaN and infinities become null, for JSON has no word for them."""
    try:
        return json.dumps(value, indent=2, allow_nan=False)
    except ValueError:
        return json.dumps(_finite(value), indent=2, allow_nan=False)


def _finite(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _finite(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_finite(item) for item in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


def read_json(source: str | Path) -> Any:
    """Read JSON; a missing or malformed file is an `InputError` that names it."""
    source = existing_file(source)
    with reading(source, "JSON file"):
        return parse_json(source.read_bytes())


def read_json_lines(source: str | Path) -> list[dict[str, Any]]:
    """Read JSON lines, each an object; anything else is an `InputError` that names the line."""
    source = existing_file(source)
    found = []
    with reading(source, "file of JSON lines"):
        for number, line in enumerate(source.read_bytes().splitlines(), 1):
            if line.strip():
                with reading(source, "JSON object", place=f"line {number}"):
                    value = parse_json(line)
                    if not isinstance(value, dict):
                        raise ValueError("it is no object")
                    found.append(value)
    return found


def read_arrays(source: str | Path, *, what: str) -> dict[str, np.ndarray]:
    """All arrays of an .npz archive, without pickle; one that is no `what` is an `InputError`."""
    import numpy as np

    source = existing_file(source)
    with reading(source, what, hint="give a whole .npz archive"):
        budget = Budget(source)
        with zipfile.ZipFile(source) as archive:
            for member in archive.infolist():
                with archive.open(member) as stream:
                    budget.spend(array_bytes(stream), f"'{member.filename}'")
        with np.load(source, allow_pickle=False) as arrays:
            return {name: arrays[name] for name in arrays.files}


def read_array(source: str | Path, *, what: str) -> np.ndarray:
    """The array of an .npy file, without pickle; one that is no `what` is an `InputError`."""
    import numpy as np

    source = existing_file(source)
    with reading(source, what, hint="give a whole .npy file"):
        # A memory map cannot be larger than its file.
        array = np.load(source, mmap_mode="r", allow_pickle=False)
        if not isinstance(array, np.ndarray):
            raise ValueError("it is an archive of arrays")
        return np.array(array)


def existing_file(source: str | Path) -> Path:
    """Return `source` as a path, or raise `InputError` if it is not a readable file."""
    source = Path(source)
    with reading(source, "path"):
        if source.is_dir():
            raise InputError(f"{source} is a folder, not a file")
        if not source.is_file():
            raise InputError(f"{source} does not exist", hint="check the path and spelling")
    return source


def _cannot_write(target: Path, error: OSError) -> OutputError:
    reason = error.strerror or str(error)
    return OutputError(
        f"cannot write {target}: {reason}",
        hint="choose a folder you may write to, with enough free space",
    )
