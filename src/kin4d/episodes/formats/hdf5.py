"""HDF5 read with suspicion: in a child process, no links out of the file, sizes checked before
memory is taken.

A link, an external or a virtual dataset can name any file of the system, and a compressed dataset
of a few bytes can stand for any number of terabytes.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from kin4d.errors import InputError
from kin4d.extras import require
from kin4d.files import existing_file
from kin4d.isolation import Answer, Ask, isolated
from kin4d.reading import Budget


@contextmanager
def open_hdf5(path: Path) -> Iterator[Hdf5Group]:
    """The root of a file."""
    h5py: Any = require("h5py", extra="episodes", purpose="reading HDF5")
    budget = Budget(existing_file(path))

    @contextmanager
    def library() -> Iterator[Ask]:
        with h5py.File(path, "r") as file:
            yield partial(_answer, h5py, file, path)

    with isolated(path, "HDF5", library) as ask:
        ask("names", [])  # opens it
        yield Hdf5Group(ask, [], budget)


class Hdf5Group:
    """A group of a file; what it holds is asked for by name, one level at a time."""

    def __init__(self, ask: Ask, place: list[str], budget: Budget) -> None:
        self._ask, self._place, self._budget = ask, place, budget

    @property
    def attributes(self) -> dict[str, Any]:
        """Attributes that are text or numbers, by name."""
        return self._ask("attributes", self._place)[0]

    def names(self) -> list[str]:
        """What it holds."""
        return self._ask("names", self._place)[0]

    def group(self, name: str) -> Hdf5Group:
        """A group in it."""
        place = [*self._place, name]
        self._ask("names", place)
        return Hdf5Group(self._ask, place, self._budget)

    def shapes(self) -> dict[str, tuple[int, ...]]:
        """Shapes of its datasets by name."""
        found = self._ask("shapes", self._place)[0]
        return {name: tuple(shape) for name, shape in found.items()}

    def array(self, name: str) -> np.ndarray:
        """A dataset of numbers in it, read whole."""
        (shape, form), _ = self._ask("form", self._place, name)
        dtype = np.dtype(form)
        self._budget.spend_array(shape, dtype.itemsize, f"'{name}'")
        _, data = self._ask("array", self._place, name)
        return np.frombuffer(data, dtype).reshape(shape)


def _answer(h5py: Any, file: Any, path: Path, what: str, place: list[str], *names: str) -> Answer:
    """In the child: what a request asks for."""
    group = file
    for name in place:
        group = _item(h5py, group, path, name)
        if not isinstance(group, h5py.Group):
            raise ValueError(f"'{name}' is no group")
    if what == "names":
        return sorted(group), b""
    if what == "attributes":
        return {name: _plain(value) for name, value in group.attrs.items()}, b""
    if what == "shapes":
        items = {name: _item(h5py, group, path, name) for name in sorted(group)}
        shapes = {
            name: item.shape
            for name, item in items.items()
            if isinstance(item, h5py.Dataset) and item.shape is not None
        }
        return shapes, b""
    (name,) = names
    found = _item(h5py, group, path, name)
    if not isinstance(found, h5py.Dataset) or found.shape is None:
        raise ValueError(f"'{name}' is no dataset")
    if found.external or found.is_virtual:
        raise _elsewhere(path, name)
    if found.dtype.kind not in "fiub":
        raise ValueError(f"'{name}' holds {found.dtype}, not numbers")
    if what == "form":
        return (found.shape, found.dtype.str), b""
    return None, np.ascontiguousarray(found[()]).tobytes()


def _item(h5py: Any, group: Any, path: Path, name: str) -> Any:
    link = group.get(name, getlink=True)
    if link is None:
        raise ValueError(f"it has no '{name}'")
    if not isinstance(link, h5py.HardLink):
        raise _elsewhere(path, name)
    return group[name]


def _elsewhere(path: Path, name: str) -> InputError:
    return InputError(
        f"{path} keeps '{name}' elsewhere",
        allowed="data in the file itself, without links",
        hint="copy it with `h5repack` or h5py",
    )


def _plain(value: Any) -> Any:
    """An attribute as JSON holds it; text stays text."""
    if isinstance(value, bytes):
        return value.decode("utf-8", "replace")
    if isinstance(value, np.ndarray | np.generic):
        found = value.tolist()
        return found if isinstance(found, str | int | float | bool) else str(found)
    return value if isinstance(value, str | int | float | bool) else str(value)
