"""JointPrior: what a mesh tells about its joints by itself, as a distribution.

Pieces of the surface are tokens of a transformer whose attention is biased by their relative
geometry. It predicts which pieces move, and for every pair whether one is moved by the parent joint
of the other: parts and their tree. For every part it then predicts the joint's type, a distribution
over candidate axes (lines of the boxes of all pieces and of the part), a correction of the chosen
one, and the range both ways as histograms.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from kin4d.neurok.piece_batch import Parts, PieceBatch
from kin4d.neurok.piece_geometry import (
    LINES,
    PAIR_FEATURES,
    PIECE_FEATURES,
    Boxes,
    fit_boxes,
    pair_features,
    piece_features,
)
from kin4d.neurok.sweep_profile import ANGLE_BINS, PROFILE, sweep_profile

TYPES = ("revolute", "endless", "prismatic")
LINE_FEATURES = 16


@dataclass(frozen=True, kw_only=True)
class JointPriorConfig:
    """Sizes of the network.

    Attributes:
        width: Numbers per token.
        heads: Of attention.
        layers: Blocks over pieces.
        part_layers: Blocks in which parts look at pieces.
        point_width: Numbers per surface point.
        pair_width: Numbers per pair of pieces.
        line_width: Numbers per candidate axis.
        dropout: Of residual branches.
    """

    width: int = 128
    heads: int = 8
    layers: int = 6
    part_layers: int = 2
    point_width: int = 64
    pair_width: int = 32
    line_width: int = 64
    dropout: float = 0.1


PRESETS = {
    "tiny": JointPriorConfig(width=32, heads=4, layers=2, part_layers=1, point_width=16),
    "small": JointPriorConfig(),
}


@dataclass(frozen=True, eq=False)
class EncodedPieces:
    """B shapes, encoded.

    Attributes:
        batch: The pieces.
        boxes: Of the pieces, [B, N].
        tokens: [B, N, W].
        moves: [B, N] logits: the piece is not of the root.
        relation: [B, N, N] logits: piece i is moved by the parent joint of piece j.
    """

    batch: PieceBatch
    boxes: Boxes
    tokens: Tensor
    moves: Tensor
    relation: Tensor


@dataclass(frozen=True, eq=False)
class PartJoints:
    """What is predicted about M parts; C = 15 (N + 1) candidate axes each.

    Attributes:
        types: [M, 3] logits of `TYPES`.
        points: [M, C, 3] of the candidate axes.
        directions: [M, C, 3] unit.
        hinge: [M, C] logits: a hinge turns about this line; -1e4 where there is none.
        slide: [M, C] logits: a slide goes along this line; only middle lines are scored.
        tokens: [M, W].
        lines: [M, C, D] what is known of part and line.
        centers: [M, 3] of the parts' boxes.
        radii: [M] half their diagonals.
    """

    types: Tensor
    points: Tensor
    directions: Tensor
    hinge: Tensor
    slide: Tensor
    tokens: Tensor
    lines: Tensor
    centers: Tensor
    radii: Tensor


class JointPrior(nn.Module):
    """From pieces of a mesh to parts and distributions over their joints."""

    def __init__(self, config: JointPriorConfig) -> None:
        super().__init__()
        self.config = config
        width, pair = config.width, config.pair_width
        point = config.point_width
        self.point_net = nn.Sequential(
            nn.Linear(9, point), nn.GELU(), nn.Linear(point, point), nn.GELU()
        )
        self.piece_in = nn.Sequential(
            nn.Linear(2 * point + PIECE_FEATURES, width), nn.GELU(), nn.Linear(width, width)
        )
        self.pair_in = nn.Sequential(
            nn.Linear(PAIR_FEATURES, pair), nn.GELU(), nn.Linear(pair, pair), nn.GELU()
        )
        self.pair_bias = nn.Linear(pair, config.layers * config.heads)
        self.blocks = nn.ModuleList(
            BiasedAttention(width, config.heads, config.dropout) for _ in range(config.layers)
        )
        self.norm = nn.LayerNorm(width)
        self.moves = nn.Linear(width, 1)
        self.relation_query = nn.Linear(width, width)
        self.relation_key = nn.Linear(width, width)
        self.relation_pair = nn.Sequential(nn.Linear(pair, pair), nn.GELU(), nn.Linear(pair, 1))
        self.part_in = nn.Linear(2 * width + 9, width)
        self.part_bias = nn.Embedding(3, config.part_layers * config.heads)
        self.part_blocks = nn.ModuleList(
            BiasedAttention(width, config.heads, config.dropout) for _ in range(config.part_layers)
        )
        self.part_norm = nn.LayerNorm(width)
        self.types = nn.Linear(width, len(TYPES))
        line = config.line_width
        self.line_slot = nn.Embedding(2 * LINES, line)
        self.line_piece = nn.Linear(width, line)
        self.line_part = nn.Linear(width, line)
        self.line_in = nn.Linear(LINE_FEATURES, line)
        self.line_net = nn.Sequential(nn.GELU(), nn.Linear(line, line), nn.GELU())
        self.line_scores = nn.Linear(line, 2)
        self.correction = nn.Linear(line, 6)
        nn.init.zeros_(self.correction.weight)
        nn.init.zeros_(self.correction.bias)
        self.hinge_range = RangeHead(line + width, width)
        self.slide_range = RangeHead(line + width, width)

    def encode(self, batch: PieceBatch) -> EncodedPieces:
        """All that depends on the pieces alone."""
        boxes = fit_boxes(batch.points, batch.normals, batch.supports)
        scale = boxes.half.amax(-1).clamp(min=1e-3)[..., None, None]
        local = (batch.points - boxes.center[:, :, None]) / scale
        points = self.point_net(torch.cat([local, batch.normals, batch.points], -1))
        features = piece_features(batch, boxes)
        tokens = self.piece_in(torch.cat([points.amax(-2), points.mean(-2), features], -1))
        pairs = self.pair_in(pair_features(batch, boxes))
        bias = self.pair_bias(pairs).unflatten(-1, (self.config.layers, -1)).permute(3, 0, 4, 1, 2)
        hidden = ~batch.mask[:, None, None]
        for block, one in zip(self.blocks, bias, strict=True):
            tokens = block(tokens, tokens, one.masked_fill(hidden, -1e4))
        tokens = self.norm(tokens)
        query, key = self.relation_query(tokens), self.relation_key(tokens)
        relation = query @ key.mT / self.config.width**0.5 + self.relation_pair(pairs).squeeze(-1)
        return EncodedPieces(batch, boxes, tokens, self.moves(tokens).squeeze(-1), relation)

    def predict(self, encoded: EncodedPieces, parts: Parts) -> PartJoints:
        """The joints of given parts."""
        batch, shape = encoded.batch, parts.shape
        tokens, members = encoded.tokens[shape], parts.members
        boxes = _part_boxes(encoded, parts)
        own = members[..., None]
        weight = own * (batch.area[shape][..., None].sqrt() + 1e-3)
        mean = (tokens * weight).sum(1) / weight.sum(1).clamp(min=1e-9)
        top = tokens.masked_fill(~own, -1e4).amax(1)
        size = torch.cat([boxes.center, boxes.half, boxes.frame[:, 0]], -1)
        part = self.part_in(torch.cat([mean, top, size], -1))[:, None]
        role = members.long() + parts.carried.long()
        bias = self.part_bias(role).unflatten(-1, (self.config.part_layers, -1)).permute(2, 0, 3, 1)
        hidden = ~batch.mask[shape][:, None, None]
        for block, one in zip(self.part_blocks, bias, strict=True):
            part = block(part, tokens, one[:, :, None].masked_fill(hidden, -1e4))
        part = self.part_norm(part).squeeze(1)
        points, directions, lines = self._lines(encoded, parts, boxes, part)
        scores = self.line_scores(lines)
        there = F.pad(batch.mask[shape], (1, 0), value=True).repeat_interleave(LINES, -1)
        middle = torch.arange(scores.shape[1]) % 5 == 0
        return PartJoints(
            types=self.types(part),
            points=points,
            directions=directions,
            hinge=scores[..., 0].masked_fill(~there, -1e4),
            slide=scores[..., 1].masked_fill(~(there & middle), -1e4),
            tokens=part,
            lines=lines,
            centers=boxes.center,
            radii=torch.linalg.norm(boxes.half, dim=-1),
        )

    def refine(self, joints: PartJoints, choice: Tensor) -> tuple[Tensor, Tensor]:
        """Points and unit directions [M, 3] of the chosen [M] candidates, corrected."""
        row = torch.arange(len(choice))
        change = self.correction(joints.lines[row, choice])
        direction = joints.directions[row, choice] + 0.2 * change[:, :3]
        point = joints.points[row, choice] + 0.2 * joints.radii[:, None] * change[:, 3:]
        return point, F.normalize(direction, dim=-1)

    def ranges(
        self,
        encoded: EncodedPieces,
        parts: Parts,
        joints: PartJoints,
        choice: Tensor,
        slides: Tensor,
    ) -> Tensor:
        """Logits [M, 2, bins] of the range back and forth about the chosen candidates [M]:
        `LENGTH_BINS` where a part `slides` [M], else `ANGLE_BINS`."""
        row = torch.arange(len(choice))
        point, axis = joints.points[row, choice], joints.directions[row, choice]
        profile = sweep_profile(encoded.batch, encoded.boxes, parts, point, axis, slides)
        known = torch.cat([joints.lines[row, choice], joints.tokens], -1)
        hinge, slide = self.hinge_range(known, profile), self.slide_range(known, profile)
        return torch.where(slides[:, None, None], slide, hinge)

    def _lines(
        self, encoded: EncodedPieces, parts: Parts, boxes: Boxes, part: Tensor
    ) -> tuple[Tensor, Tensor, Tensor]:
        """Candidate axes of parts, the part's own first: points, directions, what is known."""
        shape = parts.shape
        points, directions = encoded.boxes.lines()
        own_points, own_directions = boxes.lines()
        points = torch.cat([own_points, points[shape].flatten(1, 2)], 1)
        directions = torch.cat([own_directions, directions[shape].flatten(1, 2)], 1)
        slot = torch.arange(points.shape[1]) % LINES
        slot = torch.where(torch.arange(points.shape[1]) < LINES, slot + LINES, slot)
        pieces = self.line_piece(encoded.tokens)[shape].repeat_interleave(LINES, 1)
        pieces = torch.cat([pieces.new_zeros(len(parts), LINES, pieces.shape[-1]), pieces], 1)
        role = parts.members.float() + parts.carried.float()
        role = F.pad(role, (1, 0), value=2.0).repeat_interleave(LINES, 1)
        features = _line_features(points, directions, boxes, role)
        lines = self.line_in(features) + pieces + self.line_slot(slot)
        return points, directions, self.line_net(lines + self.line_part(part)[:, None])


class RangeHead(nn.Module):
    """Histograms of the range back and forth: from the part and all it would meet on its way."""

    def __init__(self, known: int, width: int) -> None:
        super().__init__()
        bins, channels = len(ANGLE_BINS), 16
        self.whole = nn.Sequential(
            nn.Linear(known + 2 * bins * PROFILE, width),
            nn.GELU(),
            nn.Linear(width, width),
            nn.GELU(),
            nn.Linear(width, 2 * (bins + channels)),
        )
        self.bin_embedding = nn.Parameter(torch.zeros(channels, bins))
        self.first = nn.Conv1d(2 * PROFILE, channels, 3, padding=1)
        self.second = nn.Conv1d(channels, channels, 5, padding=2)
        self.last = nn.Conv1d(channels, 1, 3, padding=1)

    def forward(self, known: Tensor, profile: Tensor) -> Tensor:
        """[M, 2, bins] of what is known [M, n] and profiles [M, 2, bins, 4]."""
        bins = profile.shape[2]
        whole = self.whole(torch.cat([known, profile.flatten(1)], -1))
        direct, gate = whole.unflatten(-1, (2, -1)).split([bins, 16], -1)
        so_far = profile.cummax(2).values
        local = torch.cat([profile, so_far], -1).flatten(0, 1).mT
        hidden = F.gelu(self.first(local) + self.bin_embedding + gate.flatten(0, 1)[..., None])
        hidden = hidden + F.gelu(self.second(hidden))
        return direct + self.last(hidden).squeeze(1).unflatten(0, (-1, 2))


class BiasedAttention(nn.Module):
    """Attention with an additive bias, then a feed-forward net."""

    def __init__(self, width: int, heads: int, dropout: float) -> None:
        super().__init__()
        self.heads, self.drop = heads, nn.Dropout(dropout)
        self.norm_query, self.norm_key = nn.LayerNorm(width), nn.LayerNorm(width)
        self.query, self.key_value = nn.Linear(width, width), nn.Linear(width, 2 * width)
        self.out = nn.Linear(width, width)
        self.norm = nn.LayerNorm(width)
        self.net = nn.Sequential(
            nn.Linear(width, 3 * width), nn.GELU(), nn.Linear(3 * width, width)
        )

    def forward(self, tokens: Tensor, context: Tensor, bias: Tensor) -> Tensor:
        """Tokens [B, Q, W] look at context [B, N, W], bias [B, H, Q, N]."""
        query = self.query(self.norm_query(tokens)).unflatten(-1, (self.heads, -1))
        key, value = self.key_value(self.norm_key(context)).chunk(2, -1)
        key, value = (one.unflatten(-1, (self.heads, -1)) for one in (key, value))
        query, key, value = (one.transpose(1, 2) for one in (query, key, value))
        mixed = F.scaled_dot_product_attention(query, key, value, attn_mask=bias)
        tokens = tokens + self.drop(self.out(mixed.transpose(1, 2).flatten(-2)))
        return tokens + self.drop(self.net(self.norm(tokens)))


def _part_boxes(encoded: EncodedPieces, parts: Parts) -> Boxes:
    """Boxes around parts, in the frame of their largest piece."""
    batch, shape = encoded.batch, parts.shape
    area = batch.area[shape].masked_fill(~parts.members, -1.0)
    largest = area.argmax(1)
    frame = encoded.boxes.frame[shape, largest]
    along = batch.supports[shape] @ frame[:, None].mT
    outside = ~parts.members[..., None, None]
    low = along.masked_fill(outside, 1e4).amin((1, 2))
    high = along.masked_fill(outside, -1e4).amax((1, 2))
    center = ((low + high)[:, :, None] / 2 * frame).sum(1)
    return Boxes(center, frame, (high - low).clamp(min=1e-4) / 2)


def _line_features(points: Tensor, directions: Tensor, boxes: Boxes, role: Tensor) -> Tensor:
    """[M, C, 16] of candidate axes [M, C, 3] as seen from the part's box."""
    arm = boxes.center[:, None] - points
    arm = arm - (arm * directions).sum(-1, keepdim=True) * directions
    radius = torch.linalg.norm(boxes.half, dim=-1)[:, None, None]
    frame = boxes.frame
    inside = torch.einsum("mci,mki->mck", -arm, frame) / (boxes.half[:, None] + 0.01)
    along = torch.einsum("mci,mki->mck", directions, frame)
    sweep = torch.linalg.cross(directions, arm) / radius
    distance = torch.linalg.norm(arm, dim=-1, keepdim=True)
    return torch.cat(
        [
            directions,
            inside.clamp(-3, 3),
            along.abs(),
            sweep.clamp(-3, 3),
            (distance / radius).clamp(max=4),
            role[..., None],
            points[..., 2:],
            ((distance + 0.01).log() + 2) / 2,
        ],
        -1,
    )
