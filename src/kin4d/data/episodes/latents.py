"""Latents: episodes as a generator takes them, encoded once and kept on disk."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
import torch

from kin4d.data.episodes.episode import ROBOT, Episode
from kin4d.data.episodes.joined import Episodes
from kin4d.data.episodes.lessons import chosen, situation_of
from kin4d.training.checkpoint import load_tensors, save_tensors
from kin4d.world.batch import Clips, Encoded, composite_of
from kin4d.world.config import WorldConfig
from kin4d.world.flow_world import clips_of
from kin4d.world.generator import Generator

_DIFFERS = 12 / 127.5  # of colours between -1 and 1: where the composite does not hold
_EXTRA = 8.0  # weight in the loss of such pixels, beyond that of others


def clips_from(episode: Episode, config: WorldConfig) -> Clips:
    """An episode as a batch of one clip; what the composite does not show counts more."""
    situation, video = situation_of(episode), episode.video
    known = clips_of([situation], config)
    shown = composite_of(known, config)[0].permute(0, 2, 3, 4, 1).numpy()
    true = video.rgb[None].astype(np.float32) / 127.5 - 1
    differs = (np.abs(true - shown).max(-1) > _DIFFERS) & (video.mask[None] != ROBOT)
    weight = 1 + _EXTRA * differs.astype(np.float32)
    return clips_of([situation], config, happened=[video], moves=weight)


class Latents:
    """Encoded episodes of a store; each is encoded when it is first asked for.

    Args:
        folder: Where they are kept, for this generator's config and codec alone.
        store: The episodes.
        generator: What encodes them.
    """

    def __init__(self, folder: str | Path, store: Episodes, generator: Generator) -> None:
        self._folder, self._store, self._generator = Path(folder), store, generator

    def __getitem__(self, number: int) -> Encoded:
        file = self._folder / f"{number:06d}.safetensors"
        if file.exists():
            tensors, _ = load_tensors(file)
            return Encoded(**{name: _whole(tensor) for name, tensor in tensors.items()})
        episode = self._store.episode(number)
        encoded = self._generator.encode(clips_from(episode, self._generator.config))
        halved = {name: _half(tensor) for name, tensor in encoded.tensors().items()}
        self._folder.mkdir(parents=True, exist_ok=True)
        save_tensors(file, halved, {"episode": episode.name})
        return Encoded(**{name: _whole(tensor) for name, tensor in halved.items()})

    def batches(
        self, numbers: Sequence[int], *, batch: int, seed: int, step: int = 0
    ) -> Iterator[Encoded]:
        """Without end; a batch depends on seed and step alone."""
        for _, some in chosen(numbers, batch, seed, step):
            found = [self[number].tensors() for number in some]
            yield Encoded(**{name: torch.cat([one[name] for one in found]) for name in found[0]})


def _half(tensor: torch.Tensor) -> torch.Tensor:
    return tensor.half() if tensor.is_floating_point() and tensor.ndim > 2 else tensor


def _whole(tensor: torch.Tensor) -> torch.Tensor:
    return tensor.float() if tensor.dtype == torch.float16 else tensor
