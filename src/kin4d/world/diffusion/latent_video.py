"""LatentVideoModel: a codec and a transformer, as one network to train, save, load and sample."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn

from kin4d.errors import InputError
from kin4d.reading import reading
from kin4d.training.build import build_from_weights
from kin4d.training.checkpoint import load_tensors, save_tensors
from kin4d.training.loop import unwrapped
from kin4d.training.weights import read_weights, weights_file
from kin4d.world.diffusion.batch import (
    LatentBatch,
    VideoBatch,
    composite_of,
    condition_of,
    encode_videos,
)
from kin4d.world.diffusion.codec import AnyCodec, codec_from, codec_metadata
from kin4d.world.diffusion.conditioning import Condition, fuse, split
from kin4d.world.diffusion.config import DiffusionConfig
from kin4d.world.diffusion.rectified_flow import flow_loss, sample_flow
from kin4d.world.diffusion.transformer import WorldTransformer
from kin4d.world.diffusion.xyz_normalisation import from_unit

MODEL, VERSION = "flow world", 1
"""Model name and format version in the metadata of weights."""

CODEC_FILE = "codec.safetensors"
"""File of the codec in the folder of an unfinished run."""

_CHANGED = 0.1  # difference of values in [-1, 1] from the composite, at which pixels have changed


class VideoOutput(NamedTuple):
    """B videos.

    Attributes:
        rgb: [B, T, H, W, 3] uint8.
        xyz: [B, T, H, W, 3] float32 m, camera frame; NaN where nothing is seen.
    """

    rgb: Tensor
    xyz: Tensor


class LatentVideoModel(nn.Module):
    """Predicts latents of videos; the transformer is trained, the codec is fixed."""

    def __init__(
        self, config: DiffusionConfig, codec: AnyCodec, transformer: WorldTransformer | None = None
    ) -> None:
        super().__init__()
        if codec.channels != config.latent_channels:
            raise InputError(
                "latent channels of the codec differ from those of the config",
                value=codec.channels,
                allowed=str(config.latent_channels),
            )
        self.config = config
        self.codec = codec.requires_grad_(False)
        self.transformer = transformer if transformer is not None else WorldTransformer(config)

    def forward(self, noisy: Tensor, times: Tensor, condition: Condition) -> Tensor:
        """See `WorldTransformer.forward`."""
        return self.transformer(noisy, times, condition)

    @property
    def device(self) -> torch.device:
        """The device of its inputs, which is the codec's: an offloaded transformer is elsewhere."""
        return next(self.codec.parameters()).device

    @torch.no_grad()
    def encode(self, videos: VideoBatch) -> LatentBatch:
        """Latents of videos. The codec is fixed, so they can be kept (`LatentCache`)."""
        return encode_videos(videos, self.config, self.codec)

    def importance(self) -> Tensor:
        """[1, m C, 1, 1, w']: weight of the squared error of each latent channel."""
        width = self.config.grid[2]
        modalities = [
            self.codec.importance(modality).view(1, -1, 1, 1, 1).expand(-1, -1, -1, -1, width)
            for modality in ("rgb", "xyz")
        ]
        return fuse(modalities[0], modalities[1], self.config)

    @torch.no_grad()
    def imagine(
        self,
        videos: VideoBatch | LatentBatch,
        *,
        steps: int = 4,
        seed: int = 0,
        guidance: float = 1.0,
        progress: Callable[[Any], Any] = lambda steps: steps,
    ) -> VideoOutput:
        """Predict videos from first frames and robots; true videos in the batch are not used.

        Args:
            videos: The batch.
            steps: Sampling steps; one is plain regression.
            seed: Seed of the noise.
            guidance: Guidance scale; see `kin4d.world.diffusion.rectified_flow.sample_flow`.
            progress: Wraps the iterable of steps.
        """
        encoded = videos if isinstance(videos, LatentBatch) else self.encode(videos)
        dtype = self.transformer.proj_out.weight.dtype
        condition = condition_of(encoded, self.config, soft=False).to(self.device, dtype)
        latents = sample_flow(
            self,
            condition,
            self.config,
            steps=steps,
            seed=seed,
            guidance=guidance,
            progress=progress,
        )
        composite = None
        if isinstance(videos, VideoBatch) and self.config.init == "composite":
            composite = composite_of(videos, self.config)
        return self.decode(latents, encoded, composite)

    @torch.no_grad()
    def decode(
        self, latents: Tensor, encoded: LatentBatch, composite: tuple[Tensor, Tensor] | None = None
    ) -> VideoOutput:
        """Decode fused latents.

        Args:
            latents: [B, m C, t, h, w'].
            encoded: The batch they belong to.
            composite: RGB and XYZ of the composite [B, 3, T, H, W] in [-1, 1]: where nothing has
                changed, the codec's error on it is subtracted.
        """
        decoded = []
        known = (encoded.known_rgb, encoded.known_xyz)
        for number, modality in enumerate(("rgb", "xyz")):
            video = self.codec.decode(split(latents, self.config)[number], modality).float()
            if composite is not None:
                before = self.codec.decode(known[number], modality).float()
                changed = (video - before).abs().amax(1, keepdim=True) / _CHANGED
                lost = composite[number].to(before) - before
                video = video + torch.exp(-changed.square()) * lost
            decoded.append(video)
        colours = ((decoded[0] + 1) * 127.5).round().clamp(0, 255).to(torch.uint8)
        points = from_unit(decoded[1], encoded.bounds)
        return VideoOutput(colours.movedim(1, -1), points.movedim(1, -1))


def diffusion_loss(
    model: nn.Module, batch: VideoBatch | LatentBatch, done: float
) -> tuple[Tensor, dict[str, Tensor]]:
    """The loss for `kin4d.training.train`; see `flow_loss`."""
    video_model = unwrapped(model)
    assert isinstance(video_model, LatentVideoModel)
    encoded = batch if isinstance(batch, LatentBatch) else video_model.encode(batch)
    return flow_loss(
        model, encoded.to(video_model.device), video_model.config, video_model.importance()
    )


def save_latent_video_model(
    path: str | Path, video_model: LatentVideoModel, metadata: dict
) -> None:
    """Write weights, codec included, that `load_latent_video_model` reads."""
    header = {
        **metadata,
        "model": MODEL,
        "version": VERSION,
        "config": video_model.config.to_dict(),
        "codec": codec_metadata(video_model.codec),
    }
    save_tensors(path, video_model.state_dict(), header)


def load_latent_video_model(name: str | Path) -> LatentVideoModel:
    """Load a model in evaluation mode.

    Args:
        name: One that ships ("tiny"), a .safetensors file, a folder of a run, finished or not, or
            "owner/name" on the Hugging Face hub.
    """
    file = weights_file(name, "world")
    with reading(file, "file of weights"):
        return _load(file)


def _load(file: Path) -> LatentVideoModel:
    tensors, metadata = read_weights(
        file, model=MODEL, version=VERSION, train="kin4d train diffusion"
    )
    config = DiffusionConfig.from_dict(metadata["config"])
    # Earlier weights call the condition encoder "teller".
    tensors = {k.replace("r.teller.", "r.condition_encoder.", 1): v for k, v in tensors.items()}
    parts = {
        part: {k[len(part) + 1 :]: v for k, v in tensors.items() if k.startswith(f"{part}.")}
        for part in ("codec", "transformer")
    }
    if not parts["codec"]:
        parts["codec"], _ = load_tensors(file.parent / CODEC_FILE)
    codec = codec_from(metadata["codec"], parts["codec"])
    transformer = build_from_weights(lambda: WorldTransformer(config), parts["transformer"])
    return LatentVideoModel(config, codec, transformer).requires_grad_(False).eval()
