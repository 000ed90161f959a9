"""A geometric heuristic: pieces by contact, axes by box edges. Nothing is learned.

Pieces that touch another with half of their surface, or without a gap with a small share of it, are
fixed to it: what moves has clearance. What is left moves on what it touches most: round things turn
without end about their middle, things inside of what carries them slide out by the nearest side,
all others turn a right angle about the edge of their box along which they touch.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.spatial import KDTree

from kin4d.benchmarks.prior.plausibility import surface_gap
from kin4d.bodies.segmented import JointSpec, SegmentedBody
from kin4d.geometry.mesh import Mesh
from kin4d.geometry.pieces import split_surface
from kin4d.geometry.sampling import spread_points

_NEIGHBOURS = 4  # of a piece that are tried


@dataclass(frozen=True, kw_only=True)
class HeuristicConfig:
    """Thresholds, chosen by hand.

    Attributes:
        near: Sizes within which surfaces touch.
        fixed: Share of a piece's surface that touches another to which it is fixed.
        fixed_close: The same, of a piece without a gap.
        clearance: Sizes: a wider gap is one.
        least_area: Share of the surface below which a part does not move.
        round_sides: Relative difference between the sides of a round part's box.
        slide_share: Share of its length that a part slides.
    """

    near: float = 0.012
    fixed: float = 0.5
    fixed_close: float = 0.02
    clearance: float = 1e-3
    least_area: float = 0.01
    round_sides: float = 0.08
    slide_share: float = 0.8


@dataclass(frozen=True, eq=False)
class _Pieces:
    points: np.ndarray
    piece: np.ndarray
    touches: np.ndarray  # [P, N] bool: whether a point is near a piece
    area: np.ndarray
    triangles: np.ndarray  # [P, 3, 3] of the points
    size: float

    def gap(self, one: int, other: int) -> float:
        """m between two pieces."""
        a, b = self.piece == one, self.piece == other
        return surface_gap(self.points[a], self.triangles[a], self.points[b], self.triangles[b])


def heuristic_body(mesh: Mesh, config: HeuristicConfig | None = None) -> SegmentedBody:
    """A body from contacts and boxes alone."""
    config = config or HeuristicConfig()
    piece = split_surface(mesh.vertices, mesh.faces)
    found = _sampled(mesh, piece, config)
    group = _fixed_together(found, config)
    count = int(group.max()) + 1
    of_point = group[found.piece]
    near = np.zeros((count, count))
    for row in range(count):
        own = found.touches[of_point == row]
        for column in np.flatnonzero(np.bincount(group, own.any(0))):
            near[row, column] = own[:, group == column].any(1).mean() if column != row else 0.0
    area = np.bincount(group, found.area, count)
    boxes = np.stack([[_box(found.points[of_point == g])] for g in range(count)])[:, 0]
    static = int(np.ptp(boxes, axis=1).prod(1).argmax())
    moving = [
        g
        for g in np.argsort(-area)
        if g != static and near[g].max() > 0 and area[g] > config.least_area * area.sum()
    ]
    number = np.zeros(count, np.int64)
    number[moving] = np.arange(1, len(moving) + 1)
    specs = []
    for g in moving:
        carrier = static if near[g, static] > 0 else int(near[g].argmax())
        # A tree: parts hang on the static one or on larger ones.
        if number[carrier] >= number[g]:
            carrier = static
        own = of_point == g
        contact = found.points[own][found.touches[own][:, group == carrier].any(1)]
        contact = contact if len(contact) else found.points[own]
        joint = _joint(found.points[own], boxes[g], boxes[carrier], contact, config)
        specs.append(JointSpec(name=f"part{number[g]}", parent=int(number[carrier]), **joint))
    part = np.zeros(len(mesh.vertices), np.int64)
    part[mesh.faces.ravel()] = np.repeat(number[group[piece]], 3)
    return SegmentedBody(mesh, part, specs)


def _sampled(mesh: Mesh, piece: np.ndarray, config: HeuristicConfig) -> _Pieces:
    count = int(piece.max()) + 1
    face, points, _ = spread_points(mesh, piece, count=4000, least=16, seed=0)
    size = float(np.ptp(mesh.bounds, axis=0).max())
    tree = KDTree(points)
    pairs = tree.query_pairs(config.near * size, output_type="ndarray")
    touches = np.zeros((len(points), count), bool)
    owner = piece[face]
    touches[pairs[:, 0], owner[pairs[:, 1]]] = True
    touches[pairs[:, 1], owner[pairs[:, 0]]] = True
    return _Pieces(
        points,
        owner,
        touches,
        np.bincount(piece, mesh.face_areas, count),
        mesh.vertices[mesh.faces[face]],
        size,
    )


def _fixed_together(found: _Pieces, config: HeuristicConfig) -> np.ndarray:
    """[N] group of every piece: small ones are fixed to what most of their surface touches."""
    count = len(found.area)
    group = np.arange(count)
    for one in np.argsort(found.area):
        share = found.touches[found.piece == one].mean(0)
        share[one] = 0.0
        for other in np.argsort(-share)[:_NEIGHBOURS]:
            if share[other] < config.fixed_close:
                break
            if share[other] >= config.fixed or (
                found.gap(one, other) < config.clearance * found.size
            ):
                group[group == group[one]] = group[other]
                break
    return np.unique(group, return_inverse=True)[1]


def _joint(
    points: np.ndarray,
    box: np.ndarray,
    carrier: np.ndarray,
    contact: np.ndarray,
    config: HeuristicConfig,
) -> dict:
    """Kind, point, axis and limits of a part with some points, its box and its carrier's [2, 3]."""
    center, sides = box.mean(0), np.ptp(box, axis=0)
    for axis in range(3):
        a, b = (sides[(axis + 1) % 3], sides[(axis + 2) % 3])
        off = np.delete(points - center, axis, 1)
        is_round = abs(a - b) < config.round_sides * max(a, b) and (
            np.linalg.norm(off, axis=1).max() < 0.54 * max(a, b)
        )
        if is_round:
            return _spec("revolute", center, np.eye(3)[axis], (-np.pi, np.pi))
    inside = ((center > carrier[0]) & (center < carrier[1])).all()
    if inside and (np.ptp(contact, axis=0) > 0.5 * sides).sum() >= 2:
        room = np.stack([box[0] - carrier[0], carrier[1] - box[1]])[:, :2]
        side, axis = np.unravel_index(int(room.argmin()), room.shape)
        out = np.eye(3)[axis] * (1.0 if side else -1.0)
        return _spec("prismatic", center, out, (0.0, config.slide_share * float(sides[axis])))
    length = np.ptp(contact, axis=0) / np.maximum(sides, 1e-9)
    axis = int(np.argmax(length * sides))
    middle = contact.mean(0)
    point = np.where(middle > center, box[1], box[0])
    along = np.eye(3)[axis]
    # The sense that takes the part away from what carries it.
    away = np.cross(along, center - point) @ (center - carrier.mean(0))
    limits = (0.0, np.pi / 2) if away >= 0 else (-np.pi / 2, 0.0)
    return _spec("revolute", point, along, limits)


def _spec(kind: str, point: np.ndarray, axis: np.ndarray, limits: tuple[float, float]) -> dict:
    return {"kind": kind, "point": point, "axis": axis, "limits": limits}


def _box(points: np.ndarray) -> np.ndarray:
    return np.stack([points.min(0), points.max(0)])
