"""Training of a diffusion world model: presets, and validation in pixels and metres."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from functools import partial
from pathlib import Path

import torch
from torch import Tensor

from kin4d.errors import InputError
from kin4d.training import TrainConfig, load_tensors, train
from kin4d.training.weights import FILE
from kin4d.world.diffusion.batch import LatentBatch, VideoBatch, composite_of
from kin4d.world.diffusion.codec import AnyCodec, codec_metadata, save_codec
from kin4d.world.diffusion.conditioning import fuse
from kin4d.world.diffusion.config import PRESETS, DiffusionConfig
from kin4d.world.diffusion.latent_video import (
    CODEC_FILE,
    MODEL,
    VERSION,
    LatentVideoModel,
    diffusion_loss,
    load_latent_video_model,
    save_latent_video_model,
)

TRAIN_CONFIGS = {
    "tiny": TrainConfig(steps=20_000),
    "small": TrainConfig(steps=100_000, lr=5e-4, warmup_steps=500),
    "wan14b": TrainConfig(
        steps=5_000,
        lr=2e-5,
        warmup_steps=100,
        decay=0.0,
        weight_decay=1e-4,
        ema_decay=0.0,
        precision="bf16",
    ),
}
"""Schedule of each preset; that of "wan14b" is the paper's, for LoRA on a cluster."""


def train_diffusion(
    make_batches: Callable[[int, int], Iterator[VideoBatch | LatentBatch]],
    output: str | Path,
    *,
    codec: AnyCodec,
    preset: str = "tiny",
    config: DiffusionConfig | None = None,
    train_config: TrainConfig | None = None,
    dev: Iterable[VideoBatch] = (),
    init_weights: str | Path | None = None,
    data: dict | None = None,
) -> LatentVideoModel:
    """Train a model, resuming from the checkpoint in `output` if there is one.

    Args:
        make_batches: (process index, step) -> that process's batches from that step on; latents
            (`LatentCache`) save encoding them in every step.
        output: Folder of the run.
        codec: Fitted or trained before; see `fit_pca` and `train_vae`.
        preset: "tiny", "small" or "wan14b".
        config: Sizes and options, instead of the preset's.
        train_config: Schedule and optimiser, instead of the preset's.
        dev: Held-out videos that checkpoints are validated on.
        init_weights: Initial weights, with a new schedule; random if None.
        data: Description of the training data, kept with the weights.
    """
    if preset not in PRESETS:
        raise InputError("there is no such preset", value=preset, allowed=", ".join(PRESETS))
    config, train_config = config or PRESETS[preset], train_config or TRAIN_CONFIGS[preset]
    torch.manual_seed(train_config.seed)
    video_model = LatentVideoModel(config, codec)
    if init_weights is not None:
        before = load_latent_video_model(init_weights)
        if before.config != config:
            raise InputError(
                f"the config of {init_weights} differs from that to train",
                value=before.config.to_dict(),
                allowed=str(config.to_dict()),
            )
        video_model.transformer.load_state_dict(before.transformer.state_dict())
    save_codec(Path(output) / CODEC_FILE, codec)
    held_out = list(dev)
    trained = train(
        video_model,
        make_batches,
        diffusion_loss,
        train_config,
        output,
        metadata={
            "model": MODEL,
            "version": VERSION,
            "config": config.to_dict(),
            "codec": codec_metadata(codec),
            "data": data or {},
            **({} if init_weights is None else {"init_weights": Path(init_weights).stem}),
        },
        validate=partial(evaluate_diffusion, batches=held_out) if held_out else None,
    )
    video_model.load_state_dict(trained, strict=False)
    video_model.eval()
    file = Path(output) / FILE
    save_latent_video_model(file, video_model, load_tensors(file)[1])
    return video_model


def evaluate_diffusion(
    video_model: LatentVideoModel, batches: Iterable[VideoBatch], *, steps: int = 1
) -> dict[str, float]:
    """Errors of predicted videos over all frames but the first, and of the condition unchanged.

    Returns:
        psnr, still_psnr: dB of the prediction, and of the condition (first frame or composite).
        moving_psnr, still_moving_psnr: the same where the loss weight of a pixel is above 1.
        metres, still_metres: mean distance of points where both are known.
    """
    sums: dict[str, Tensor] = {}
    for videos in batches:
        if videos.rgb is None or videos.xyz is None:
            raise InputError("validation videos need the true rgb and xyz")
        encoded = video_model.encode(videos)
        rgb, xyz = (torch.as_tensor(value)[:, 1:] for value in (videos.rgb, videos.xyz))
        moving = (
            None if videos.loss_weight is None else torch.as_tensor(videos.loss_weight)[:, 1:] > 1
        )
        config = video_model.config
        known = fuse(encoded.known_rgb, encoded.known_xyz, config)
        composite = composite_of(videos, config) if config.init == "composite" else None
        for name, video in (
            ("", video_model.imagine(videos, steps=steps)),
            ("still_", video_model.decode(known, encoded, composite)),
        ):
            squared = (video.rgb[:, 1:].cpu().float() - rgb.float()).square().mean(-1) / 255**2
            distance = (video.xyz[:, 1:].cpu() - xyz).norm(dim=-1)
            rows = {"psnr": squared.flatten(), "metres": distance[distance.isfinite()]}
            if moving is not None:
                rows["moving_psnr"] = squared[moving]
            for row, values in rows.items():
                total = torch.stack([values.double().sum(), torch.tensor(float(values.numel()))])
                sums[name + row] = sums.get(name + row, torch.zeros(2)) + total
    means = {name: float(total / max(float(count), 1.0)) for name, (total, count) in sums.items()}
    return {
        name: value if name.endswith("metres") else -10 * _log10(value)
        for name, value in means.items()
    }


def _log10(value: float) -> float:
    return float(torch.tensor(max(value, 1e-10), dtype=torch.float64).log10())
