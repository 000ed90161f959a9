"""LatentCache: latents of episodes, encoded once and kept on disk for training."""

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

CHANGED = 12 / 127.5
"""Difference of colours in [-1, 1] from the composite at which a pixel has changed."""
CHANGED_WEIGHT = 9.0
"""Weight of changed pixels in the loss, against 1 of others: there are few of them."""


def episode_videos(episode: Episode, config: DiffusionConfig) -> VideoBatch:
    """An episode as a batch of one video; pixels that differ from the composite weigh more."""
    observation, video = episode_observation(episode), episode.video
    known = video_batch_of([observation], config)
    composite = composite_of(known, config)[0].permute(0, 2, 3, 4, 1).numpy()
    true = video.rgb[None].astype(np.float32) / 127.5 - 1
    differs = (np.abs(true - composite).max(-1) > CHANGED) & (video.mask[None] != ROBOT)
    weight = np.where(differs, CHANGED_WEIGHT, 1.0).astype(np.float32)
    return video_batch_of([observation], config, truth=[video], loss_weight=weight)


class LatentCache:
    """Latents of the episodes of a store, each encoded on first use.

    Args:
        folder: Where they are kept; one folder for one config and codec.
        store: The episodes.
        video_model: The model that encodes them.
    """

    def __init__(
        self, folder: str | Path, store: EpisodeSource, video_model: LatentVideoModel
    ) -> None:
        self._folder, self._store, self._video_model = Path(folder), store, video_model

    def __getitem__(self, number: int) -> LatentBatch:
        file = self._folder / f"{number:06d}.safetensors"
        if file.exists():
            tensors, _ = load_tensors(file)
            return LatentBatch(**{name: _whole(tensor) for name, tensor in tensors.items()})
        episode = self._store.episode(number)
        encoded = self._video_model.encode(episode_videos(episode, self._video_model.config))
        halved = {name: _half(tensor) for name, tensor in encoded.tensors().items()}
        self._folder.mkdir(parents=True, exist_ok=True)
        save_tensors(file, halved, {"episode": episode.name})
        return LatentBatch(**{name: _whole(tensor) for name, tensor in halved.items()})

    def batches(
        self, numbers: Sequence[int], *, batch: int, seed: int, step: int = 0
    ) -> Iterator[LatentBatch]:
        """Endless random batches; a batch depends on seed and step alone."""
        for _, chosen in random_episodes(numbers, batch, seed, step):
            batches = [self[number].tensors() for number in chosen]
            yield LatentBatch(
                **{name: torch.cat([one[name] for one in batches]) for name in batches[0]}
            )


def _half(tensor: torch.Tensor) -> torch.Tensor:
    return tensor.half() if tensor.is_floating_point() and tensor.ndim > 2 else tensor


def _whole(tensor: torch.Tensor) -> torch.Tensor:
    return tensor.float() if tensor.dtype == torch.float16 else tensor
