"""Layers shared by the networks: attention blocks, Fourier features of points, pooling.

Activations are smooth, because the simulator differentiates through them.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn import functional as F


def fourier(points: Tensor, octaves: int) -> Tensor:
    """Embed points [..., 3] in unit boxes as [..., 3 + 6 octaves]: xyz, then sin and cos of them
    times pi, 2 pi, 4 pi, ..."""
    frequencies = torch.pi * 2.0 ** torch.arange(octaves, dtype=points.dtype, device=points.device)
    phase = (points[..., None, :] * frequencies[:, None]).flatten(-2)
    return torch.cat([points, phase.sin(), phase.cos()], -1)


def mlp(
    inputs: int, width: int, outputs: int, *, zero: bool = False, start: float = 0.0
) -> nn.Sequential:
    """Two linear layers with GELU between; with `zero`, it initially outputs `start`."""
    last = nn.Linear(width, outputs)
    if zero:
        nn.init.zeros_(last.weight)
        nn.init.constant_(last.bias, start)
    return nn.Sequential(nn.Linear(inputs, width), nn.GELU(), last)


class Attention(nn.Module):
    """Multi-head attention from queries [B, Q, W] to a context [B, K, W], after layer norms."""

    def __init__(self, width: int, heads: int) -> None:
        super().__init__()
        self.heads = heads
        self.norm, self.norm_context = nn.LayerNorm(width), nn.LayerNorm(width)
        self.query, self.key_value = nn.Linear(width, width), nn.Linear(width, 2 * width)
        self.out = nn.Linear(width, width)

    def forward(self, x: Tensor, context: Tensor | None = None, mask: Tensor | None = None):
        """x [B, Q, W] attends to `context` [B, K, W], or to itself, where `mask` [B, K] is True."""
        normed = self.norm(x)
        attended = normed if context is None else self.norm_context(context)
        key, value = self.key_value(attended).chunk(2, -1)
        q, k, v = (self._split(part) for part in (self.query(normed), key, value))
        allowed = None if mask is None else mask[:, None, None, :]
        mixed = F.scaled_dot_product_attention(q, k, v, attn_mask=allowed)
        return self.out(mixed.transpose(1, 2).flatten(2))

    def _split(self, x: Tensor) -> Tensor:
        return x.unflatten(-1, (self.heads, -1)).transpose(1, 2)


class Block(nn.Module):
    """Transformer block: attention, then a two-layer perceptron, both residual."""

    def __init__(self, width: int, heads: int, *, expand: int = 2) -> None:
        super().__init__()
        self.attention = Attention(width, heads)
        self.norm = nn.LayerNorm(width)
        self.mlp = mlp(width, expand * width, width)

    def forward(self, x: Tensor, context: Tensor | None = None, mask: Tensor | None = None):
        """See `Attention.forward`."""
        x = x + self.attention(x, context, mask)
        return x + self.mlp(self.norm(x))


def pool(values: Tensor, index: Tensor, count: int) -> Tensor:
    """Means of values [B, N, W] over groups index [B, N]: [B, count, W], 0 for an empty group."""
    where = index[..., None].expand(-1, -1, values.shape[-1])
    total = values.new_zeros(len(values), count, values.shape[-1]).scatter_add(1, where, values)
    size = values.new_zeros(len(values), count).scatter_add(
        1, index, torch.ones_like(values[..., 0])
    )
    return total / size.clamp(min=1)[..., None]


def scatter_to_points(values: Tensor, index: Tensor) -> Tensor:
    """[B, N, W]: values [B, C, W] of groups, for each point the value of its group index [B, N]."""
    return values.gather(1, index[..., None].expand(-1, -1, values.shape[-1]))
