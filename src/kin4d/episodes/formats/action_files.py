"""Action files: npz, npy, csv and parquet.

The numbers are found by name. An array (npz) or list column (parquet) called after a kind
("joint", "joint_delta", "pose", "pose_delta") says what it is; "actions", "action" or "values"
take the kind the caller gives. In tables (csv, parquet) every other number column is one column
of the actions, named after its joint if it is a joint's. "gripper" is the gripper's opening.
"fps", or the spacing of a "time" column (s), is the rate. Other options of `Actions` may be
entries of an npz.
"""

from __future__ import annotations

import csv
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from kin4d.episodes.formats.parquet import read_table
from kin4d.errors import InputError
from kin4d.files import atomic_path, existing_file, read_array, read_arrays
from kin4d.kinematics.actions import KINDS, Actions
from kin4d.kinematics.conventions import rotation_columns
from kin4d.reading import reading

_PLAIN = ("actions", "action", "values")
_TIME = ("time", "timestamp", "t")
_INDEX = ("frame_index", "episode_index", "index", "task_index")
_OPTIONS = ("kind", "fps", "gripper_unit", "rotation", "frame", "link", "names")


def read_actions(
    path: str | Path,
    *,
    key: str | None = None,
    gripper_column: int | None = None,
    **options: Any,
) -> Actions:
    """Read actions from a .npz, .npy, .csv or .parquet file.

    Args:
        path: The file; see the module for the names it may use.
        key: Name of the array or list column to read, where the usual names do not fit.
        gripper_column: Which column of the numbers is the gripper's opening, e.g. -1.
        options: Fields of `Actions`: fps (needed if the file does not say), kind ("joint" if
            neither says), rotation, frame, ... They prevail over what the file says.
    """
    path = existing_file(path)
    reader = _READERS.get(path.suffix.lower())
    if reader is None:
        raise InputError(
            f"cannot read actions from {path.name}", value=path.suffix, allowed=", ".join(_READERS)
        )
    with reading(path, f"{path.suffix[1:]} file of actions"):
        return _actions(path, reader(path), key, gripper_column, options)


def _actions(
    path: Path,
    columns: Mapping[str, np.ndarray],
    key: str | None,
    gripper_column: int | None,
    options: Mapping[str, Any],
) -> Actions:
    if not any(np.size(column) for column in columns.values()):
        raise InputError(f"{path} holds no actions", allowed="at least one row of numbers")
    found = {name: _option(columns[name]) for name in _OPTIONS if name in columns}
    found.update(_values(path, columns, key))
    if "gripper" in columns:
        found["gripper"] = columns["gripper"]
    found = {"kind": "joint", **_rate(columns), **found, **options}
    if "fps" not in found:
        raise InputError(
            f"{path} does not say how many actions there are per second",
            hint="give fps, or a time column in seconds",
        )
    if gripper_column is not None:
        found["gripper"], found["values"] = _split(path, found["values"], gripper_column)
    return Actions(**_ordered(found))


def write_actions(path: str | Path, actions: Actions) -> Path:
    """Write actions to a .npz that `read_actions` reads back whole."""
    path = Path(path)
    if path.suffix.lower() != ".npz":
        raise InputError("actions are written as .npz", value=path.name)
    fields = {name: getattr(actions, name) for name in (*_OPTIONS, "gripper")}
    present = {name: np.asarray(value) for name, value in fields.items() if value is not None}
    with atomic_path(path) as temporary:
        np.savez_compressed(temporary, allow_pickle=False, values=actions.values, **present)
    return path


def _values(path: Path, columns: Mapping[str, np.ndarray], key: str | None) -> dict[str, Any]:
    """The action numbers [T, n], and what their name says about them."""
    if key is not None and key not in columns:
        raise InputError(f"{path} has no '{key}'", allowed=", ".join(columns))
    for name in (key,) if key is not None else (*KINDS, *_PLAIN):
        if name in columns and (key is not None or columns[name].ndim == 2):
            return {"values": columns[name], **({"kind": name} if name in KINDS else {})}
    known = {*_TIME, *_INDEX, *_OPTIONS, "gripper"}
    table = {
        name: column
        for name, column in columns.items()
        if name not in known and column.ndim == 1 and column.dtype.kind in "fiu"
    }
    if not table:
        raise InputError(
            f"{path} holds no actions",
            value=sorted(columns),
            allowed=", ".join((*KINDS, *_PLAIN)),
            hint="give key to name the array",
        )
    # Names like "0" or "col3" say nothing; joints are matched by name when columns have one.
    numbered = all(name.removeprefix("col").isdigit() for name in table)
    names = {} if numbered else {"names": tuple(table)}
    return {"values": np.stack(list(table.values()), 1), **names}


def _ordered(found: dict[str, Any]) -> dict[str, Any]:
    """Pose columns that carry the names of their convention, in its order."""
    names = found.get("names")
    if names is None or not found["kind"].startswith("pose"):
        return found
    expected = ("x", "y", "z", *rotation_columns(found.get("rotation", "rotvec")))
    if set(names) == set(expected):
        order = [names.index(name) for name in expected]
        found = {**found, "values": found["values"][:, order]}
    return {**found, "names": None}


def _split(path: Path, values: np.ndarray, column: int) -> tuple[np.ndarray, np.ndarray]:
    if values.ndim != 2 or not -values.shape[1] <= column < values.shape[1]:
        raise InputError(f"{path} has no column {column}", value=values.shape)
    return values[:, column], np.delete(values, column, axis=1)


def _option(value: np.ndarray) -> Any:
    """A scalar, a tuple of names, or the one value of a constant column."""
    if value.ndim == 1 and value.dtype.kind == "U":
        return tuple(value.tolist())
    return value.reshape(-1)[0].item()


def _rate(columns: Mapping[str, np.ndarray]) -> dict[str, float]:
    """The fps of a time column, if there is one."""
    for name in _TIME:
        if name in columns and len(columns[name]) > 1:
            steps = np.diff(columns[name].astype(np.float64))
            step = float(np.median(steps))
            if not steps.min() > 0:
                raise InputError(f"column '{name}' does not grow", allowed="seconds, in order")
            if abs(steps - step).max() > 0.5 * step:
                raise InputError(
                    f"column '{name}' is not evenly spaced: steps of {steps.min():.3g} to "
                    f"{steps.max():.3g} s",
                    hint="resample the actions to one rate, or leave the column out and give fps",
                )
            return {"fps": 1.0 / step}
    return {}


def _read_npy(path: Path) -> dict[str, np.ndarray]:
    return {"values": read_array(path, what="npy file")}


def _read_csv(path: Path) -> dict[str, np.ndarray]:
    with path.open(newline="", encoding="utf-8-sig") as file:
        rows = [row for row in csv.reader(file) if any(cell.strip() for cell in row)]
    if not rows:
        raise InputError(f"{path} is empty")
    header = not all(_is_number(cell) for cell in rows[0])
    names = (
        [cell.strip() for cell in rows[0]] if header else [f"col{i}" for i in range(len(rows[0]))]
    )
    body = rows[header:]
    for i, row in enumerate(body):
        if len(row) != len(names):
            raise InputError(
                f"row {i + 1 + header} of {path} has {len(row)} cells",
                allowed=f"{len(names)} as above",
            )
        for name, cell in zip(names, row, strict=True):
            if not _is_number(cell):
                raise InputError(
                    f"row {i + 1 + header} of {path}, '{name}', is no number", value=cell
                )
    table = np.array(body, np.float64).reshape(len(body), len(names))
    return dict(zip(names, table.T, strict=True))


def _read_parquet(path: Path) -> dict[str, np.ndarray]:
    table = read_table(path, extra="parquet")
    columns = {}
    for name in table.column_names:
        cells = table[name].to_pylist()
        try:
            column = np.array(cells)
        except ValueError:
            raise InputError(f"rows of '{name}' in {path} differ in length") from None
        if column.dtype.kind in "fiuU":
            columns[name] = column
    return columns


def _is_number(cell: str) -> bool:
    try:
        float(cell)
    except ValueError:
        return False
    return True


_READERS: dict[str, Callable[[Path], dict[str, np.ndarray]]] = {
    ".npz": partial(read_arrays, what="npz file"),
    ".npy": _read_npy,
    ".csv": _read_csv,
    ".parquet": _read_parquet,
}
