"""Encoders: of a mesh (tokens, skinning weights, prior), of a deformation, of a target point cloud.

A token is a slot for one part: the prior encoder assigns points to tokens by attention, and the
assignment gives the skinning weights. Column 0 of an assignment is the background, which is static.
"""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from typing import cast

import torch
from torch import Tensor, nn

from kin4d.neurok.config import NeurokConfig
from kin4d.neurok.joint_axes import JointAxisHead, Screws
from kin4d.neurok.layers import Block, fourier, mlp, pool, scatter_to_points
from kin4d.neurok.motion_mixture import MotionMixture
from kin4d.neurok.twists import TWIST, extents, fit_twists

MIN_WEIGHT = 0.02
"""Skinning weights below it become zero, so that points of one part move exactly rigidly."""
COMPONENT_MAJORITY = 0.85
"""Share of a connected component above which one token gets all of it."""


@dataclass(frozen=True, eq=False)
class PointFeatures:
    """N surface points of each of B shapes, in unit boxes, z up.

    Attributes:
        points: [B, N, 3].
        normals: [B, N, 3] unit.
        component: [B, N] int64 connected component of each point, 0 to C - 1.
    """

    points: Tensor
    normals: Tensor
    component: Tensor


@dataclass(frozen=True, eq=False)
class Encoding:
    """Encoding of B shapes; it depends on their meshes alone.

    Attributes:
        tokens: [B, T, W] features of the parts.
        centres: [B, T, 3] centres of the tokens' points: origins of their twists.
        radii: [B, T] root mean square distances of these points from the centres.
        screws: [B, T, 6, 6] orthonormal rows: twists along which the parts move, most likely first.
        gains: [B, T, 6] length of the twist along each row at a state of one.
        mean: [B, T, 6] mean of the prior over states; its variance is one.
        slots: [B, T, W] tokens before the final assignment, which further points attend to.
        component_boxes: [B, C, 7] centre, half extent and share of points of each component.
        component_features: [B, C, W].
        component_logits: [B, C, 1 + T] added to the assignment logits of a component's points.
    """

    tokens: Tensor
    centres: Tensor
    radii: Tensor
    screws: Tensor
    gains: Tensor
    mean: Tensor
    slots: Tensor
    component_boxes: Tensor
    component_features: Tensor
    component_logits: Tensor

    def double(self) -> Encoding:
        """In float64, as dynamics needs it."""
        return Encoding(
            **{field.name: getattr(self, field.name).double() for field in fields(self)}
        )


@dataclass(frozen=True, eq=False)
class TokenAssignment:
    """Soft assignment of N points of B shapes to tokens.

    Attributes:
        weights: [B, N, 1 + T] skinning weights, >= 0, rows sum to one; column 0 is the static
            background.
        features: [B, N, W] of the points.
    """

    weights: Tensor
    features: Tensor

    def select(self, index: Tensor) -> TokenAssignment:
        """The assignment of the points index [M]."""
        return TokenAssignment(self.weights[:, index], self.features[:, index])

    def double(self) -> TokenAssignment:
        """In float64, as dynamics needs it."""
        return TokenAssignment(self.weights.double(), self.features.double())


class SlotAttention(nn.Module):
    """Slot attention (Locatello et al. 2020): tokens compete for points and pool their features."""

    def __init__(self, width: int, heads: int) -> None:
        super().__init__()
        self.background = nn.Parameter(torch.randn(1, width) * 0.5)
        self.query = nn.Sequential(nn.LayerNorm(width), nn.Linear(width, width))
        self.learn = mlp(width + 10, 2 * width, width)
        self.block = Block(width, heads)

    def logits(self, tokens: Tensor, key: Tensor) -> Tensor:
        """[B, N, 1 + T] logits of keys [B, N, W]; column 0 is the background."""
        background = self.background.expand(len(tokens), -1, -1)
        query = torch.cat([background, self.query(tokens)], 1)
        return key @ query.mT * key.shape[-1] ** -0.5

    def forward(self, tokens: Tensor, weights: Tensor, value: Tensor, points: Tensor) -> Tensor:
        """Tokens updated by the weighted means of values [B, N, W] at points [B, N, 3]."""
        weights = weights[..., 1:].mT
        moments = _moments(points)
        pooled = weights @ torch.cat([value, moments], -1)
        mass = weights.sum(-1, keepdim=True)
        pooled = torch.cat([pooled / (mass + 1e-3), mass / points.shape[1]], -1)
        return self.block(tokens + self.learn(pooled))


class PriorEncoder(nn.Module):
    """Surface points -> tokens, assignment of points to tokens, and prior over states.

    Learnable queries attend to the points by cross-attention, then by a few layers of slot
    attention, in which the softmax runs over tokens, so that tokens compete for points. The last
    assignment gives the skinning weights.
    """

    def __init__(self, config: NeurokConfig) -> None:
        super().__init__()
        width, heads = config.width, config.heads
        self.octaves = config.octaves
        self.embed = mlp(3 + 6 * config.octaves + 3 + 10, width, width)
        self.group_in = mlp(width + 7, width, width)
        self.group_blocks = nn.ModuleList(Block(width, heads) for _ in range(2))
        self.group_out = mlp(width, width, width, zero=True)
        self.component_gain = mlp(width, width, 1, zero=True, start=1.0)
        self.queries = nn.Parameter(torch.randn(config.tokens, width))
        self.cross_attention = Block(width, heads)
        self.key, self.value = nn.Linear(width, width), nn.Linear(width, width)
        self.slot_layers = nn.ModuleList(
            SlotAttention(width, heads) for _ in range(config.refinements)
        )
        self.point_attention = Block(width, heads, expand=1)
        self.final_key = nn.Linear(width, width)
        self.final = SlotAttention(width, heads)
        self.joint_axes = JointAxisHead(width)

    def forward(self, surface: PointFeatures) -> tuple[Encoding, TokenAssignment, MotionMixture]:
        """The encoding, the assignment of its points, and the predicted motions of its parts."""
        points, component = surface.points, surface.component
        boxes = component_boxes(points, component)
        features = self._embed(surface, boxes)
        count = boxes.shape[1]
        groups = self.group_in(torch.cat([pool(features, component, count), boxes], -1))
        for block in self.group_blocks:
            groups = block(groups, mask=boxes[..., 6] > 0)
        features = features + scatter_to_points(self.group_out(groups), component)
        tokens = self.cross_attention(self.queries.expand(len(features), -1, -1), features)
        key, value = self.key(features), self.value(features)
        for layer in cast(list[SlotAttention], [*self.slot_layers]):
            tokens = layer(tokens, layer.logits(tokens, key).softmax(-1), value, points)
        slots = tokens
        logits, attended = self._slot_logits(features, slots)
        component_logits = pool(logits, component, count) * self.component_gain(groups)
        assignment = TokenAssignment(
            self._to_weights(logits + scatter_to_points(component_logits, component)), attended
        )
        tokens = self.final(tokens, assignment.weights, value, points)
        centres, radii, screws = self._screws(assignment.weights.detach(), surface)
        encoding = Encoding(
            tokens=tokens,
            centres=centres,
            radii=radii,
            screws=screws.frames,
            gains=screws.gains,
            mean=screws.mean,
            slots=slots,
            component_boxes=boxes,
            component_features=self.group_out(groups),
            component_logits=component_logits,
        )
        return encoding, assignment, screws.mixture

    def assign(self, encoding: Encoding, surface: PointFeatures) -> TokenAssignment:
        """Assign further points of encoded shapes."""
        features = self._embed(surface, encoding.component_boxes) + scatter_to_points(
            encoding.component_features, surface.component
        )
        logits, attended = self._slot_logits(features, encoding.slots)
        component_logits = scatter_to_points(encoding.component_logits, surface.component)
        return TokenAssignment(self._to_weights(logits + component_logits), attended)

    def update_axes(
        self, encoding: Encoding, assignment: TokenAssignment, surface: PointFeatures
    ) -> tuple[Encoding, MotionMixture]:
        """The encoding with joint axes predicted again, for another assignment of its points."""
        centres, radii, screws = self._screws(assignment.weights, surface)
        updated = replace(
            encoding,
            centres=centres,
            radii=radii,
            screws=screws.frames,
            gains=screws.gains,
            mean=screws.mean,
        )
        return updated, screws.mixture

    def _screws(self, weights: Tensor, surface: PointFeatures) -> tuple[Tensor, Tensor, Screws]:
        """Centres, radii and predicted screws of the tokens' points."""
        centres, radii = extents(weights[..., 1:], surface.points)
        hard = harden_assignment(weights, surface.component, int(surface.component.max()) + 1)
        screws = self.joint_axes(hard, surface.points, surface.normals, centres, radii)
        return centres, radii, screws

    def _to_weights(self, logits: Tensor) -> Tensor:
        # Weights that are cut off have no gradient, so training uses the plain softmax.
        return logits.softmax(-1) if self.training else sparse_softmax(logits)

    def _embed(self, surface: PointFeatures, boxes: Tensor) -> Tensor:
        box = scatter_to_points(boxes, surface.component)
        relative = surface.points - box[..., :3]
        position = fourier(surface.points, self.octaves)
        return self.embed(torch.cat([position, surface.normals, box, relative], -1))

    def _slot_logits(self, features: Tensor, slots: Tensor) -> tuple[Tensor, Tensor]:
        attended = self.point_attention(features, slots)
        return self.final.logits(slots, self.final_key(attended)), attended


class Posterior(nn.Module):
    """Posterior encoder: a deformation of a shape -> mean and log variance of its state.

    The rigid motion of each token's points is fitted and projected on the token's screws; the
    network predicts a correction.
    """

    def __init__(self, config: NeurokConfig) -> None:
        super().__init__()
        width, heads = config.width, config.heads
        self.learn = mlp(width + 2 * TWIST + 14, 2 * width, width)
        self.blocks = nn.ModuleList(Block(width, heads) for _ in range(2))
        self.out = nn.Linear(width, 2 * TWIST)
        nn.init.zeros_(self.out.weight)
        nn.init.zeros_(self.out.bias)

    def forward(
        self, encoding: Encoding, weights: Tensor, points: Tensor, moved: Tensor
    ) -> tuple[Tensor, Tensor]:
        """Both [B, T, 6], for points [B, N, 3] with weights [B, N, 1 + T] that move to `moved`."""
        twist, fit_features = fit_twists(
            weights[..., 1:], points, moved, encoding.centres, encoding.radii
        )
        along = (encoding.screws @ twist[..., None]).squeeze(-1) / encoding.gains
        tokens = self.learn(torch.cat([encoding.tokens, along, twist, fit_features], -1))
        for block in self.blocks:
            tokens = block(tokens)
        mean, log_variance = self.out(tokens).chunk(2, -1)
        return along + mean, log_variance - 4.0


class TargetEncoder(nn.Module):
    """Target encoder: an unordered point cloud of the shape -> an initial guess of its state."""

    def __init__(self, config: NeurokConfig) -> None:
        super().__init__()
        width, heads = config.width, config.heads
        self.octaves = config.octaves
        self.embed = mlp(3 + 6 * config.octaves + 1, width, width)
        self.token_in = nn.Linear(width, width)
        self.cross_attentions = nn.ModuleList(Block(width, heads) for _ in range(2))
        self.blocks = nn.ModuleList(Block(width, heads) for _ in range(2))
        self.out = mlp(width, width, TWIST, zero=True)

    def forward(self, encoding: Encoding, points: Tensor, target: Tensor) -> Tensor:
        """State [B, T, 6] of the shape with surface `points` [B, N, 3] at `target` [B, M, 3]."""
        with torch.no_grad():
            distance = torch.cdist(target, points).amin(-1, keepdim=True)
        features = self.embed(torch.cat([fourier(target, self.octaves), 10 * distance], -1))
        tokens = self.token_in(encoding.tokens)
        for attention, block in zip(self.cross_attentions, self.blocks, strict=True):
            tokens = block(attention(tokens, features))
        return encoding.mean + self.out(tokens)


def sparse_softmax(logits: Tensor) -> Tensor:
    """Softmax over the last dim, with weights below `MIN_WEIGHT` set to zero.

    Most points then follow one part alone: static parts are exactly static, and rigid parts rigid.
    Weights depend on the mesh alone, so dynamics does not differentiate through the kink.
    """
    kept = (logits.softmax(-1) - MIN_WEIGHT).relu()
    return kept / kept.sum(-1, keepdim=True)


def harden_assignment(weights: Tensor, component: Tensor, count: int) -> Tensor:
    """Weights [B, N, 1 + T], made one-hot in components [B, N] where one token has most of the
    weight: a single stray point would enlarge the box of a part."""
    share = scatter_to_points(pool(weights, component, count), component)
    rest = torch.where(share < 1 - COMPONENT_MAJORITY, 0.0, weights)
    return torch.where(share > COMPONENT_MAJORITY, 1.0, rest)


def component_boxes(points: Tensor, component: Tensor) -> Tensor:
    """[B, C, 7] centre and half extent of each component's box, and its share of the points."""
    batch, count = len(points), int(component.max()) + 1
    where = component[..., None].expand(-1, -1, 3)
    low = points.new_full((batch, count, 3), torch.inf).scatter_reduce(1, where, points, "amin")
    high = points.new_full((batch, count, 3), -torch.inf).scatter_reduce(1, where, points, "amax")
    size = points.new_zeros(batch, count).scatter_add(1, component, torch.ones_like(points[..., 0]))
    occupied = size[..., None] > 0
    centre = torch.where(occupied, (low + high) / 2, 0.0)
    half = torch.where(occupied, (high - low) / 2, 0.0)
    return torch.cat([centre, half, size[..., None] / points.shape[1]], -1)


def _moments(points: Tensor) -> Tensor:
    """[..., 9]: the points and the six products of their coordinates."""
    x, y, z = points.unbind(-1)
    return torch.cat([points, torch.stack([x * x, y * y, z * z, x * y, x * z, y * z], -1)], -1)
