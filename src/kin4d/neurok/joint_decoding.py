"""From the joint prior's probabilities to parts in a tree, each with ranked joint hypotheses."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
import torch
from torch import Tensor

from kin4d.neurok.joint_prior import (
    EncodedPieces,
    JointPrior,
    PartJoints,
)
from kin4d.neurok.piece_batch import Parts, PieceBatch
from kin4d.neurok.piece_grouping import GroupingConfig, group_pieces
from kin4d.neurok.sweep_profile import ANGLE_BINS, LENGTH_BINS


@dataclass(frozen=True, kw_only=True)
class DecodingConfig:
    """How probabilities become joints.

    Attributes:
        grouping: How pieces become parts.
        max_hypotheses: Joints kept per part.
        same_axis_cosine: Cosine between candidate axes that count as one, at least.
        same_axis_distance: Their distance, in radii of the part plus a hundredth of the object, at
            most.
        range_tolerance: Relative error of a range that is forgiven when it is chosen.
    """

    grouping: GroupingConfig = field(default_factory=GroupingConfig)
    max_hypotheses: int = 4
    same_axis_cosine: float = 0.985
    same_axis_distance: float = 0.1
    range_tolerance: float = 0.3


@dataclass(frozen=True, eq=False, kw_only=True)
class JointHypothesis:
    """One way a part may move, in the frame of the pieces.

    Attributes:
        kind: "revolute" or "prismatic".
        endless: A hinge that turns all the way round.
        pivot: [3] a point of the axis.
        axis: [3] unit.
        limits: rad or lengths, back (<= 0) and forth (>= 0).
        probability: Of kind and axis, among the ways this part may move.
        range_probability: That the true joint makes this one's farther motion, if those are right.
    """

    kind: str
    endless: bool
    pivot: np.ndarray
    axis: np.ndarray
    limits: tuple[float, float]
    probability: float
    range_probability: float


@dataclass(frozen=True, eq=False, kw_only=True)
class PartHypotheses:
    """A part and its joints.

    Attributes:
        pieces: [n] its own pieces.
        parent: Index of the part it is carried by; -1 for the root.
        moves: Probability that it moves at all.
        together: Probability that its pieces are one part, and no others are of it.
        joints: The likeliest first.
    """

    pieces: np.ndarray
    parent: int
    moves: float
    together: float
    joints: tuple[JointHypothesis, ...]


@torch.no_grad()
def decode_joints(
    model: JointPrior, batch: PieceBatch, config: DecodingConfig | None = None
) -> list[PartHypotheses]:
    """Parts of a single shape, parents before children."""
    config = config or DecodingConfig()
    encoded = model.encode(batch)
    count = int(batch.mask[0].sum())
    moves = encoded.moves[0, :count].sigmoid().numpy()
    relation = encoded.relation[0, :count, :count].sigmoid().numpy()
    area = batch.area[0, :count].numpy()
    groups = group_pieces(moves, relation, area, config.grouping)
    if not groups:
        return []
    parents, carried = build_tree(groups, relation)
    order = _parents_first(parents)
    number = np.empty(len(order), np.int64)
    number[order] = np.arange(len(order))
    members = np.zeros((len(groups), batch.mask.shape[1]), bool)
    moved = members.copy()
    for row, index in enumerate(order):
        members[row, groups[index]] = True
        moved[row, np.concatenate([groups[i] for i in np.flatnonzero(carried[:, index])])] = True
    parts = Parts(
        shape=torch.zeros(len(groups), dtype=torch.int64),
        members=torch.from_numpy(members),
        carried=torch.from_numpy(moved),
    )
    found = _hypotheses(model, encoded, parts, config)
    return [
        PartHypotheses(
            pieces=groups[index],
            parent=-1 if parents[index] < 0 else int(number[parents[index]]),
            moves=float(np.average(moves[groups[index]], weights=area[groups[index]] + 1e-6)),
            together=_cohesion(groups[index], groups, relation),
            joints=found[row],
        )
        for row, index in enumerate(order)
    ]


def _cohesion(group: np.ndarray, groups: list[np.ndarray], relation: np.ndarray) -> float:
    """Mean probability that pairs of a group share a joint, times that of the nearest other group
    not to share it."""
    both = np.minimum(relation, relation.T)
    pairs = both[np.ix_(group, group)][~np.eye(len(group), dtype=bool)]
    nearest = max(
        (both[np.ix_(group, one)].mean() for one in groups if one is not group), default=0
    )
    return float((pairs.mean() if len(pairs) else 1.0) * (1 - nearest))


def build_tree(groups: list[np.ndarray], relation: np.ndarray) -> tuple[list[int], np.ndarray]:
    """Parents of groups (-1: the root), and [G, G] whether group i moves with the joint of j."""
    count = len(groups)
    score = np.array([[relation[np.ix_(a, b)].mean() for b in groups] for a in groups])
    carried = (score > 0.5) & (score > score.T)
    np.fill_diagonal(carried, True)
    # What carries more comes first; a tree has no circles.
    rank = np.argsort(-carried.sum(0), kind="stable")
    place = np.empty(count, np.int64)
    place[rank] = np.arange(count)
    carried &= (place[:, None] > place) | np.eye(count, dtype=bool)
    parents = [-1] * count
    for index in range(count):
        above = [i for i in np.flatnonzero(carried[index]) if i != index]
        if above:
            parents[index] = int(max(above, key=lambda i: (carried[i].sum(), score[index, i])))
    moved = np.eye(count, dtype=bool)
    for index in rank:
        if parents[index] >= 0:
            moved[index] |= moved[parents[index]]
    return parents, moved


def _parents_first(parents: list[int]) -> list[int]:
    order: list[int] = []
    while len(order) < len(parents):
        order += [i for i, up in enumerate(parents) if i not in order and (up < 0 or up in order)]
    return order


def _hypotheses(
    model: JointPrior, encoded: EncodedPieces, parts: Parts, config: DecodingConfig
) -> list[tuple[JointHypothesis, ...]]:
    joints = model.predict(encoded, parts)
    types = joints.types.softmax(-1)
    rows: list[list[JointHypothesis]] = [[] for _ in range(len(parts))]
    for slides in (False, True):
        scores = joints.slide if slides else joints.hinge
        probability = scores.softmax(-1)
        for choice, mass in _modes(joints, probability, slides, config):
            point, direction = model.refine(joints, choice)
            asked = torch.full((len(parts),), slides)
            logits = model.ranges(encoded, parts, joints, choice, asked)
            ends, reached = _ranges(logits, slides, config)
            for row in range(len(parts)):
                turns = 0.0 if slides else float(types[row, 1] / types[row, :2].sum())
                endless = turns > 0.5
                back, forth = (np.pi, np.pi) if endless else ends[row]
                kind = types[row, 2] if slides else types[row, :2].sum()
                rows[row].append(
                    JointHypothesis(
                        kind="prismatic" if slides else "revolute",
                        endless=endless,
                        pivot=point[row].double().numpy(),
                        axis=direction[row].double().numpy(),
                        limits=(-float(back), float(forth)),
                        probability=float(kind * mass[row]),
                        range_probability=turns if endless else float(reached[row]),
                    )
                )
    return [
        tuple(sorted(row, key=lambda one: -one.probability)[: config.max_hypotheses])
        for row in rows
    ]


def _modes(
    joints: PartJoints, probability: Tensor, slides: bool, config: DecodingConfig
) -> list[tuple[Tensor, Tensor]]:
    """The likeliest candidates [M] that are not alike, each with the mass [M] of all like it."""
    left, out = probability.clone(), []
    row = torch.arange(len(probability))
    for _ in range(config.max_hypotheses):
        top = left.topk(min(24, left.shape[1]), -1).indices
        alike = _alike(joints, top, slides, config)
        mass = (alike * left[:, None]).sum(-1)
        best = mass.argmax(-1)
        same = alike[row, best]
        # Of those alike, the likeliest stands for all.
        choice = (left * same).argmax(-1)
        out.append((choice, mass[row, best]))
        left = left * ~same
    return out


def _alike(joints: PartJoints, top: Tensor, slides: bool, config: DecodingConfig) -> Tensor:
    """[M, n, C] whether candidates are the same axis as those in `top` [M, n]."""
    row = torch.arange(len(top))[:, None]
    direction, point = joints.directions[row, top], joints.points[row, top]
    same = (direction @ joints.directions.mT).abs() > config.same_axis_cosine
    if slides:
        return same
    arm = joints.points[:, None] - point[:, :, None]
    along = (arm * direction[:, :, None]).sum(-1, keepdim=True)
    far = torch.linalg.norm(arm - along * direction[:, :, None], dim=-1)
    return same & (far < config.same_axis_distance * joints.radii[:, None, None] + 0.01)


def _ranges(logits: Tensor, slides: bool, config: DecodingConfig) -> tuple[Tensor, Tensor]:
    """[M, 2] ranges back and forth from histograms [M, 2, n], and [M] how probable they are.

    One way has its likeliest value. The other goes at least as far: there true and predicted joint
    most likely make each other's motion to within the tolerance. The probability is that the true
    joint makes the predicted one's farther motion.
    """
    bins = LENGTH_BINS if slides else ANGLE_BINS
    row, number = torch.arange(len(logits)), torch.arange(len(bins))
    mass = logits.softmax(-1)
    made = _makes(bins, slides, config.range_tolerance).float()
    likeliest = (mass @ _alike_values(bins, config.range_tolerance).float()).argmax(-1)
    # The true joint goes farther this way, and the predicted one follows.
    other = mass.flip(1)
    follows = (mass * (other.cumsum(-1) - 0.5 * other)) @ made
    leads = mass @ made.mT  # the true joint follows the predicted one
    short = likeliest.flip(1)
    score = follows + leads + follows.flip(1).gather(2, short[..., None])
    score = score.masked_fill(number < short[..., None].clamp(min=1), -1.0)
    best = score.max(-1)
    way = best.values.argmax(-1)
    far = best.indices[row, way]
    ends = torch.empty(len(logits), 2)
    ends[row, way], ends[row, 1 - way] = bins[far], bins[likeliest[row, 1 - way]]
    return ends, leads[row, way, far]


def _makes(bins: Tensor, slides: bool, tolerance: float) -> Tensor:
    """[n, n] whether a joint that can go to bins[j] makes a motion to bins[i] within tolerance."""
    wanted, reach = bins[:, None], bins[None]
    missing = (wanted - reach).clamp(min=0)
    if not slides:  # chords
        wanted, missing = (2 * (x.clamp(max=torch.pi) / 2).sin() for x in (wanted, missing))
    return missing <= tolerance * wanted


def _alike_values(bins: Tensor, tolerance: float) -> Tensor:
    """[n, n] whether two values are the same within tolerance."""
    least = torch.minimum(bins[:, None], bins[None]) * tolerance
    return (bins[:, None] - bins[None]).abs() <= least + 0.5 * (bins[2] - bins[1])
