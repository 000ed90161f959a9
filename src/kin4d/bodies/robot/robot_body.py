"""RobotBody: a tree of links read from a robot description, with an end effector."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Literal

import numpy as np

from kin4d.bodies.articulated import ArticulatedBody
from kin4d.bodies.articulated_base import Link
from kin4d.bodies.joint import Joint
from kin4d.bodies.robot.spec import RobotSpec
from kin4d.reading import reading

# Names people give to the frame they think in when they move an arm, surest first.
_TOOL_NAMES = (
    re.compile(
        r"(^|[_/-])(tcp|tool\d*|eef?|end_?effector|grasp(ing)?|gripper_frame|pinch)($|[_/-])"
    ),
    re.compile(r"(^|[_/-])gripper$"),
)


class RobotBody(ArticulatedBody):
    """A robot.

    Args:
        links: All links.
        joints: One per link that is not the root.
        q0: Rest values by coordinate name.
        root: [4, 4] world pose of the root link.
        name: For people.
        end_effector: Name of the link that pose targets and actions refer to; by default the
            deepest link with a tool's name ("tcp", "tool0", ...), else the deepest leaf, or the
            link that several equally deep ones (fingers) stand on.
        missing: Mesh files the description names that were left out.
        loop_gap: Metres by which closed loops of links fail to close, at worst.
    """

    def __init__(
        self,
        links: Sequence[Link],
        joints: Sequence[Joint],
        *,
        q0: Mapping[str, float] | None = None,
        root: np.ndarray | None = None,
        name: str = "robot",
        end_effector: str | None = None,
        missing: Sequence[str] = (),
        loop_gap: float = 0.0,
    ) -> None:
        super().__init__(links, joints, q0=q0, root=root, name=name)
        self.missing, self.loop_gap = tuple(missing), loop_gap
        self.end_effector = end_effector or _default_end_effector(self)
        self.end_effector_index = self.link_index(self.end_effector)

    def replace_links(self, links: Sequence[Link]) -> RobotBody:
        """The same robot with other links of the same names."""
        return RobotBody(
            links,
            self.joints,
            q0=self._rest_values(),
            root=self.root,
            name=self.name,
            end_effector=self.end_effector,
            loop_gap=self.loop_gap,
        )

    def placed(self, pose: np.ndarray) -> RobotBody:
        """The same robot moved by the rigid transform `pose` [4, 4]."""
        return RobotBody(
            self.links,
            self.joints,
            q0=self._rest_values(),
            root=pose @ self.root,
            name=self.name,
            end_effector=self.end_effector,
            missing=self.missing,
            loop_gap=self.loop_gap,
        )

    @classmethod
    def from_urdf(
        cls,
        path: str | Path,
        *,
        search_roots: Sequence[str | Path] = (),
        q0: Mapping[str, float] | None = None,
        missing: Literal["error", "skip"] = "error",
        root: np.ndarray | None = None,
        end_effector: str | None = None,
    ) -> RobotBody:
        """Read a URDF file with its visual meshes, materials, limits, mimics and inertials.

        Args:
            path: The .urdf file.
            search_roots: Folders to look for packages and meshes in, before the file's own package.
                Nothing outside these and the file's package is read.
            q0: Rest values by joint name (rad or m).
            missing: "error" to stop at a mesh that is not there, "skip" to leave it out and list it
                in `missing`.
            root: [4, 4] world pose of the root link.
            end_effector: Link name; see the class.
        """
        from kin4d.bodies.robot.urdf import read_urdf

        with reading(path, "URDF file"):
            found = read_urdf(path, search_roots=search_roots, missing=missing)
            return cls.from_description(found, q0=q0, root=root, end_effector=end_effector)

    @classmethod
    def from_mjcf(
        cls,
        path: str | Path,
        *,
        q0: Mapping[str, float] | None = None,
        root: np.ndarray | None = None,
        end_effector: str | None = None,
    ) -> RobotBody:
        """Read an MJCF file through MuJoCo's compiler (extra ``[sim]``).

        Coordinates are MuJoCo's joint values. Joints in closed loops follow the joint that drives
        the loop, so a linkage gripper has one coordinate. Shown are the geoms MuJoCo's viewer shows
        (groups 0 to 2); sites become links without a surface. The key frame "home" gives `q0`.

        Args:
            path: The .xml file.
            q0: Rest values by joint name (rad or m), before those of "home".
            root: [4, 4] world pose of the model's world.
            end_effector: Link or site name; see the class.
        """
        from kin4d.bodies.robot.mjcf import read_mjcf

        with reading(path, "MJCF file"):
            found = read_mjcf(path)
            return cls.from_description(found, q0=q0, root=root, end_effector=end_effector)

    @classmethod
    def from_description(
        cls,
        found: RobotSpec,
        *,
        q0: Mapping[str, float] | None = None,
        root: np.ndarray | None = None,
        end_effector: str | None = None,
    ) -> RobotBody:
        """The body of a description; `q0` goes before the rest values it gives."""
        return cls(
            found.links,
            found.joints,
            q0={**found.rest, **(q0 or {})},
            root=root,
            name=found.name,
            end_effector=end_effector,
            missing=found.missing,
            loop_gap=found.loop_gap,
        )


def _default_end_effector(body: ArticulatedBody) -> str:
    depth: dict[str, int] = {}
    for link in body.order:
        parent = body.parent_of(link)
        depth[link] = 0 if parent is None else depth[parent] + 1
    for name in _TOOL_NAMES:
        tools = [link for link in depth if name.search(link.lower())]
        if tools:
            return max(tools, key=depth.__getitem__)
    deepest = max(depth, key=depth.__getitem__)
    fingers = [link for link in depth if depth[link] == depth[deepest]]
    parents = {body.parent_of(link) for link in fingers}
    if len(fingers) > 1 and len(parents) == 1:
        return parents.pop() or deepest
    return deepest
