"""Codecs: videos to latents and back, behind one interface."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Protocol

import torch
from torch import Tensor, nn

from kin4d.extras import require
from kin4d.training.build import build_from_weights
from kin4d.training.checkpoint import save_tensors
from kin4d.training.weights import read_weights
from kin4d.world.diffusion.config import DiffusionConfig, Modality
from kin4d.world.diffusion.pca_codec import PcaCodec as PcaCodec
from kin4d.world.diffusion.pca_codec import fit_pca as fit_pca

VERSION = 1
"""Format version of codec files."""

POINTMAP_MEAN, POINTMAP_STD = -0.17, 1.36
"""Of the VAE's normalised latents of pointmaps: mean and standard deviation of published models."""


class VideoCodec(Protocol):
    """Encodes videos as latents of cells, 4 frames by 8 x 8 px; the first frame has its own."""

    def encode(self, video: Tensor, modality: Modality) -> Tensor:
        """[B, 3, T, H, W] in [-1, 1] to [B, C, 1 + (T - 1) / 4, H / 8, W / 8], about unit size."""
        ...

    def decode(self, latents: Tensor, modality: Modality) -> Tensor:
        """Inverse of `encode`, within [-1, 1]."""
        ...

    def importance(self, modality: Modality) -> Tensor:
        """[C]: weight of the squared error of each channel, with mean 1."""
        ...


class VaeCodec(nn.Module):
    """AutoencoderKLWan for both modalities; latents of pointmaps have a further normalisation.

    Args:
        vae: A trained VAE, with mean and standard deviation of its latents in its config.
        pointmap: Mean and standard deviation of the normalised latents of pointmaps.
    """

    vae: Any

    def __init__(
        self, vae: Any, pointmap: tuple[float, float] = (POINTMAP_MEAN, POINTMAP_STD)
    ) -> None:
        super().__init__()
        self.vae = vae.requires_grad_(False).eval()
        self.pointmap = pointmap
        self.channels = int(vae.config.z_dim)

    def train(self, mode: bool = True) -> VaeCodec:
        """No effect: a codec is fixed."""
        return super().train(False)

    def encode(self, video: Tensor, modality: Modality) -> Tensor:
        with torch.no_grad():
            latents = self.vae.encode(video.to(self.vae.dtype)).latent_dist.mode()
        mean, std = self._moments(latents)
        latents = (latents - mean) / std
        if modality == "xyz":
            latents = (latents - self.pointmap[0]) / self.pointmap[1]
        return latents

    def decode(self, latents: Tensor, modality: Modality) -> Tensor:
        if modality == "xyz":
            latents = latents * self.pointmap[1] + self.pointmap[0]
        latents = latents.to(self.vae.dtype)
        mean, std = self._moments(latents)
        with torch.no_grad():
            return self.vae.decode(latents * std + mean).sample

    def importance(self, modality: Modality) -> Tensor:
        """Equal weights."""
        return torch.ones(self.channels, device=self.vae.device)

    def _moments(self, like: Tensor) -> tuple[Tensor, Tensor]:
        config = self.vae.config
        mean, std = (like.new_tensor(v) for v in (config.latents_mean, config.latents_std))
        return mean.view(1, -1, 1, 1, 1), std.view(1, -1, 1, 1, 1)


AnyCodec = PcaCodec | VaeCodec


def make_codec(config: DiffusionConfig) -> AnyCodec:
    """An untrained codec of a config."""
    if config.codec == "pca":
        return PcaCodec(config.latent_channels)
    return VaeCodec(make_vae(width=config.vae_width, channels=config.latent_channels))


def make_vae(*, width: int, channels: int) -> Any:
    """An untrained AutoencoderKLWan, whose latents are not normalised."""
    wan = require("diffusers", extra="world", purpose="the Wan VAE")
    return wan.AutoencoderKLWan(
        base_dim=width,
        z_dim=channels,
        latents_mean=[0.0] * channels,
        latents_std=[1.0] * channels,
    )


def codec_metadata(codec: AnyCodec) -> dict:
    """Type and config of a codec, which `codec_from` takes."""
    if isinstance(codec, PcaCodec):
        return {"form": "pca", "channels": codec.channels}
    own = {k: v for k, v in dict(codec.vae.config).items() if not k.startswith("_")}
    return {"form": "vae", "channels": codec.channels, "vae": own, "pointmap": codec.pointmap}


def save_codec(path: str | Path, codec: AnyCodec, metadata: dict | None = None) -> None:
    """Write a codec that `load_codec` reads."""
    header = {
        **(metadata or {}),
        "model": "codec",
        "version": VERSION,
        "codec": codec_metadata(codec),
    }
    save_tensors(path, codec.state_dict(), header)


def load_codec(path: str | Path) -> AnyCodec:
    """Load a codec that `save_codec` wrote."""
    tensors, metadata = read_weights(
        path, model="codec", version=VERSION, train="kin4d train codec"
    )
    return codec_from(metadata["codec"], tensors)


def codec_from(metadata: dict, tensors: dict[str, Tensor]) -> AnyCodec:
    """The codec of `codec_metadata` and a state dict."""
    if metadata["form"] == "pca":
        return build_from_weights(lambda: PcaCodec(metadata["channels"]), tensors)
    wan = require("diffusers", extra="world", purpose="the Wan VAE")
    vae, pointmap = metadata["vae"], tuple(metadata["pointmap"])
    return build_from_weights(lambda: VaeCodec(wan.AutoencoderKLWan(**vae), pointmap), tensors)
