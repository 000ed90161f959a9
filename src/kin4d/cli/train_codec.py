"""`kin4d train codec`: train the codec that turns videos into latents and back."""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from kin4d.cli.output import print_result
from kin4d.cli.ranges import Count
from kin4d.cli.train_options import PROCESS_SEED, EpisodeTrainingOptions
from kin4d.errors import InputError
from kin4d.progress import track

if TYPE_CHECKING:
    from collections.abc import Iterator

    from kin4d.episodes.concat import EpisodeSource
    from kin4d.training import TrainConfig
    from kin4d.world.diffusion.batch import VideoBatch
    from kin4d.world.diffusion.codec import AnyCodec
    from kin4d.world.diffusion.config import DiffusionConfig

_FITTED = 200  # episodes that a linear codec is fitted to
_DEV = 16  # held-out episodes on which the codec is measured


@dataclass(frozen=True, kw_only=True)
class TrainCodec(EpisodeTrainingOptions):
    """Train a VAE on episodes, or fit a linear codec; run the same command again to resume.

    `kin4d train diffusion --codec OUTPUT/codec.safetensors` then works in its latents.
    """

    codec_type: Literal["vae", "pca"] = "vae"
    """Wan's autoencoder, or principal components of patches."""
    preset: Literal["tiny", "small", "wan14b"] = "tiny"
    """Size of the images, and length of training."""
    channels: Count = 16
    """Numbers per cell of 4 frames by 8 x 8 pixels."""
    width: Count = 16
    """Channels of the VAE's first layer; the published one has 96."""
    frames: Count | None = None
    """Length of the segments that the VAE is trained on, 1 more than a multiple of 4; by default
    whole clips. Short ones are faster, and its layers see few frames at once."""

    def run(self) -> None:
        import torch

        from kin4d.episodes.concat import open_episodes
        from kin4d.training.config import config_of_preset
        from kin4d.world.diffusion.codec import save_codec
        from kin4d.world.diffusion.config import PRESETS
        from kin4d.world.diffusion.latent_cache import episode_videos
        from kin4d.world.diffusion.latent_video import CODEC_FILE
        from kin4d.world.diffusion.train import TRAIN_CONFIGS
        from kin4d.world.diffusion.train_vae import measure_codec

        torch.set_num_threads(self.threads)
        store = open_episodes(self.episodes)
        config = replace(
            PRESETS[self.preset],
            codec=self.codec_type,
            latent_channels=self.channels,
            vae_width=self.width,
        )
        train_config = config_of_preset(TRAIN_CONFIGS, self.preset, **self.changes)
        codec = make_episode_codec(store, config, train_config, self.output, frames=self.frames)
        file = self.output / CODEC_FILE
        save_codec(file, codec)
        held_out = store.numbers("val")[:_DEV] or store.numbers("train")[:_DEV]
        lost = measure_codec(codec, (episode_videos(store.episode(n), config) for n in held_out))
        print_result(
            f"{file}: colours come back at {lost['psnr']:.1f} dB, points within "
            f"{1e3 * lost['metres']:.1f} mm; {100 * lost['flipped']:.2f} % of pixels lose their "
            "points or gain some",
            {"codec": str(file), **lost},
            as_json=self.json,
        )


def make_episode_codec(
    store: EpisodeSource,
    config: DiffusionConfig,
    train_config: TrainConfig,
    output: Path,
    *,
    frames: int | None = None,
) -> AnyCodec:
    """The codec of a config, fitted to or trained on a store's training episodes.

    Args:
        store: The episodes.
        config: Of the world that the codec is for.
        train_config: Of a VAE's training.
        output: Its folder.
        frames: Of the segments that a VAE is trained on; see `TrainCodec.frames`.
    """
    from kin4d.world.diffusion.batch import codec_videos
    from kin4d.world.diffusion.latent_cache import episode_videos
    from kin4d.world.diffusion.pca_codec import fit_pca
    from kin4d.world.diffusion.train_vae import VaeSizes, train_vae
    from kin4d.world.episode_observation import random_episodes

    train = store.numbers("train")
    if not train:
        raise InputError("the store has no episodes to train on", value=len(store))
    if config.codec == "pca":
        spread = train[:: max(1, len(train) // _FITTED)][:_FITTED]
        clips = (episode_videos(store.episode(n), config) for n in track(spread, "fitting a codec"))
        return fit_pca(
            (video for one in clips for video in codec_videos(one)), config.latent_channels
        )

    length = frames or config.frames
    if length % 4 != 1 or not 1 <= length <= config.frames:
        raise InputError("frames", value=length, allowed=f"1, 5, 9, ... {config.frames}")

    def make_batches(rank: int, step: int) -> Iterator[VideoBatch]:
        for rng, some in random_episodes(train, 1, train_config.seed + PROCESS_SEED * rank, step):
            start = int(rng.integers(config.frames - length + 1))
            clips = episode_videos(store.episode(some[0]), config)
            yield clips.slice_frames(slice(start, start + length))

    return train_vae(
        make_batches,
        output / "vae",
        train_config=train_config,
        sizes=VaeSizes(width=config.vae_width, channels=config.latent_channels),
        dev=list(islice(make_batches(1, 0), 2)),
    )
