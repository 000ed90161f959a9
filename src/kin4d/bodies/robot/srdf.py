"""SRDF: the named pose that comes with a robot description, taken as its rest pose."""

from __future__ import annotations

from pathlib import Path

from kin4d.geometry.io.safe_xml import parse_xml
from kin4d.reading import reading

# The pose people mean when they draw the robot, best first.
_POSES = ("home", "default", "ready", "standing", "half_sitting", "neutral")


def srdf_rest_values(description: Path) -> dict[str, float]:
    """Joint values (rad or m) of the pose named in the SRDF beside a URDF; empty without one."""
    folder, name = description.parent, f"{description.stem.removesuffix('_robot')}.srdf"
    for path in (folder / name, folder.parent / "srdf" / name):
        if path.is_file():
            with reading(path, "SRDF file"):
                states = parse_xml(path).iterfind("group_state")
                poses = {state.get("name"): state for state in states}
                for pose in _POSES:
                    if pose in poses:
                        return _values(poses[pose])
    return {}


def _values(state) -> dict[str, float]:
    """Values of joints with one coordinate; others hold several numbers."""
    found = {}
    for joint in state.iterfind("joint"):
        numbers = (joint.get("value") or "").split()
        if len(numbers) == 1:
            found[joint.get("name")] = float(numbers[0])
    return found
