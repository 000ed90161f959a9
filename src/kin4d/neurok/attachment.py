"""Attachment: whether a joint takes its part off the part that carries it."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from scipy.spatial import KDTree
from scipy.spatial.transform import Rotation

from kin4d.geometry.mesh import Mesh
from kin4d.geometry.sampling import spread_points
from kin4d.neurok.joint_decoding import JointHypothesis, PartHypotheses
from kin4d.neurok.mesh_pieces import MeshPieces

_GAP = 0.01  # of the size: what the gap between a part and its carrier may grow by
_SAMPLES, _LEAST = 6000, 24  # of the surface, and of each piece


def joints_that_detach(
    mesh: Mesh, cut: MeshPieces, parts: Sequence[PartHypotheses]
) -> tuple[tuple[bool, ...], ...]:
    """For each part, of each of its joints: whether the gap to its carrier opens within the limits.

    Gaps are between surface samples, now, at both limits and half-way to the farther one. A part
    whose carrier has no surface of its own is on nothing and cannot come off.

    Args:
        mesh: The surface, m.
        cut: Its pieces.
        parts: With their joints.
    """
    face, points, _ = spread_points(mesh, cut.face_piece, count=_SAMPLES, least=_LEAST, seed=0)
    owner = np.full(len(cut.pieces), -1)
    for row, part in enumerate(parts):
        owner[part.pieces] = row
    points, owner = cut.box.normalize(points), owner[cut.face_piece[face]]
    found = []
    for row, part in enumerate(parts):
        own, carrier = points[owner == row], points[owner == part.parent]
        if len(carrier) == 0:
            found.append((False,) * len(part.joints))
            continue
        tree = KDTree(carrier)
        widest = np.min(tree.query(own)[0]) + _GAP
        found.append(
            tuple(
                any(np.min(tree.query(moved)[0]) > widest for moved in _moved(own, joint))
                for joint in part.joints
            )
        )
    return tuple(found)


def _moved(points: np.ndarray, joint: JointHypothesis) -> list[np.ndarray]:
    """Points [N, 3] at both limits and half-way to the farther one."""
    low, high = joint.limits
    values = (low, high, 0.5 * max(joint.limits, key=abs))
    if joint.kind == "prismatic":
        return [points + value * joint.axis for value in values]
    arms = points - joint.pivot
    return [Rotation.from_rotvec(q * joint.axis).apply(arms) + joint.pivot for q in values]
