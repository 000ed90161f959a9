"""Encoders: a mesh to tokens and skinning weights; a deformation or a target to a state."""

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

_LEAST_SHARE = 0.02
_AGREED = 0.85  # share of a component's points that speak for the rest


@dataclass(frozen=True, eq=False)
class PointFeatures:
    """B samples of N surface points in the unit box of the shape.

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
    """All that depends on the mesh alone.

    Attributes:
        tokens: [B, T, W].
        centres: [B, T, 3] middles of what tokens claim: origins of their twists.
        radii: [B, T] how far it spreads around them.
        screws: [B, T, 6, 6] orthonormal rows: the twists along which tokens move, likeliest first.
        gains: [B, T, 6] how far, at a state of one.
        mean: [B, T, 6] of the prior over states; its variance is one.
        claimants: [B, T, W] the tokens as they claimed points.
        shapes: [B, C, 7] centre, half extent and share of points of each component.
        groups: [B, C, W] features of each component.
        votes: [B, C, 1 + T] added to the claims on points of each component.
    """

    tokens: Tensor
    centres: Tensor
    radii: Tensor
    screws: Tensor
    gains: Tensor
    mean: Tensor
    slots: Tensor
    shapes: Tensor
    groups: Tensor
    component_logits: Tensor

    def double(self) -> Encoding:
        """In float64, for mechanics."""
        return Encoding(
            **{field.name: getattr(self, field.name).double() for field in fields(self)}
        )


@dataclass(frozen=True, eq=False)
class TokenAssignment:
    """How N points of B shapes are shared between tokens.

    Attributes:
        weights: [B, N, 1 + T] >= 0, summing to one; column 0 is what never moves.
        features: [B, N, W] of the points.
    """

    weights: Tensor
    features: Tensor

    def rows(self, index: Tensor) -> TokenAssignment:
        """Those of some points, index [M]."""
        return TokenAssignment(self.weights[:, index], self.features[:, index])

    def double(self) -> TokenAssignment:
        """In float64, for mechanics."""
        return TokenAssignment(self.weights.double(), self.features.double())


class SlotAttention(nn.Module):
    """Tokens claim points; then each is told about the points it got."""

    def __init__(self, width: int, heads: int) -> None:
        super().__init__()
        self.background = nn.Parameter(torch.randn(1, width) * 0.5)
        self.query = nn.Sequential(nn.LayerNorm(width), nn.Linear(width, width))
        self.learn = mlp(width + 10, 2 * width, width)
        self.block = Block(width, heads)

    def logits(self, tokens: Tensor, key: Tensor) -> Tensor:
        """[B, N, 1 + T] of keys [B, N, W]; column 0 is nobody's."""
        background = self.background.expand(len(tokens), -1, -1)
        query = torch.cat([background, self.query(tokens)], 1)
        return key @ query.mT * key.shape[-1] ** -0.5

    def forward(self, tokens: Tensor, weights: Tensor, value: Tensor, points: Tensor) -> Tensor:
        """Tokens that have seen what they claim of values [B, N, W] at points [B, N, 3]."""
        weights = weights[..., 1:].mT
        moments = _moments(points)
        got = weights @ torch.cat([value, moments], -1)
        mass = weights.sum(-1, keepdim=True)
        got = torch.cat([got / (mass + 1e-3), mass / points.shape[1]], -1)
        return self.block(tokens + self.learn(got))


class PriorEncoder(nn.Module):
    """Surface -> tokens, the points each claims, and the prior over states.

    Learnable tokens look at the points once with plain attention, then look again, a few times, at
    the points they claim: claims are a softmax over tokens, so that tokens compete for points.
    The last claims are the skinning weights. Column 0 of them is nobody's: what never moves.
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
        """The encoding, the claims on the points it was made from, and how parts may move."""
        points, component = surface.points, surface.component
        shapes = component_shapes(points, component)
        own = self._embed(surface, shapes)
        count = shapes.shape[1]
        groups = self.group_in(torch.cat([pool(own, component, count), shapes], -1))
        for block in self.group_blocks:
            groups = block(groups, mask=shapes[..., 6] > 0)
        own = own + scatter_to_points(self.group_out(groups), component)
        tokens = self.cross_attention(self.queries.expand(len(own), -1, -1), own)
        key, value = self.key(own), self.value(own)
        for layer in cast(list[SlotAttention], [*self.slot_layers]):
            tokens = layer(tokens, layer.logits(tokens, key).softmax(-1), value, points)
        slots = tokens
        logits, features = self._slot_logits(own, slots)
        component_logits = pool(logits, component, count) * self.component_gain(groups)
        assignment = TokenAssignment(
            self._share(logits + scatter_to_points(component_logits, component)), features
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
            shapes=shapes,
            groups=self.group_out(groups),
            component_logits=component_logits,
        )
        return encoding, assignment, screws.mixture

    def assign(self, encoding: Encoding, surface: PointFeatures) -> TokenAssignment:
        """Claims on further points of encoded shapes."""
        own = self._embed(surface, encoding.shapes) + scatter_to_points(
            encoding.groups, surface.component
        )
        logits, features = self._slot_logits(own, encoding.slots)
        component_logits = scatter_to_points(encoding.component_logits, surface.component)
        return TokenAssignment(self._share(logits + component_logits), features)

    def update_axes(
        self, encoding: Encoding, assignment: TokenAssignment, surface: PointFeatures
    ) -> tuple[Encoding, MotionMixture]:
        """An encoding whose screws are read off other claims, such as settled ones."""
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
        """Middles, radii and screws of what tokens claim."""
        centres, radii = extents(weights[..., 1:], surface.points)
        hard = harden_assignment(weights, surface.component, int(surface.component.max()) + 1)
        screws = self.joint_axes(hard, surface.points, surface.normals, centres, radii)
        return centres, radii, screws

    def _share(self, logits: Tensor) -> Tensor:
        # Shares that are cut off would never learn.
        return logits.softmax(-1) if self.training else sparse_softmax(logits)

    def _embed(self, surface: PointFeatures, shapes: Tensor) -> Tensor:
        shape = scatter_to_points(shapes, surface.component)
        relative = surface.points - shape[..., :3]
        where = fourier(surface.points, self.octaves)
        return self.embed(torch.cat([where, surface.normals, shape, relative], -1))

    def _slot_logits(self, own: Tensor, slots: Tensor) -> tuple[Tensor, Tensor]:
        features = self.point_attention(own, slots)
        return self.final.logits(slots, self.final_key(features)), features


class Posterior(nn.Module):
    """A deformation of a shape -> the state that means it: mean and logarithm of variance.

    Each token finds the rigid motion that fits its points best, and how far along its screws that
    is; networks only correct this.
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
        """Both [B, T, 6], for points [B, N, 3] of weights [B, N, 1 + T] that go to `moved`."""
        twist, around = fit_twists(
            weights[..., 1:], points, moved, encoding.centres, encoding.radii
        )
        along = (encoding.screws @ twist[..., None]).squeeze(-1) / encoding.gains
        tokens = self.learn(torch.cat([encoding.tokens, along, twist, around], -1))
        for block in self.blocks:
            tokens = block(tokens)
        mean, log_variance = self.out(tokens).chunk(2, -1)
        return along + mean, log_variance - 4.0


class TargetEncoder(nn.Module):
    """An unordered point cloud of the shape in another state -> the state, as a first guess."""

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
            away = torch.cdist(target, points).amin(-1, keepdim=True)
        seen = self.embed(torch.cat([fourier(target, self.octaves), 10 * away], -1))
        tokens = self.token_in(encoding.tokens)
        for attention, block in zip(self.cross_attentions, self.blocks, strict=True):
            tokens = block(attention(tokens, seen))
        return encoding.mean + self.out(tokens)


def sparse_softmax(logits: Tensor) -> Tensor:
    """Softmax over the last dim in which small shares are nothing at all.

    A point that is sure of its part then follows that part alone: still things stay exactly still,
    and rigid parts rigid. Weights depend on the mesh only, so the kink does not reach mechanics.
    """
    kept = (logits.softmax(-1) - _LEAST_SHARE).relu()
    return kept / kept.sum(-1, keepdim=True)


def harden_assignment(weights: Tensor, component: Tensor, count: int) -> Tensor:
    """Claims [B, N, 1 + T] in which components [B, N] that nearly agree do so entirely: a stray
    point would make the box of a part too large."""
    share = scatter_to_points(pool(weights, component, count), component)
    return torch.where(share > _AGREED, 1.0, torch.where(share < 1 - _AGREED, 0.0, weights))


def component_shapes(points: Tensor, component: Tensor) -> Tensor:
    """[B, C, 7] centre and half extent of each component's box, and its share of the points."""
    batch, count = len(points), int(component.max()) + 1
    where = component[..., None].expand(-1, -1, 3)
    low = points.new_full((batch, count, 3), torch.inf).scatter_reduce(1, where, points, "amin")
    high = points.new_full((batch, count, 3), -torch.inf).scatter_reduce(1, where, points, "amax")
    size = points.new_zeros(batch, count).scatter_add(1, component, torch.ones_like(points[..., 0]))
    there = size[..., None] > 0
    centre = torch.where(there, (low + high) / 2, 0.0)
    half = torch.where(there, (high - low) / 2, 0.0)
    return torch.cat([centre, half, size[..., None] / points.shape[1]], -1)


def _moments(points: Tensor) -> Tensor:
    """[..., 9]: the points and the six products of their coordinates."""
    x, y, z = points.unbind(-1)
    return torch.cat([points, torch.stack([x * x, y * y, z * z, x * y, x * z, y * z], -1)], -1)
