"""ArticulatedBody: rigid links joined in a tree, with exact batched forward kinematics."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import torch
from torch import Tensor

from kin4d.bodies.articulated_base import ArticulatedBodyBase, Link, transform_points
from kin4d.bodies.forward_kinematics import ForwardKinematics
from kin4d.bodies.joint import Joint
from kin4d.bodies.joint_coupling import resolve_mimics
from kin4d.errors import InputError


class ArticulatedBody(ArticulatedBodyBase):
    """A tree of links. Coordinates are the joints that move and mimic no other, in given order.

    Args:
        links: All links; exactly one has no parent and becomes the root.
        joints: One per non-root link.
        q0: Rest values by joint name; a joint left out rests at zero, or at the nearest value its
            limits allow.
        root: [4, 4] world pose of the root link.
        name: For people.

    Attributes:
        drive: How the coordinates become the values of `joints`.
    """

    def __init__(
        self,
        links: Sequence[Link],
        joints: Sequence[Joint],
        *,
        q0: Mapping[str, float] | None = None,
        root: np.ndarray | None = None,
        name: str = "tree",
    ) -> None:
        self.joints = tuple(joints)
        self._parents = _parents(name, links, self.joints)
        self._order = _topological_order(name, self._parents)
        free = [joint for joint in self.joints if joint.kind != "fixed" and joint.mimic is None]
        columns = {joint.name: i for i, joint in enumerate(free)}
        self.drive = resolve_mimics(name, self.joints, columns)
        self.root = np.eye(4) if root is None else np.array(root, np.float64)
        self._kinematics = ForwardKinematics(
            self.joints,
            self._parents,
            self._order,
            root=self.root,
            drive=self.drive,
            width=len(free),
        )
        wanted = dict(q0 or {})
        unknown = sorted(set(wanted) - set(columns))
        if unknown:
            raise InputError(
                f"body '{name}' has no free joint '{unknown[0]}'", allowed=", ".join(columns)
            )
        limits = torch.tensor([joint.limits for joint in free], dtype=torch.float64).reshape(-1, 2)
        values = torch.tensor([float(wanted.get(j.name, 0.0)) for j in free], dtype=torch.float64)
        super().__init__(
            links,
            coordinates=tuple(columns),
            q0=values.clamp(limits[:, 0], limits[:, 1]),
            limits=limits,
            name=name,
        )

    def replace_links(self, links: Sequence[Link]) -> ArticulatedBody:
        """The same joints and rest coordinates with other links of the same names."""
        return ArticulatedBody(
            links, self.joints, q0=self._rest_values(), root=self.root, name=self.name
        )

    def placed(self, pose: np.ndarray) -> ArticulatedBody:
        """The same body moved by the rigid transform `pose` [4, 4]."""
        return ArticulatedBody(
            self.links, self.joints, q0=self._rest_values(), root=pose @ self.root, name=self.name
        )

    def _rest_values(self) -> dict[str, float]:
        return dict(zip(self.coordinates, self.q0.tolist(), strict=True))

    @property
    def order(self) -> list[str]:
        """Names of the links, parents before children."""
        return [self.links[i].name for i in self._order]

    def parent_of(self, link: str) -> str | None:
        """Name of a link's parent, None for the root."""
        parent, _ = self._parents[self.link_index(link)]
        return None if parent < 0 else self.links[parent].name

    def joints_above(self, link: str) -> list[int]:
        """Indices of the joints between the root and `link`, the root's first."""
        path, at = [], self.link_index(link)
        while self._parents[at] != (-1, -1):
            at, joint = self._parents[at]
            path.append(joint)
        return path[::-1]

    def joint_values(self, q: Tensor) -> Tensor:
        """Values [..., J] (rad or m) of all joints, mimics included, in the order of `joints`."""
        return self._kinematics.values(q)

    def link_poses(self, q: Tensor) -> Tensor:
        """World pose of every link's frame, [..., L, 4, 4], at q [..., k]."""
        return self._kinematics.poses(q)

    def link_twists(self, q: Tensor) -> Tensor:
        """Geometric Jacobian of every link, [..., L, 6, k], in world axes.

        Rows are the velocity of the link's material at the world's origin, then its angular
        velocity: a point x of the link moves at v + cross(w, x) per unit of the coordinate.
        """
        return self._kinematics.poses_and_twists(q)[1]

    def link_jacobian(self, q: Tensor) -> Tensor:
        """d link_poses / dq, [..., L, 4, 4, k], in closed form."""
        return self._kinematics.pose_derivatives(q)

    def point_jacobian(self, q: Tensor, links: Tensor, local: Tensor) -> Tensor:
        """d x / dq, [..., N, 3, k], of points `local` [N, 3] (m) fixed to `links` [N]."""
        poses, twists = self._kinematics.poses_and_twists(q)
        points = transform_points(poses, links, local)[..., None]
        twists = twists[..., links, :, :]
        angular = twists[..., 3:, :]
        return twists[..., :3, :] + torch.linalg.cross(angular, points.expand_as(angular), dim=-2)


def _parents(name: str, links: Sequence[Link], joints: Sequence[Joint]) -> list[tuple[int, int]]:
    """For each link its (parent link, joint) indices; (-1, -1) for the root."""
    index = {link.name: i for i, link in enumerate(links)}
    if len(index) != len(links):
        raise InputError(f"body '{name}' has two links of the same name")
    if len({joint.name for joint in joints}) != len(joints):
        raise InputError(f"body '{name}' has two joints of the same name")
    parents = [(-1, -1)] * len(links)
    for j, joint in enumerate(joints):
        for end in (joint.parent, joint.child):
            if end not in index:
                raise InputError(
                    f"joint '{joint.name}' names link '{end}' which does not exist",
                    allowed=", ".join(index),
                )
        if parents[index[joint.child]] != (-1, -1):
            raise InputError(
                f"link '{joint.child}' of '{name}' has two parents: closed loops are not trees"
            )
        parents[index[joint.child]] = (index[joint.parent], j)
    return parents


def _topological_order(name: str, parents: list[tuple[int, int]]) -> list[int]:
    roots = [i for i, (parent, _) in enumerate(parents) if parent < 0]
    if len(roots) > 1:
        raise InputError(
            f"body '{name}' has {len(roots)} root links", allowed="one tree with a single root"
        )
    children: dict[int, list[int]] = {}
    for i, (parent, _) in enumerate(parents):
        children.setdefault(parent, []).append(i)
    order = list(roots)
    for link in order:
        order.extend(children.get(link, ()))
    if len(order) != len(parents):
        raise InputError(f"the joints of body '{name}' form a cycle", allowed="a tree")
    return order
