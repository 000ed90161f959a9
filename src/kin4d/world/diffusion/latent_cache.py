"""Latents: episodes as a generator takes them, encoded once and kept on disk."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
import torch

from kin4d.episodes.concat import EpisodeSource
from kin4d.episodes.episode import ROBOT, Episode
from kin4d.training.checkpoint import load_tensors, save_tensors
from kin4d.world.diffusion.batch import LatentBatch, VideoBatch, composite_of
from kin4d.world.diffusion.config import DiffusionConfig
from kin4d.world.diffusion.latent_video import LatentVideoModel
from kin4d.world.diffusion.model import video_batch_of
from kin4d.world.episode_observation import episode_observation, random_episodes

_DIFFERS = 12 / 127.5  # of colours between -1 and 1: where the composite does not hold
_EXTRA = 8.0  # weight in the loss of such pixels, beyond that of others


def episode_videos(episode: Episode, config: DiffusionConfig) -> VideoBatch:
    """An episode as a batch of one clip; what the composite does not show counts more."""
    observation, video = episode_observation(episode), episode.video
    known = video_batch_of([observation], config)
    shown = composite_of(known, config)[0].permute(0, 2, 3, 4, 1).numpy()
    true = video.rgb[None].astype(np.float32) / 127.5 - 1
    differs = (np.abs(true - shown).max(-1) > _DIFFERS) & (video.mask[None] != ROBOT)
    weight = 1 + _EXTRA * differs.astype(np.float32)
    return video_batch_of([observation], config, truth=[video], loss_weight=weight)


class LatentCache:
    """Encoded episodes of a store; each is encoded when it is first asked for.

    Args:
        folder: Where they are kept, for this generator's config and codec alone.
        store: The episodes.
        video_model: What encodes them.
    """

    def __init__(
        self, folder: str | Path, store: EpisodeSource, video_model: LatentVideoModel
    ) -> None:
        self._folder, self._store, self._generator = Path(folder), store, video_model

    def __getitem__(self, number: int) -> LatentBatch:
        file = self._folder / f"{number:06d}.safetensors"
        if file.exists():
            tensors, _ = load_tensors(file)
            return LatentBatch(**{name: _whole(tensor) for name, tensor in tensors.items()})
        episode = self._store.episode(number)
        encoded = self._generator.encode(episode_videos(episode, self._generator.config))
        halved = {name: _half(tensor) for name, tensor in encoded.tensors().items()}
        self._folder.mkdir(parents=True, exist_ok=True)
        save_tensors(file, halved, {"episode": episode.name})
        return LatentBatch(**{name: _whole(tensor) for name, tensor in halved.items()})

    def batches(
        self, numbers: Sequence[int], *, batch: int, seed: int, step: int = 0
    ) -> Iterator[LatentBatch]:
        """Without end; a batch depends on seed and step alone."""
        for _, some in random_episodes(numbers, batch, seed, step):
            found = [self[number].tensors() for number in some]
            yield LatentBatch(
                **{name: torch.cat([one[name] for one in found]) for name in found[0]}
            )


def _half(tensor: torch.Tensor) -> torch.Tensor:
    return tensor.half() if tensor.is_floating_point() and tensor.ndim > 2 else tensor


def _whole(tensor: torch.Tensor) -> torch.Tensor:
    return tensor.float() if tensor.dtype == torch.float16 else tensor
