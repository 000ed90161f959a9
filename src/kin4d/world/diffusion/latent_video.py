"""Generator: a codec and a transformer that imagine together; one object to train, save and use."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn

from kin4d.errors import InputError
from kin4d.training.checkpoint import load_tensors, save_tensors
from kin4d.training.loop import unwrapped
from kin4d.training.weights import check_state_dict, read_weights, weights_file
from kin4d.world.diffusion.batch import (
    LatentBatch,
    VideoBatch,
    composite_of,
    condition_of,
    encode_videos,
)
from kin4d.world.diffusion.codec import AnyCodec, codec_facts, codec_from
from kin4d.world.diffusion.conditioning import Condition, fuse, split
from kin4d.world.diffusion.config import DiffusionConfig
from kin4d.world.diffusion.rectified_flow import flow_loss, sample_flow
from kin4d.world.diffusion.transformer import WorldTransformer
from kin4d.world.diffusion.xyz_normalisation import from_unit

MODEL, VERSION = "flow world", 1
"""Kind and layout of the weights; others are refused."""

CODEC_FILE = "codec.safetensors"
"""Beside the weights of a run that has not ended."""

_CHANGED = 0.1  # in [-1, 1]: a pixel that differs by this from the start shows something new


class VideoOutput(NamedTuple):
    """B videos.

    Attributes:
        rgb: [B, T, H, W, 3] uint8.
        xyz: [B, T, H, W, 3] float32 m, camera frame; NaN where nothing is seen.
    """

    rgb: Tensor
    xyz: Tensor


class LatentVideoModel(nn.Module):
    """The generative half of a world model. Only the transformer learns; the codec is done."""

    def __init__(
        self, config: DiffusionConfig, codec: AnyCodec, transformer: WorldTransformer | None = None
    ) -> None:
        super().__init__()
        if codec.channels != config.latent_channels:
            raise InputError(
                "this codec has another number of latent channels than the config",
                value=codec.channels,
                allowed=str(config.latent_channels),
            )
        self.config = config
        self.codec = codec.requires_grad_(False)
        self.transformer = transformer if transformer is not None else WorldTransformer(config)

    def forward(self, noisy: Tensor, times: Tensor, condition: Condition) -> Tensor:
        """The transformer's output; see there."""
        return self.transformer(noisy, times, condition)

    @property
    def device(self) -> torch.device:
        """Where it works; a transformer that is offloaded rests elsewhere, the codec does not."""
        return next(self.codec.parameters()).device

    @torch.no_grad()
    def encode(self, clips: VideoBatch) -> LatentBatch:
        """Clips as latents; worth keeping, for they do not change while the transformer learns."""
        return encode_videos(clips, self.config, self.codec)

    def importance(self) -> Tensor:
        """[1, m C, 1, 1, w']: weight of an error in each latent number."""
        width = self.config.grid[2]
        modalities = [
            self.codec.importance(modality).view(1, -1, 1, 1, 1).expand(-1, -1, -1, -1, width)
            for modality in ("rgb", "xyz")
        ]
        return fuse(modalities[0], modalities[1], self.config)

    @torch.no_grad()
    def imagine(
        self,
        clips: VideoBatch | LatentBatch,
        *,
        steps: int = 4,
        seed: int = 0,
        guidance: float = 1.0,
        progress: Callable[[Any], Any] = lambda steps: steps,
    ) -> VideoOutput:
        """What follows from first frames and robots; what happened is not looked at.

        Args:
            clips: What is known.
            steps: Of the flow; one is regression.
            seed: Another seed is another future.
            guidance: See `kin4d.world.diffusion.rectified_flow.sample`.
            progress: Wraps the iterable of steps.
        """
        encoded = clips if isinstance(clips, LatentBatch) else self.encode(clips)
        kind = self.transformer.proj_out.weight.dtype
        condition = condition_of(encoded, self.config, soft=False).to(self.device, kind)
        latents = sample_flow(
            self,
            condition,
            self.config,
            steps=steps,
            seed=seed,
            guidance=guidance,
            progress=progress,
        )
        start = None
        if isinstance(clips, VideoBatch) and self.config.init == "composite":
            start = composite_of(clips, self.config)
        return self.decode(latents, encoded, start)

    @torch.no_grad()
    def decode(
        self, latents: Tensor, encoded: LatentBatch, start: tuple[Tensor, Tensor] | None = None
    ) -> VideoOutput:
        """Fused latents as videos.

        Args:
            latents: [B, m C, t, h, w'].
            encoded: The clips they belong to.
            start: RGB and XYZ of the composite [B, 3, T, H, W] in [-1, 1]: what the codec loses of
                it is given back wherever nothing has changed.
        """
        videos = []
        known = (encoded.known_rgb, encoded.known_xyz)
        for number, modality in enumerate(("rgb", "xyz")):
            video = self.codec.decode(split(latents, self.config)[number], modality).float()
            if start is not None:
                same = self.codec.decode(known[number], modality).float()
                changed = (video - same).abs().amax(1, keepdim=True) / _CHANGED
                video = video + torch.exp(-changed.square()) * (start[number].to(same) - same)
            videos.append(video)
        colours = ((videos[0] + 1) * 127.5).round().clamp(0, 255).to(torch.uint8)
        points = from_unit(videos[1], encoded.bounds)
        return VideoOutput(colours.movedim(1, -1), points.movedim(1, -1))


def diffusion_loss(
    model: nn.Module, batch: VideoBatch | LatentBatch, done: float
) -> tuple[Tensor, dict[str, Tensor]]:
    """The flow's loss, as `kin4d.training.train` asks for it; `model` may be wrapped."""
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
        "codec": codec_facts(video_model.codec),
    }
    save_tensors(path, video_model.state_dict(), header)


def load_latent_video_model(name: str | Path) -> LatentVideoModel:
    """The generator of a name, ready for use.

    Args:
        name: One that ships ("tiny"), a .safetensors file, a folder of a run, ended or not, or
            "owner/name" on the Hugging Face hub.
    """
    file = weights_file(name, "world")
    tensors, metadata = read_weights(
        file, model=MODEL, version=VERSION, train="kin4d train object-world"
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
    transformer = WorldTransformer(config)
    check_state_dict(transformer.state_dict(), parts["transformer"])
    transformer.load_state_dict(parts["transformer"])
    return LatentVideoModel(config, codec, transformer).requires_grad_(False).eval()
