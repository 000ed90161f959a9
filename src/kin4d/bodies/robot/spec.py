"""RobotSpec: the contents of a robot file, before it becomes a body."""

from __future__ import annotations

from dataclasses import dataclass, field

from kin4d.bodies.articulated_base import Link
from kin4d.bodies.joint import Joint


@dataclass
class RobotSpec:
    """Links and joints of a robot file.

    Attributes:
        name: The robot's own name.
        links: All links.
        joints: One per link that is not the root.
        missing: Mesh and texture files that were not found and were left out.
        rest: Rest values the file gives, by joint name (rad or m).
        loop_gap: Metres by which closed loops fail to close, at worst; 0 without loops.
    """

    name: str
    links: list[Link]
    joints: list[Joint]
    missing: list[str] = field(default_factory=list)
    rest: dict[str, float] = field(default_factory=dict)
    loop_gap: float = 0.0
