"""Unet: a small convolutional image-to-image network, shared by depth, segmentation, refinement."""

from __future__ import annotations

import itertools
from collections.abc import Sequence

import torch
from torch import Tensor, nn
from torch.nn import functional as F


class Unet(nn.Module):
    """U-Net with one downsampling per entry of `widths`, and skip connections.

    The first downsampling folds 2 x 2 pixels into channels, which saves most of the work at full
    resolution.

    Args:
        inputs: Channels in.
        outputs: Channels out; the last layer is initialised to zero.
        widths: Channels at each resolution, from half the full one down.
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

    def forward(self, image: Tensor) -> Tensor:
        """[B, outputs, H, W] of [B, inputs, H, W]; sides must be multiples of 2**len(widths)."""
        features, skips = self.enter(_channels_last(F.pixel_unshuffle(image, 2))), []
        for number, block in enumerate(self.left):
            features = block(features)
            if number < len(self.down):
                skips.append(features)
                features = self.down[number](features)
        features = self.middle(features)
        for number in reversed(range(len(self.up))):
            upsampled = F.interpolate(features, scale_factor=2.0, mode="nearest")
            features = self.right[number](self.up[number](torch.cat([upsampled, skips[number]], 1)))
        return F.pixel_shuffle(self.leave(features), 2)


class _Block(nn.Module):
    def __init__(self, width: int) -> None:
        super().__init__()
        self.norm = nn.GroupNorm(8, width)
        self.first = nn.Conv2d(width, width, 3, padding=1)
        self.second = nn.Conv2d(width, width, 3, padding=1)

    def forward(self, features: Tensor) -> Tensor:
        return features + self.second(F.silu(self.first(F.silu(self.norm(features)))))


def _channels_last(image: Tensor) -> Tensor:
    """The same tensor in channels-last layout: a quarter faster."""
    return image.contiguous(memory_format=torch.channels_last)
