"""The loss of the joint prior: relations of pieces, then joints of the true parts."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor
from torch.nn import functional as F

from kin4d.neurok.joint_prior import (
    EncodedPieces,
    JointPrior,
    PartJoints,
)
from kin4d.neurok.piece_batch import JointTargets, PieceBatch
from kin4d.neurok.sweep_profile import ANGLE_BINS, LENGTH_BINS


@dataclass(frozen=True, kw_only=True)
class JointLossConfig:
    """When a candidate axis counts as right, and what errors weigh.

    Attributes:
        min_cosine: Cosine of the angle to the true axis, at least.
        max_distance: Of a hinge's candidate from the true axis, in radii of the part plus a
            hundredth of the object, at most.
        blur: Standard deviation, in bins, of the target histograms of ranges.
        max_parts: Parts of a batch whose joints are predicted, at most: candidates are expensive.
    """

    min_cosine: float = 0.985
    max_distance: float = 0.08
    blur: float = 0.7
    max_parts: int = 64


WEIGHTS = {
    "moves": 2.0,
    "relation": 3.0,
    "type": 1.0,
    "axis": 1.0,
    "correction": 2.0,
    "range": 0.5,
}
"""Of the terms: about as large as each other after some training."""


def joint_loss(
    model: JointPrior,
    batch: PieceBatch,
    targets: JointTargets,
    config: JointLossConfig | None = None,
) -> tuple[Tensor, dict[str, Tensor]]:
    """The loss of a batch, and its terms by name."""
    config = config or JointLossConfig()
    encoded = model.encode(batch)
    share = batch.area / batch.area.sum(-1, keepdim=True).clamp(min=1e-9)
    # Every piece counts, large ones a few times more.
    weight = batch.mask * (0.3 + share.sqrt() * 2)
    moves = (
        F.binary_cross_entropy_with_logits(
            encoded.moves, targets.moves.float(), weight=weight, reduction="sum"
        )
        / weight.sum()
    )
    pairs = weight[:, :, None] * weight[:, None] * targets.moves[:, None]
    per_pair = F.binary_cross_entropy_with_logits(
        encoded.relation, targets.relation.float(), reduction="none"
    )
    # Few pairs belong together: both kinds weigh the same.
    yes, no = pairs * targets.relation, pairs * ~targets.relation
    relation = 0.5 * (per_pair * yes).sum() / yes.sum().clamp(min=1e-6)
    relation = relation + 0.5 * (per_pair * no).sum() / no.sum().clamp(min=1e-6)
    terms = {"moves": moves, "relation": relation}
    if len(targets.parts):
        targets = targets.some(config.max_parts)
        joints = model.predict(encoded, targets.parts)
        terms |= _joint_terms(model, encoded, joints, targets, config)
    total = sum((WEIGHTS[name] * value for name, value in terms.items()), torch.zeros(()))
    return total, terms


def _joint_terms(
    model: JointPrior,
    encoded: EncodedPieces,
    joints: PartJoints,
    targets: JointTargets,
    config: JointLossConfig,
) -> dict[str, Tensor]:
    slides = targets.slides
    kind = torch.where(slides, 2, targets.endless.long())
    hinge_right, slide_right = correct_candidates(joints, targets, config)
    right = torch.where(slides[:, None], slide_right, hinge_right)
    scores = torch.where(slides[:, None], joints.slide, joints.hinge)
    known = right.any(1)
    log_all = scores.logsumexp(1)
    log_right = scores.masked_fill(~right, -1e4).logsumexp(1)
    axis = ((log_all - log_right) * known).sum() / known.sum().clamp(min=1)
    choice = scores.detach().masked_fill(~right, -1e4).argmax(1)
    point, direction = model.refine(joints, choice)
    same = torch.where((direction * targets.axis).sum(-1) < 0, -1.0, 1.0)
    bend = (direction - targets.axis * same[:, None]).square().sum(-1)
    miss = _offsets(point, targets) / (joints.radii[:, None] + 0.01)
    miss = miss.square().sum(-1) * ~slides
    correction = ((bend + miss + 1e-6).sqrt() * known).sum() / known.sum().clamp(min=1)
    forward = torch.where(
        (joints.directions[torch.arange(len(choice)), choice] * targets.axis).sum(-1) < 0, -1.0, 1.0
    )
    span = torch.where((forward > 0)[:, None], targets.range.abs(), targets.range.abs().flip(-1))
    logits = model.ranges(encoded, targets.parts, joints, choice, slides)
    place = torch.where(slides[:, None], _bin_of(span, LENGTH_BINS), _bin_of(span, ANGLE_BINS))
    return {
        "type": F.cross_entropy(joints.types, kind),
        "axis": axis,
        "correction": correction,
        "range": _histogram_loss(logits, place, known & ~targets.endless, config.blur),
    }


def correct_candidates(
    joints: PartJoints, targets: JointTargets, config: JointLossConfig
) -> tuple[Tensor, Tensor]:
    """[M, C] which candidates are the true axis, as lines and as directions alone."""
    parallel = (joints.directions * targets.axis[:, None]).sum(-1).abs() > config.min_cosine
    arm = joints.points - targets.pivot[:, None]
    arm = arm - (arm * targets.axis[:, None]).sum(-1, keepdim=True) * targets.axis[:, None]
    close = torch.linalg.norm(arm, dim=-1) < config.max_distance * joints.radii[:, None] + 0.01
    return parallel & close & (joints.hinge > -1e3), parallel & (joints.slide > -1e3)


def _offsets(point: Tensor, targets: JointTargets) -> Tensor:
    """[M, 3] from the true axes to points [M, 3]."""
    arm = point - targets.pivot
    return arm - (arm * targets.axis).sum(-1, keepdim=True) * targets.axis


def _histogram_loss(logits: Tensor, place: Tensor, use: Tensor, blur: float) -> Tensor:
    """Cross-entropy of histograms [M, 2, n] with bins `place` [M, 2], blurred by `blur` bins."""
    bins = torch.arange(logits.shape[-1])
    target = (-0.5 * ((bins - place[..., None]) / blur).square()).softmax(-1)
    loss = -(target * logits.log_softmax(-1)).sum(-1).mean(-1)
    return (loss * use).sum() / use.sum().clamp(min=1)


def _bin_of(value: Tensor, bins: Tensor) -> Tensor:
    """The fractional number of the bin of a value."""
    value = value.clamp(float(bins[0]), float(bins[-1])).contiguous()
    upper = torch.searchsorted(bins, value).clamp(1, len(bins) - 1)
    low, high = bins[upper - 1], bins[upper]
    return upper - 1 + (value - low) / (high - low)
