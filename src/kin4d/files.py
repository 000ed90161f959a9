"""Output files appear whole or not at all: written beside their target, then renamed."""

from __future__ import annotations

import json
import math
import shutil
import tempfile
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from kin4d.errors import InputError, OutputError

if TYPE_CHECKING:
    import numpy as np


@contextmanager
def atomic_path(target: str | Path) -> Iterator[Path]:
    """Yield a temporary sibling of `target` (same suffix); on success it replaces `target`.

    Missing parent folders are made. On any exception the temporary file is removed and the old
    `target` is left as it was. `target` may be a folder: write into the yielded path as a folder
    (the caller makes it) and the whole folder is swapped in.
    """
    target = Path(target)
    try:
        if target.exists() and not (target.is_file() or target.is_dir()):
            raise OutputError(
                f"cannot write {target}: it is a device or a pipe, which a file would replace",
                hint="name a file",
            )
        target.parent.mkdir(parents=True, exist_ok=True)
        workspace = Path(tempfile.mkdtemp(prefix=f".{target.name[:32]}.", dir=target.parent))
    except OSError as error:
        raise _cannot_write(target, error) from error
    # The real name inside a private folder: writers that look at names and suffixes are not misled.
    temporary, replaced = workspace / "new" / target.name, workspace / "old"
    try:
        temporary.parent.mkdir()
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
    try:
        return json.loads(source.read_text(encoding="utf-8"))
    except (ValueError, UnicodeDecodeError) as error:
        raise InputError(f"{source} is not valid JSON: {error}") from error


def read_arrays(source: str | Path, *, what: str) -> dict[str, np.ndarray]:
    """All arrays of an .npz archive, without pickle; one that is no `what` is an `InputError`."""
    import numpy as np

    source = existing_file(source)
    try:
        archive = np.load(source, allow_pickle=False)
        if isinstance(archive, np.ndarray):
            raise ValueError("it holds a single array")
        with archive:
            return {name: archive[name] for name in archive.files}
    # RuntimeError is what zipfile says to archives it holds for encrypted or of a later version.
    except (zipfile.BadZipFile, zlib.error, OSError, ValueError, EOFError, RuntimeError) as error:
        # numpy's advice to allow pickle would run whatever code a stranger's file holds.
        reason = "it is no archive of arrays" if "pickle" in str(error) else error
        raise InputError(
            f"{source} is not a readable {what}: {reason}", allowed="a whole .npz archive"
        ) from error


def existing_file(source: str | Path) -> Path:
    """Return `source` as a path, or raise `InputError` if it is not a readable file."""
    source = Path(source)
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
