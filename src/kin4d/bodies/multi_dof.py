"""Joints with several coordinates, as simple joints in a row with massless links between them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from kin4d.bodies.articulated_base import Link
from kin4d.bodies.joint import Joint


def multi_dof_joints(joint: Joint, moves: Sequence[Joint]) -> tuple[list[Joint], list[Link]]:
    """Put `moves` in a row between the ends of `joint`, at its origin.

    Returns the joints, called ``JOINT.MOVE``, and the massless links between them.
    """
    links = [Link(f"{joint.name}.{move.name}") for move in moves[:-1]]
    ends = [joint.parent, *(link.name for link in links), joint.child]
    joints = [
        replace(
            move,
            name=f"{joint.name}.{move.name}",
            parent=ends[i],
            child=ends[i + 1],
            origin=np.eye(4) if i else joint.origin,
        )
        for i, move in enumerate(moves)
    ]
    return joints, links


def ball_joint() -> list[Joint]:
    """Three angles rx, ry, rz (rad), each about the axis rotated by those before it."""
    return _moves("revolute", ("rx", "ry", "rz"), np.eye(3))


def floating_joint() -> list[Joint]:
    """A free joint: x, y, z (m), then the angles of `ball_joint`."""
    return [*_moves("prismatic", ("x", "y", "z"), np.eye(3)), *ball_joint()]


def planar_joint(normal: np.ndarray) -> list[Joint]:
    """A joint in the plane across `normal` [3]: x, y (m) and the angle rz (rad)."""
    helper = np.eye(3)[np.abs(normal).argmin()]
    first = np.cross(normal, helper)
    first /= np.linalg.norm(first)
    second = np.cross(normal, first)
    return [
        *_moves("prismatic", ("x", "y"), np.stack([first, second])),
        *_moves("revolute", ("rz",), normal[None]),
    ]


def _moves(kind: str, names: Sequence[str], axes: np.ndarray) -> list[Joint]:
    return [
        Joint(name=name, kind=kind, parent="", child="", axis=axis)
        for name, axis in zip(names, axes, strict=True)
    ]
