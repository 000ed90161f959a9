"""Training a small Wan VAE, and what any codec loses, in decibels and metres."""

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
from kin4d.world.diffusion.batch import VideoBatch, videos_of
from kin4d.world.diffusion.codec import (
    VERSION,
    AnyCodec,
    VaeCodec,
    codec_facts,
    make_vae,
    save_codec,
)
from kin4d.world.diffusion.xyz_normalisation import find_bounds, from_unit, to_unit

_MEASURED = 8  # batches that tell how large latents are


@dataclass(frozen=True, kw_only=True)
class VaeSizes:
    """Of a VAE to train.

    Attributes:
        width: Channels of its first layer; the published one has 96.
        channels: Numbers per cell.
        divergence: Weight of the KL divergence per latent number, against the mean error of pixels.
    """

    width: int = 16
    channels: int = 16
    divergence: float = 1e-5


class Autoencoder(nn.Module):
    """A VAE in training; its weights have the names they have in a `VaeCodec`."""

    def __init__(self, vae: Any) -> None:
        super().__init__()
        self.vae = vae

    def forward(self, video: Tensor) -> tuple[Tensor, Tensor]:
        """[B, 3, T, H, W] to itself, and the KL divergence per latent number."""
        posterior = self.vae.encode(video).latent_dist
        again = self.vae.decode(posterior.sample()).sample
        return again, posterior.kl().sum() / posterior.mean.numel()


def train_vae(
    make_batches: Callable[[int, int], Iterator[VideoBatch]],
    output: str | Path,
    *,
    train_config: TrainConfig,
    sizes: VaeSizes | None = None,
    dev: Iterable[VideoBatch] = (),
    data: dict | None = None,
) -> VaeCodec:
    """Train a VAE on colours and pointmaps alike, going on from the checkpoint in `output` if any.

    Args:
        make_batches: Number of a process and of a step, to its clips from that step on.
        output: Folder of the run; ``weights.safetensors`` in it is read by `load_codec`.
        train_config: How.
        sizes: Of the VAE.
        dev: Held-out clips; see `measure_codec`.
        data: What `make_batches` was made of, kept with the weights.
    """
    sizes = sizes or VaeSizes()
    torch.manual_seed(train_config.seed)
    model = Autoencoder(make_vae(width=sizes.width, channels=sizes.channels))
    held_out = list(dev)
    metadata = {
        "model": "codec",
        "version": VERSION,
        "codec": {**codec_facts(VaeCodec(model.vae)), "divergence": sizes.divergence},
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
    codec = scaled_codec(model.vae, islice(make_batches(0, 0), _MEASURED))
    file = Path(output) / FILE
    save_codec(file, codec, load_tensors(file)[1])
    return codec


def vae_loss(
    model: nn.Module, clips: VideoBatch, done: float, *, divergence: float
) -> tuple[Tensor, dict[str, Tensor]]:
    """Mean absolute error of pixels and a little divergence."""
    pairs = list(videos_of(clips))
    video = torch.cat([pairs[0][0], pairs[0][1]])
    video = video.to(next(model.parameters()).device)
    again, kl = model(video)
    errors = (again - video).abs().flatten(1).mean(1)
    rgb, xyz = errors.chunk(2)
    logs = {"rgb": rgb.mean(), "xyz": xyz.mean(), "kl": kl}
    return errors.mean() + divergence * kl, logs


@torch.no_grad()
def scaled_codec(vae: Any, batches: Iterable[VideoBatch]) -> VaeCodec:
    """A codec of a VAE whose latents are scaled to unit size, as measured on clips."""
    vae.requires_grad_(False).eval()
    colours, points = [], []
    for clips in batches:
        for rgb, xyz in videos_of(clips):
            for kept, video in ((colours, rgb), (points, xyz)):
                latents = vae.encode(video.to(vae.device)).latent_dist.mode()
                kept.append(latents.transpose(0, 1).flatten(1).cpu())
    if not colours:
        raise InputError("no clips to measure latents on")
    rgb, xyz = torch.cat(colours, 1), torch.cat(points, 1)
    mean, std = rgb.mean(1), rgb.std(1).clamp(min=1e-4)
    vae.register_to_config(latents_mean=mean.tolist(), latents_std=std.tolist())
    scaled = (xyz - mean[:, None]) / std[:, None]
    return VaeCodec(vae, (float(scaled.mean()), max(float(scaled.std()), 1e-4)))


def measure_codec(codec: AnyCodec, batches: Iterable[VideoBatch]) -> dict[str, float]:
    """What clips lose on the way through a codec.

    Returns:
        psnr: dB of colours.
        metres: Mean distance of a point from where it was, within the clip's bounds.
        flipped: Share of pixels whose geometry was seen and is not any more, or the reverse.
    """
    wrong, apart, flipped, pixels, points = 0.0, 0.0, 0.0, 0, 0
    device = next(codec.parameters()).device
    for clips in batches:
        video, _ = next(videos_of(clips))
        again = codec.decode(codec.encode(video.to(device), "rgb"), "rgb").float().cpu()
        wrong += float((again - video).square().sum()) / 4
        pixels += video.numel()
        metric = torch.as_tensor(clips.xyz).float().movedim(-1, 1)
        first, robot = (
            torch.as_tensor(value).float().movedim(-1, 1)
            for value in (clips.first_xyz, clips.robot_xyz)
        )
        bounds = find_bounds(first, robot)
        unit = to_unit(metric, bounds)
        truth = from_unit(unit, bounds)
        back = codec.decode(codec.encode(unit.to(device), "xyz"), "xyz").float().cpu()
        distance = (from_unit(back, bounds) - truth).norm(dim=1)
        both = distance.isfinite()
        apart, points = apart + float(distance[both].sum()), points + int(both.sum())
        flipped += float(from_unit(back, bounds)[:, 0].isnan().ne(truth[:, 0].isnan()).sum()) * 3
    if not pixels:
        raise InputError("no clips to measure a codec on")
    mean = max(wrong / pixels, 1e-10)
    return {
        "psnr": float(-10 * torch.tensor(mean).log10()),
        "metres": apart / max(points, 1),
        "flipped": flipped / pixels,
    }


def _validate(model: Autoencoder, batches: list[VideoBatch]) -> dict[str, float]:
    found = measure_codec(VaeCodec(model.vae), batches)
    model.vae.requires_grad_(True)
    return found
