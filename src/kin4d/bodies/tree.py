"""TreeBody: rigid links joined in a tree, with exact batched forward kinematics.

Each joint's transform is linear in (1, sin v, cos v, v) of its value v, so all joints of all
configurations are one product with constant coefficients; poses then compose along the tree.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
import torch
from torch import Tensor

from kin4d.bodies.linked import Link, LinkedBody
from kin4d.errors import InputError

JOINT_TYPES = ("fixed", "revolute", "prismatic")


@dataclass(frozen=True, eq=False, kw_only=True)
class Joint:
    """How a child link moves on its parent.

    Attributes:
        name: Unique within its body.
        kind: One of `JOINT_TYPES`.
        parent: Name of the parent link.
        child: Name of the child link.
        origin: [4, 4] rigid, the joint frame in the parent's frame, metres.
        axis: [3] unit vector in the joint frame.
        limits: Lower and upper value (rad or m); infinite where there is none.
        mimic: (joint name, multiplier, offset) if the value follows another joint's.
    """

    name: str
    kind: str
    parent: str
    child: str
    origin: np.ndarray = field(default_factory=lambda: np.eye(4))
    axis: np.ndarray = field(default_factory=lambda: np.array([1.0, 0.0, 0.0]))
    limits: tuple[float, float] = (-np.inf, np.inf)
    mimic: tuple[str, float, float] | None = None

    def __post_init__(self) -> None:
        origin, axis = np.asarray(self.origin, np.float64), np.asarray(self.axis, np.float64)
        where = f"joint '{self.name}'"
        if self.kind not in JOINT_TYPES:
            raise InputError(
                f"{where} has an unknown type", value=self.kind, allowed=", ".join(JOINT_TYPES)
            )
        if origin.shape != (4, 4) or not np.isfinite(origin).all():
            raise InputError(f"{where} has an origin that is not a finite 4x4 matrix")
        length = np.linalg.norm(axis)
        if self.kind != "fixed" and not (np.isfinite(length) and length > 1e-9):
            raise InputError(f"{where} has an axis without direction", value=axis.tolist())
        lower, upper = self.limits
        if np.isnan(lower) or np.isnan(upper) or lower > upper:
            raise InputError(f"{where} has impossible limits", value=(lower, upper))
        object.__setattr__(self, "origin", origin)
        object.__setattr__(self, "axis", axis / length if length > 0 else axis)


class TreeBody(LinkedBody):
    """A tree of links. Coordinates are the joints that move and mimic no other, in given order.

    Args:
        links: All links; exactly one is nobody's child and becomes the root.
        joints: One per non-root link.
        q0: Rest values by joint name; a joint left out rests at zero, or at the nearest value its
            limits allow.
        root: [4, 4] world pose of the root link.
        name: For people.
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
        parents = _parents(name, links, self.joints)
        self._order = _topological_order(name, parents)
        self._parents = parents
        self._root = torch.as_tensor(
            np.eye(4) if root is None else np.array(root), dtype=torch.float64
        )
        free = [joint for joint in self.joints if joint.kind != "fixed" and joint.mimic is None]
        columns = {joint.name: i for i, joint in enumerate(free)}
        self._select, self._offset = _mimic_matrix(name, self.joints, columns)
        self._coefficients = torch.from_numpy(
            np.stack([_joint_coefficients(joint) for joint in self.joints])
            if self.joints
            else np.zeros((0, 4, 3, 4))
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

    @property
    def order(self) -> list[str]:
        """Names of the links, parents before children."""
        return [self.links[i].name for i in self._order]

    def parent_of(self, link: str) -> str | None:
        """Name of a link's parent, None for the root."""
        parent, _ = self._parents[self.link_index(link)]
        return None if parent < 0 else self.links[parent].name

    def joint_values(self, q: Tensor) -> Tensor:
        """Values [..., J] (rad or m) of all joints, mimics included, in the order of `joints`."""
        return q @ self._select.to(q).mT + self._offset.to(q)

    def link_poses(self, q: Tensor) -> Tensor:
        """World pose of every link's frame, [..., L, 4, 4], at q [..., k]."""
        values = self.joint_values(q)
        basis = torch.stack([torch.ones_like(values), values.sin(), values.cos(), values], -1)
        local = torch.einsum("...jb,jbrc->...jrc", basis, self._coefficients.to(q))
        root = self._root[:3].to(q).expand(*q.shape[:-1], 3, 4)
        poses: dict[int, Tensor] = {}
        for link in self._order:
            parent, joint = self._parents[link]
            if parent < 0:
                poses[link] = root
                continue
            above, step = poses[parent], local[..., joint, :, :]
            turned = above[..., :3] @ step
            poses[link] = torch.cat([turned[..., :3], turned[..., 3:] + above[..., 3:]], -1)
        stacked = torch.stack([poses[i] for i in range(len(self._parents))], -3)
        bottom = torch.zeros_like(stacked[..., :1, :])
        bottom[..., 3] = 1
        return torch.cat([stacked, bottom], -2)


def _joint_coefficients(joint: Joint) -> np.ndarray:
    """[4, 3, 4]: the joint's [3, 4] transform as coefficients of (1, sin v, cos v, v)."""
    rotation, translation = joint.origin[:3, :3], joint.origin[:3, 3]
    out = np.zeros((4, 3, 4))
    out[0, :, 3] = translation
    if joint.kind == "revolute":
        x, y, z = joint.axis
        skew = np.array([[0, -z, y], [z, 0, -x], [-y, x, 0]])
        out[0, :, :3] = rotation @ np.outer(joint.axis, joint.axis)
        out[1, :, :3] = rotation @ skew
        out[2, :, :3] = -rotation @ skew @ skew
    else:
        out[0, :, :3] = rotation
        if joint.kind == "prismatic":
            out[3, :, 3] = rotation @ joint.axis
    return out


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


def _mimic_matrix(
    name: str, joints: Sequence[Joint], columns: Mapping[str, int]
) -> tuple[Tensor, Tensor]:
    """Matrix [J, k] and offset [J] from coordinates to the values of all joints."""
    by_name = {joint.name: joint for joint in joints}
    select = np.zeros((len(joints), len(columns)))
    offset = np.zeros(len(joints))
    for row, joint in enumerate(joints):
        if joint.kind == "fixed":
            continue
        scale, shift, seen = 1.0, 0.0, {joint.name}
        while joint.mimic is not None:
            leader, multiplier, bias = joint.mimic
            if leader not in by_name or leader in seen:
                raise InputError(
                    f"joint '{joint.name}' of '{name}' mimics '{leader}', "
                    "which does not exist or mimics it in turn",
                    allowed=", ".join(columns),
                )
            seen.add(leader)
            shift, scale = shift + scale * bias, scale * multiplier
            joint = by_name[leader]
        offset[row] = shift
        if joint.name in columns:
            select[row, columns[joint.name]] = scale
    return torch.from_numpy(select), torch.from_numpy(offset)
