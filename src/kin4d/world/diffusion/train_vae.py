"""Train a small Wan VAE, and measure the reconstruction error of any codec."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from kin4d.errors import InputError
from kin4d.training import TrainConfig, load_tensors, train
from kin4d.training.weights import FILE
from kin4d.world.diffusion.batch import VideoBatch, codec_videos
from kin4d.world.diffusion.codec import (
    VERSION,
    AnyCodec,
    VaeCodec,
    codec_metadata,
    make_vae,
    save_codec,
)
from kin4d.world.diffusion.xyz_normalisation import find_bounds, from_unit, to_unit

_SCALE_BATCHES = 8  # batches that the scale of latents is measured on


@dataclass(frozen=True, kw_only=True)
class VaeSizes:
    """Sizes and loss of a VAE to train.

    Attributes:
        width: Channels of its first layer; the published one has 96.
        channels: Channels of a latent cell.
        divergence: Weight of the KL divergence per latent number, against the pixel error.
    """

    width: int = 16
    channels: int = 16
    divergence: float = 1e-5


class Autoencoder(nn.Module):
    """A VAE in training; its parameters have the same names as in a `VaeCodec`."""

    def __init__(self, vae: Any) -> None:
        super().__init__()
        self.vae = vae

    def forward(self, video: Tensor) -> tuple[Tensor, Tensor]:
        """Reconstruction of [B, 3, T, H, W], and the KL divergence per latent channel."""
        posterior = self.vae.encode(video).latent_dist
        reconstructed = self.vae.decode(posterior.sample()).sample
        return reconstructed, posterior.kl().sum() / posterior.mean.numel()


def train_vae(
    make_batches: Callable[[int, int], Iterator[VideoBatch]],
    output: str | Path,
    *,
    train_config: TrainConfig,
    sizes: VaeSizes | None = None,
    dev: Iterable[VideoBatch] = (),
    data: dict | None = None,
) -> VaeCodec:
    """Train a VAE on colours and pointmaps, resuming from the checkpoint in `output` if any.

    Args:
        make_batches: (process index, step) -> that process's batches from that step on.
        output: Folder of the run; ``weights.safetensors`` in it is read by `load_codec`.
        train_config: Schedule and optimiser.
        sizes: Of the VAE.
        dev: Held-out videos; see `measure_codec`.
        data: Description of the training data, kept with the weights.
    """
    sizes = sizes or VaeSizes()
    torch.manual_seed(train_config.seed)
    model = Autoencoder(make_vae(width=sizes.width, channels=sizes.channels))
    held_out = list(dev)
    metadata = {
        "model": "codec",
        "version": VERSION,
        "codec": {**codec_metadata(VaeCodec(model.vae)), "divergence": sizes.divergence},
        "data": data or {},
    }
    model.requires_grad_(True).train()
    trained = train(
        model,
        make_batches,
        partial(vae_loss, divergence=sizes.divergence),
        train_config,
        output,
        metadata=metadata,
        validate=partial(_validate, batches=held_out) if held_out else None,
    )
    model.load_state_dict(trained)
    codec = scaled_codec(model.vae, islice(make_batches(0, 0), _SCALE_BATCHES))
    file = Path(output) / FILE
    save_codec(file, codec, load_tensors(file)[1])
    return codec


def vae_loss(
    model: nn.Module, clips: VideoBatch, done: float, *, divergence: float
) -> tuple[Tensor, dict[str, Tensor]]:
    """Mean absolute error of pixels, and KL divergence."""
    pairs = list(codec_videos(clips))
    video = torch.cat([pairs[0][0], pairs[0][1]])
    video = video.to(next(model.parameters()).device)
    reconstructed, kl = model(video)
    errors = (reconstructed - video).abs().flatten(1).mean(1)
    rgb, xyz = errors.chunk(2)
    logs = {"rgb": rgb.mean(), "xyz": xyz.mean(), "kl": kl}
    return errors.mean() + divergence * kl, logs


@torch.no_grad()
def scaled_codec(vae: Any, batches: Iterable[VideoBatch]) -> VaeCodec:
    """A codec of a VAE whose latents are scaled to unit variance on some videos."""
    vae.requires_grad_(False).eval()
    colours, points = [], []
    for clips in batches:
        for rgb, xyz in codec_videos(clips):
            for kept, video in ((colours, rgb), (points, xyz)):
                latents = vae.encode(video.to(vae.device)).latent_dist.mode()
                kept.append(latents.transpose(0, 1).flatten(1).cpu())
    if not colours:
        raise InputError("no videos to measure latents on")
    rgb, xyz = torch.cat(colours, 1), torch.cat(points, 1)
    mean, std = rgb.mean(1), rgb.std(1).clamp(min=1e-4)
    vae.register_to_config(latents_mean=mean.tolist(), latents_std=std.tolist())
    scaled = (xyz - mean[:, None]) / std[:, None]
    return VaeCodec(vae, (float(scaled.mean()), max(float(scaled.std()), 1e-4)))


def measure_codec(codec: AnyCodec, batches: Iterable[VideoBatch]) -> dict[str, float]:
    """Reconstruction error of a codec.

    Returns:
        psnr: dB of colours.
        metres: Mean distance of points, within the bounds of their video.
        flipped: Share of pixels whose point becomes unknown, or known.
    """
    squared, total_distance, flipped, pixels, points = 0.0, 0.0, 0.0, 0, 0
    device = next(codec.parameters()).device
    for clips in batches:
        video, _ = next(codec_videos(clips))
        reconstructed = codec.decode(codec.encode(video.to(device), "rgb"), "rgb").float().cpu()
        squared += float((reconstructed - video).square().sum()) / 4
        pixels += video.numel()
        metric = torch.as_tensor(clips.xyz).float().movedim(-1, 1)
        first, robot = (
            torch.as_tensor(value).float().movedim(-1, 1)
            for value in (clips.first_xyz, clips.robot_xyz)
        )
        bounds = find_bounds(first, robot)
        unit = to_unit(metric, bounds)
        truth = from_unit(unit, bounds)
        decoded = codec.decode(codec.encode(unit.to(device), "xyz"), "xyz").float().cpu()
        distance = (from_unit(decoded, bounds) - truth).norm(dim=1)
        both = distance.isfinite()
        total_distance, points = (
            total_distance + float(distance[both].sum()),
            points + int(both.sum()),
        )
        flipped += float(from_unit(decoded, bounds)[:, 0].isnan().ne(truth[:, 0].isnan()).sum()) * 3
    if not pixels:
        raise InputError("no videos to measure a codec on")
    mean = max(squared / pixels, 1e-10)
    return {
        "psnr": float(-10 * torch.tensor(mean).log10()),
        "metres": total_distance / max(points, 1),
        "flipped": flipped / pixels,
    }


def _validate(model: Autoencoder, batches: list[VideoBatch]) -> dict[str, float]:
    errors = measure_codec(VaeCodec(model.vae), batches)
    model.vae.requires_grad_(True)
    return errors
