"""Corrections: changes to the predicted parts and joints of a `SegmentedBody`, as plain data.

A mapping from the name of a part to what changes about it. Everything is optional, and what is not
given stays as it is. Axes are those of the world at rest, z up; lengths are metres, angles radians.

    name: A new name of the part, its link and its coordinate.
    type: "revolute", "prismatic", "continuous" (a hinge without end) or "fixed" (no joint: the part
        becomes one with its parent).
    axis: [x, y, z], of any length.
    pivot: [x, y, z], a point on the axis.
    limits: [lower, upper] relative to rest; null for none.
    parent: The name of the part it stands on.
    pieces: Connected components of the mesh (`Mesh.components`) that belong to the part from now.
    faces: Triangles that do; all vertices they use go with them.
    vertices: Vertices that do.
    new: true if the part does not exist yet; it then takes a type, an axis and limits, and a pivot
        if it turns.
    probability: Not read; `to_corrections` writes it for people.

The part that does not move is called "still" and takes pieces, faces and vertices alone.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from kin4d.bodies.capabilities import Correctable
from kin4d.bodies.segmented import ROOT, JointSpec
from kin4d.errors import InputError
from kin4d.files import json_text, read_json, write_bytes
from kin4d.geometry.mesh import Mesh

TYPES = ("revolute", "prismatic", "continuous", "fixed")
_SURFACE = ("pieces", "faces", "vertices")
_KEYS = ("name", "type", "axis", "pivot", "limits", "parent", *_SURFACE, "new", "probability")

Corrections = Mapping[str, Mapping[str, Any]]


def read_corrections(path: str | Path) -> dict[str, dict[str, Any]]:
    """The corrections in a JSON file: ``{"parts": {NAME: {...}, ...}}``."""
    data = read_json(path)
    if not isinstance(data, dict) or not isinstance(data.get("parts"), dict):
        raise InputError(
            f"{path} holds no corrections",
            allowed='{"parts": {"part1": {"axis": [0, 0, 1]}, ...}}',
            hint="`kin4d articulate MESH --save-joints FILE` writes a file to start from",
        )
    for key in data:
        _check_key(key, ("parts",), f"{path}")
    return data["parts"]


def write_corrections(body: Correctable, path: str | Path) -> Path:
    """Write what a body consists of as a file that `read_corrections` reads."""
    text = json_text({"parts": to_corrections(body)})
    # A list of numbers on one line is easier to edit than a column of them.
    text = re.sub(r"\[[^\[\]{}]*\]", lambda found: " ".join(found[0].split()), text)
    return write_bytes(path, (text + "\n").replace("[ ", "[").replace(" ]", "]").encode())


def to_corrections(body: Correctable) -> dict[str, dict[str, Any]]:
    """All parts of a body as corrections, which change nothing. Pieces in several parts are left
    out."""
    components = body.rest.components
    pieces: list[list[int]] = [[] for _ in range(len(body.joint_specs) + 1)]
    pairs = np.unique(np.stack([components, body.part], 1), axis=0)
    whole = np.bincount(pairs[:, 0]) == 1
    for piece, part in pairs[whole[pairs[:, 0]]].tolist():
        pieces[part].append(piece)
    names = [ROOT, *(spec.name for spec in body.joint_specs)]
    out: dict[str, dict[str, Any]] = {ROOT: {"pieces": pieces[0]}}
    for spec, own in zip(body.joint_specs, pieces[1:], strict=True):
        out[spec.name] = {
            "type": joint_type(spec),
            "axis": np.asarray(spec.axis, np.float64).tolist(),
            "pivot": np.asarray(spec.point, np.float64).tolist(),
            "limits": [float(x) if np.isfinite(x) else None for x in spec.limits],
            "parent": names[spec.parent],
            "pieces": own,
            "probability": spec.probability,
        }
    return out


def joint_type(spec: JointSpec) -> str:
    """Its type, with "continuous" for a hinge without limits."""
    endless = spec.kind == "revolute" and not np.isfinite(spec.limits).any()
    return "continuous" if endless else spec.kind


def correct(
    mesh: Mesh, part: np.ndarray, joints: Sequence[JointSpec], parts: Corrections
) -> tuple[np.ndarray, list[JointSpec]]:
    """Parts [V] of the vertices and joints after corrections; see the module."""
    names = [ROOT, *(spec.name for spec in joints)]
    changes = {name: _checked(name, change, names) for name, change in parts.items()}
    names += [name for name in changes if name not in names]
    specs = [
        _joint(name, joints[i] if i < len(joints) else None, changes.get(name, {}), names)
        for i, name in enumerate(names[1:])
    ]
    part = part.copy()
    assigned = np.zeros(len(part), bool)
    for name, change in changes.items():
        own = _own_vertices(mesh, name, change)
        if (own & assigned).any():
            vertex = int(np.flatnonzero(own & assigned)[0])
            raise InputError(
                f"vertex {vertex} of piece {mesh.components[vertex]} is given to '{name}' and to "
                "another part",
                hint="name it once",
            )
        assigned |= own
        part[own] = names.index(name)
    fixed = [name for name, change in changes.items() if change.get("type") == "fixed"]
    return _merged(part, specs, {names.index(name) for name in fixed})


def _checked(name: str, change: Any, names: Sequence[str]) -> Mapping[str, Any]:
    """`change` if its keys and its part exist."""
    where = f"corrections of part '{name}'"
    if not isinstance(change, Mapping):
        raise InputError(
            f"{where} are not an object", value=change, allowed='as {"limits": [0, 1]}'
        )
    for key in change:
        _check_key(key, _KEYS, where)
    if change.get("new") and name in names:
        raise InputError(f"there is a part '{name}' already", hint="leave out its key 'new'")
    if not change.get("new"):
        _check_key(name, names, "the body", what="part")
    beyond = sorted(set(change) - set(_SURFACE))
    if name == ROOT and beyond:
        raise InputError(
            f"part '{ROOT}' does not move and has no {beyond[0]}", allowed=", ".join(_SURFACE)
        )
    return change


def _joint(
    name: str, before: JointSpec | None, change: Mapping[str, Any], names: Sequence[str]
) -> JointSpec:
    """The joint of a part after `change`."""
    where = f"corrections of part '{name}'"
    old = "new" if before is None else joint_type(before)
    kind = change.get("type", old)
    if kind not in TYPES:
        raise InputError(f"{where}: joint type", value=kind, allowed=", ".join(TYPES))
    slides = kind == "prismatic"
    needed = [] if kind == "fixed" else ["axis"] * (before is None)
    if before is None and not slides and kind != "fixed":
        needed.append("pivot")
    if kind not in ("fixed", "continuous") and (before is None or slides != (old == "prismatic")):
        needed.append("limits")
    for key in needed:
        if key not in change:
            raise InputError(
                f"{where}: a {'new' if before is None else kind} joint needs '{key}'",
                hint="angles are in radians, lengths in metres",
            )
    limits = _limits(where, change["limits"]) if "limits" in change else None
    if kind == "continuous":
        limits = (-np.inf, np.inf)
    parent = change.get("parent", names[before.parent] if before else ROOT)
    _check_key(parent, names, where, what="parent")
    return JointSpec(
        name=str(change.get("name", name)),
        parent=list(names).index(parent),
        kind="prismatic" if slides else "revolute",
        point=_vector(where, "pivot", change.get("pivot", before.point if before else np.zeros(3))),
        axis=_unit(where, change.get("axis", before.axis if before else [0.0, 0.0, 1.0])),
        limits=limits or (before.limits if before else (0.0, 0.0)),
        probability=before.probability if before else None,
    )


def _limits(where: str, value: Any) -> tuple[float, float]:
    if isinstance(value, Sequence) and len(value) == 2:
        value = [
            infinite if bound is None else bound
            for bound, infinite in zip(value, (-np.inf, np.inf), strict=True)
        ]
        if all(isinstance(bound, int | float) for bound in value) and value[0] <= 0 <= value[1]:
            return float(value[0]), float(value[1])
    raise InputError(
        f"{where}: limits",
        value=value,
        allowed="[lower, upper] relative to rest, lower <= 0 <= upper, null for no limit",
    )


def _vector(where: str, key: str, value: Any) -> np.ndarray:
    try:
        vector = np.array(value, np.float64)
    except (TypeError, ValueError):
        vector = np.zeros(0)
    if vector.shape != (3,) or not np.isfinite(vector).all():
        raise InputError(f"{where}: {key}", value=value, allowed="three finite numbers")
    return vector


def _unit(where: str, value: Any) -> np.ndarray:
    axis = _vector(where, "axis", value)
    length = np.linalg.norm(axis)
    if not length > 1e-9:
        raise InputError(f"{where}: axis", value=axis.tolist(), allowed="not all zero")
    return axis / length


def _own_vertices(mesh: Mesh, name: str, change: Mapping[str, Any]) -> np.ndarray:
    """[V] bool: which vertices a correction gives to part `name`."""
    own = np.zeros(len(mesh.vertices), bool)
    counts = {
        "pieces": int(mesh.components.max()) + 1,
        "faces": len(mesh.faces),
        "vertices": len(mesh.vertices),
    }
    for key in _SURFACE:
        try:
            given = np.asarray(change.get(key, []))
        except ValueError:  # lists of several lengths
            given = np.zeros(())
        whole = given.ndim == 1 and (not given.size or np.issubdtype(given.dtype, np.integer))
        if not whole or (given.size and (given.min() < 0 or given.max() >= counts[key])):
            raise InputError(
                f"corrections of part '{name}': {key}",
                value=change[key],
                allowed=f"a list of whole numbers from 0 to {counts[key] - 1}",
            )
        given = given.astype(np.int64)
        if key == "pieces":
            own |= np.isin(mesh.components, given)
        elif key == "faces":
            own[mesh.faces[given]] = True
        else:
            own[given] = True
    return own


def _merged(
    part: np.ndarray, joints: Sequence[JointSpec], fixed: set[int]
) -> tuple[np.ndarray, list[JointSpec]]:
    """The parts without those that are `fixed`, which become one with their parents."""
    parent = [0, *(spec.parent for spec in joints)]

    def carrier(number: int) -> int:
        seen = set()
        while number in fixed:
            if number in seen:
                raise InputError("fixed parts stand on each other in a circle", value=sorted(seen))
            seen.add(number)
            number = parent[number]
        return number

    kept = [number for number in range(len(joints) + 1) if number not in fixed]
    table = np.array([kept.index(carrier(number)) for number in range(len(joints) + 1)])
    moving = [
        replace(spec, parent=int(table[spec.parent]))
        for number, spec in enumerate(joints, 1)
        if number not in fixed
    ]
    return table[part], moving


def _check_key(key: Any, known: Iterable[str], where: str, *, what: str = "key") -> None:
    known = list(known)
    if key not in known:
        close = difflib.get_close_matches(str(key), known, n=1)
        raise InputError(
            f"{where}: no {what} '{key}'",
            allowed=", ".join(known),
            hint=f"did you mean '{close[0]}'" if close else None,
        )
