"""Unet: a small convolutional network from pictures to pictures."""

from __future__ import annotations

import itertools
from collections.abc import Sequence

import torch
from torch import Tensor, nn
from torch.nn import functional as F


class Unet(nn.Module):
    """Halves the picture once per width, and comes back with what it saw.

    The first halving folds squares of four pixels into channels: most of the work of a network at
    full size would go into pixels that hardly differ.

    Args:
        inputs: Channels in.
        outputs: Channels out; zero at first.
        widths: Channels at each size, from half the full one down.
    """

    def __init__(self, inputs: int, outputs: int, widths: Sequence[int]) -> None:
        super().__init__()
        self.enter = nn.Conv2d(4 * inputs, widths[0], 3, padding=1)
        self.down = nn.ModuleList(
            nn.Conv2d(a, b, 4, stride=2, padding=1) for a, b in itertools.pairwise(widths)
        )
        self.left = nn.ModuleList(_Block(width) for width in widths)
        self.middle = nn.Sequential(_Block(widths[-1]), _Block(widths[-1]))
        self.up = nn.ModuleList(
            nn.Conv2d(b + a, a, 3, padding=1) for a, b in itertools.pairwise(widths)
        )
        self.right = nn.ModuleList(_Block(width) for width in widths[:-1])
        self.leave = nn.Conv2d(widths[0], 4 * outputs, 3, padding=1)
        nn.init.zeros_(self.leave.weight)
        assert self.leave.bias is not None
        nn.init.zeros_(self.leave.bias)
        self.to(memory_format=torch.channels_last)  # pyright: ignore[reportCallIssue]

    def forward(self, picture: Tensor) -> Tensor:
        """[B, outputs, H, W] of [B, inputs, H, W]; sides must be multiples of 2**widths."""
        seen, kept = self.enter(_last(F.pixel_unshuffle(picture, 2))), []
        for number, block in enumerate(self.left):
            seen = block(seen)
            if number < len(self.down):
                kept.append(seen)
                seen = self.down[number](seen)
        seen = self.middle(seen)
        for number in reversed(range(len(self.up))):
            larger = F.interpolate(seen, scale_factor=2.0, mode="nearest")
            seen = self.right[number](self.up[number](torch.cat([larger, kept[number]], 1)))
        return F.pixel_shuffle(self.leave(seen), 2)


class _Block(nn.Module):
    def __init__(self, width: int) -> None:
        super().__init__()
        self.norm = nn.GroupNorm(8, width)
        self.first = nn.Conv2d(width, width, 3, padding=1)
        self.second = nn.Conv2d(width, width, 3, padding=1)

    def forward(self, seen: Tensor) -> Tensor:
        return seen + self.second(F.silu(self.first(F.silu(self.norm(seen)))))


def _last(picture: Tensor) -> Tensor:
    """The same numbers, those of one pixel side by side: a quarter faster."""
    return picture.contiguous(memory_format=torch.channels_last)
