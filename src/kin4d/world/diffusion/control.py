"""Control: how the robot's motion conditions a diffusion world model.

A rendered robot enters the condition as latents, the guided mask as cells, and cross-attention as
context tokens; actions and words enter through small encoders.
"""

from __future__ import annotations

import re
import zlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import torch
from torch import Tensor, nn

from kin4d.world.diffusion.config import CELL, ControlKind, DiffusionConfig, Modality

WORDS = 2048
"""Entries of the table that words are hashed to; 0 stands for no word."""


class RobotControl(NamedTuple):
    """The robot alone, as videos.

    Attributes:
        rgb: [B, 3, T, H, W] in [-1, 1], -1 outside it.
        xyz: [B, 3, T, H, W] in [-1, 1], -1 outside it.
        mask: [B, T, H, W] bool.
    """

    rgb: Tensor
    xyz: Tensor
    mask: Tensor


@dataclass(frozen=True, kw_only=True)
class Control:
    """A conditioning on the robot.

    Attributes:
        modalities: Modalities whose mask and condition contain the rendered robot.
        draw: The robot as a video for a modality, and the modality that it is encoded as.
        from_frame: First latent frame with the robot; the published forms differ in it.
        visible_modalities: Modalities of the composite that may show the robot; the initial state
            must not contain what the control leaves out.
        token_source: Input that is embedded instead of rendered: "actions", "words" or None.
    """

    modalities: tuple[Modality, ...] = ()
    draw: Callable[[RobotControl, Modality], tuple[Tensor, Modality]] | None = None
    from_frame: int = 1
    visible_modalities: tuple[Modality, ...] = ()
    token_source: str | None = None


def _colours_or_points(robot: RobotControl, modality: Modality) -> tuple[Tensor, Modality]:
    return (robot.rgb if modality == "rgb" else robot.xyz), modality


def _silhouette(robot: RobotControl, modality: Modality) -> tuple[Tensor, Modality]:
    return _grey(robot.mask * 2.0 - 1.0), "rgb"


def _depth(robot: RobotControl, modality: Modality) -> tuple[Tensor, Modality]:
    return _grey(robot.xyz[:, 2]), "rgb"


def _grey(video: Tensor) -> Tensor:
    return video[:, None].expand(-1, 3, -1, -1, -1)


_BOTH: tuple[Modality, ...] = ("rgb", "xyz")

CONTROLS: dict[ControlKind, Control] = {
    "pointmap": Control(
        modalities=("xyz",), draw=_colours_or_points, from_frame=0, visible_modalities=("xyz",)
    ),
    "rgb+pointmap": Control(modalities=_BOTH, draw=_colours_or_points, visible_modalities=_BOTH),
    "mask": Control(modalities=_BOTH, draw=_silhouette),
    "depth": Control(modalities=_BOTH, draw=_depth),
    "embedding": Control(token_source="actions"),
    "text": Control(token_source="words"),
    "none": Control(),
}


class ActionEncoder(nn.Module):
    """Actions of each latent frame: a token, and a shift of that frame's condition."""

    def __init__(self, config: DiffusionConfig) -> None:
        super().__init__()
        frames, inner = config.grid[0], config.inner
        self.read = nn.Sequential(
            nn.Linear(CELL[0] * config.actions, inner), nn.GELU(), nn.Linear(inner, inner)
        )
        self.when = nn.Parameter(torch.randn(frames, inner) * 0.02)
        self.shift = nn.Linear(inner, config.fused[0])
        nn.init.zeros_(self.shift.weight)
        nn.init.zeros_(self.shift.bias)

    def channels(self, control_input: Tensor) -> Tensor:
        """[B, fused channels, t, 1, 1] to add to the condition."""
        return self.shift(self.read(_by_latent_frame(control_input))).movedim(1, 2)[..., None, None]

    def tokens(self, control_input: Tensor) -> Tensor:
        """[B, N, inner] context tokens."""
        return self.read(_by_latent_frame(control_input)) + self.when


class TextEncoder(nn.Module):
    """Words by a hashed embedding table, or the embeddings of a given text encoder."""

    def __init__(self, config: DiffusionConfig, project: nn.Module) -> None:
        super().__init__()
        self.table = nn.Embedding(WORDS, config.text_dim)
        # In a tuple, since it is the transformer's and must not be registered here again.
        self._project = (project,)

    def channels(self, control_input: Tensor) -> None:
        """Nothing is added to the condition."""

    def tokens(self, control_input: Tensor) -> Tensor:
        """[B, N, inner] context tokens."""
        known = control_input if control_input.is_floating_point() else self.table(control_input)
        return self._project[0](known)


def hash_words(texts: Sequence[str], *, length: int = 16) -> Tensor:
    """[B, length] int64: hashes of the words of each text, the same on every machine.

    Args:
        texts: In any language that separates words by spaces.
        length: Number of words; longer texts are cut, shorter ones padded with 0.
    """
    ids = torch.zeros(len(texts), length, dtype=torch.int64)
    for row, text in zip(ids, texts, strict=True):
        for index, word in enumerate(re.findall(r"\w+", text.lower())[:length]):
            row[index] = 1 + zlib.crc32(word.encode()) % (WORDS - 1)
    return ids


def _by_latent_frame(actions: Tensor) -> Tensor:
    """[B, T, a] to [B, t, 4 a]; those of the first frame are repeated four times."""
    first = actions[:, :1].expand(-1, CELL[0] - 1, -1)
    return torch.cat([first, actions], 1).unflatten(1, (-1, CELL[0])).flatten(2)
