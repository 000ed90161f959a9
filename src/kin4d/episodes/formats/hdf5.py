"""HDF5 read with suspicion: no links out of the file, sizes checked before memory is taken.

A link, an external or a virtual dataset can name any file of the system, and a compressed dataset
of a few bytes can stand for any number of terabytes.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from kin4d.errors import InputError
from kin4d.extras import require
from kin4d.files import existing_file
from kin4d.reading import Budget


@contextmanager
def open_hdf5(path: Path) -> Iterator[Hdf5Group]:
    """The root of a file."""
    h5py: Any = require("h5py", extra="episodes", purpose="reading HDF5")
    with h5py.File(existing_file(path), "r") as file:
        yield Hdf5Group(h5py, file, path, Budget(path))


class Hdf5Group:
    """A group of a file; what it holds is asked for by name, one level at a time."""

    def __init__(self, h5py: Any, group: Any, path: Path, budget: Budget) -> None:
        self._h5py, self._group, self._path, self._budget = h5py, group, path, budget

    @property
    def attributes(self) -> dict[str, Any]:
        """Attributes by name."""
        return dict(self._group.attrs)

    def names(self) -> list[str]:
        """What it holds."""
        return sorted(self._group)

    def group(self, name: str) -> Hdf5Group:
        """A group in it."""
        found = self._item(name)
        if not isinstance(found, self._h5py.Group):
            raise ValueError(f"'{name}' is no group")
        return Hdf5Group(self._h5py, found, self._path, self._budget)

    def shapes(self) -> dict[str, tuple[int, ...]]:
        """Shapes of its datasets by name."""
        items = {name: self._item(name) for name in self.names()}
        return {
            name: item.shape
            for name, item in items.items()
            if isinstance(item, self._h5py.Dataset) and item.shape is not None
        }

    def array(self, name: str) -> np.ndarray:
        """A dataset of numbers in it, read whole."""
        found = self._item(name)
        if not isinstance(found, self._h5py.Dataset) or found.shape is None:
            raise ValueError(f"'{name}' is no dataset")
        if found.external or found.is_virtual:
            raise self._elsewhere(name)
        if found.dtype.kind not in "fiub":
            raise ValueError(f"'{name}' holds {found.dtype}, not numbers")
        self._budget.spend_array(found.shape, found.dtype.itemsize, f"'{name}'")
        return found[()]

    def _item(self, name: str) -> Any:
        link = self._group.get(name, getlink=True)
        if link is None:
            raise ValueError(f"it has no '{name}'")
        if not isinstance(link, self._h5py.HardLink):
            raise self._elsewhere(name)
        return self._group[name]

    def _elsewhere(self, name: str) -> InputError:
        return InputError(
            f"{self._path} keeps '{name}' elsewhere",
            allowed="data in the file itself, without links",
            hint="copy it with `h5repack` or h5py",
        )
