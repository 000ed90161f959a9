"""References: the files that a mesh file names, opened only where it may point."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import TYPE_CHECKING

from kin4d.errors import InputError
from kin4d.geometry.io.texture import decode_image
from kin4d.reading import confined_path

if TYPE_CHECKING:
    from PIL.Image import Image


def referenced_path(source: Path, name: str, *, levels_up: int = 0) -> Path:
    """Where the file that `source` calls `name` lies; see `confined_path`.

    Args:
        source: The file that holds the reference.
        name: The reference, relative to the folder of `source`.
        levels_up: How many folders above that of `source` still count as inside.
    """
    # A link may lead elsewhere, but only to where `source` itself really lies.
    files = (source.absolute(), source.resolve())
    return confined_path(source, name, roots=[file.parents[levels_up] for file in files])


def optional_path(source: Path, what: str, name: str) -> Path | None:
    """Like `referenced_path`, for what only changes the look: None, with a warning, if refused.

    One folder above that of `source` counts as inside: data sets keep their images in a folder
    beside that of the meshes.
    """
    try:
        path = referenced_path(source, name, levels_up=1)
        found = path.is_file()
    except (InputError, OSError) as error:
        warn_asset(source, f"{what} '{name}' is left out ({getattr(error, 'what', error)})")
        return None
    if not found:
        warn_asset(source, f"{what} '{name}' is not there and is left out")
        return None
    return path


def open_image(source: Path, what: str, data: bytes | Path) -> Image | None:
    """A decoded image from its bytes or path; None, with a warning, if it cannot be read.

    A surface without its texture is still the right surface, so this is not an error.
    """
    try:
        return decode_image(data.read_bytes() if isinstance(data, Path) else data, name=what)
    except (OSError, InputError) as error:
        warn_asset(source, f"{what} could not be read and is left out ({error})")
        return None


def warn_asset(source: Path, message: str) -> None:
    """Say that part of the look of `source` is lost, without failing."""
    warnings.warn(f"{source}: {message}", stacklevel=2)
