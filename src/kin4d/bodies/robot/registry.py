"""Robots by name: `load_robot("panda")`, or by the path of a URDF or MJCF file."""

from __future__ import annotations

import difflib
from collections.abc import Mapping, Sequence
from importlib import metadata, resources
from pathlib import Path
from typing import Literal

import numpy as np

from kin4d.bodies.robot.robot_body import RobotBody
from kin4d.bodies.robot.srdf import srdf_rest_values
from kin4d.bodies.robot.urdf import read_urdf
from kin4d.errors import InputError
from kin4d.reading import reading

_PACKAGE = "example-robot-data"


def load_robot(
    robot: str | Path,
    *,
    search_roots: Sequence[str | Path] = (),
    q0: Mapping[str, float] | None = None,
    missing: Literal["error", "skip"] = "error",
    root: np.ndarray | None = None,
    end_effector: str | None = None,
) -> RobotBody:
    """A robot by name (see `list_robots`) or by the path of a .urdf or MJCF .xml file.

    Options are those of `RobotBody.from_urdf`. Where a URDF comes with an SRDF (beside it, or in
    the folder ``srdf`` next to its own), joints not in `q0` rest in that file's pose "home",
    "default" or the like.
    """
    path = _path(robot)
    if path.suffix.lower() == ".xml":
        return RobotBody.from_mjcf(path, q0=q0, root=root, end_effector=end_effector)
    with reading(path, "URDF file"):
        found = read_urdf(path, search_roots=search_roots, missing=missing)
        free = {joint.name for joint in found.joints if joint.kind != "fixed" and not joint.mimic}
        found.rest = {name: value for name, value in srdf_rest_values(path).items() if name in free}
        return RobotBody.from_description(found, q0=q0, root=root, end_effector=end_effector)


def list_robots() -> dict[str, Path]:
    """Robots that can be loaded by name: the one that ships, and those of the extra [robots]."""
    return {**_shipped(), **_example_robots()}


def _path(robot: str | Path) -> Path:
    path = Path(robot)
    if path.suffix.lower() in (".urdf", ".xml") or len(path.parts) > 1:
        return path
    known = list_robots()
    name = _key(str(robot))
    if name in known:
        return known[name]
    close = difflib.get_close_matches(name, known, n=1)
    hints = [f"did you mean '{close[0]}'?"] if close else []
    if len(known) == len(_shipped()):
        hints.append('more robots come with: pip install "kin4d[robots]"')
    raise InputError(
        f"there is no robot called '{robot}'",
        allowed=", ".join(sorted(known)) + ", or the path of a .urdf or .xml file",
        hint="; ".join(hints) or None,
    )


def _shipped() -> dict[str, Path]:
    folder = Path(str(resources.files("kin4d"))) / "assets"
    return {path.stem: path for path in sorted(folder.glob("*/*.urdf"))}


def _example_robots() -> dict[str, Path]:
    """URDFs of the example-robot-data wheel, found without importing it (it loads pinocchio)."""
    try:
        distribution = metadata.distribution(_PACKAGE)
    except metadata.PackageNotFoundError:
        return {}
    paths = [
        Path(str(distribution.locate_file(file)))
        for file in distribution.files or ()
        if file.suffix == ".urdf"
    ]
    stems = [_key(path.stem) for path in paths]
    named = {}
    for stem, path in sorted(zip(stems, paths, strict=True)):
        # "ur5_robot" goes by "ur5"; two files called "anymal" by their folders.
        name = stem.removesuffix("_robot")
        if stems.count(stem) > 1:
            folder = path.parent.parent.name
            name = _key(folder.removesuffix("_description").removesuffix("_simple"))
        named[name] = path
    return named


def _key(name: str) -> str:
    return name.lower().replace("-", "_")
