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
from kin4d.world.diffusion.codec import AnyCodec, codec_facts, save_codec
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
"""How each preset is trained; that of "wan14b" is the paper's, and meant for LoRA on a cluster."""


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
    """Train a generator, going on from the checkpoint in `output` if there is one.

    Args:
        make_batches: (process index, step) -> that process's clips from that step on; clips encoded
            once by `LatentVideoModel.encode` with the same config and codec save that work.
        output: Folder of the run.
        codec: Fitted or trained before; see `fit_pca` and `train_vae`.
        preset: "tiny", "small" or "wan14b".
        config: Instead of the preset's.
        train_config: Instead of the preset's.
        dev: Held-out clips that checkpoints are validated on.
        init_weights: Initial weights, with a new schedule; random if None.
        data: What `make_batches` was made of, kept with the weights.
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
                f"{init_weights} has another config",
                value=before.config.to_dict(),
                allowed=str(config),
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
            "codec": codec_facts(codec),
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
    """Error of imagined clips, beside that of the unchanged initial state.

    Returns:
        psnr: dB over all frames but the first; still_psnr: that of the model's own start.
        moving_psnr, still_moving_psnr: the same where clips say that something moves.
        metres, still_metres: mean distance of points where both are seen, all frames but the first.
    """
    sums: dict[str, Tensor] = {}
    for clips in batches:
        if clips.rgb is None or clips.xyz is None:
            raise InputError("validation clips need the true rgb and xyz")
        encoded = video_model.encode(clips)
        rgb, xyz = (torch.as_tensor(value)[:, 1:] for value in (clips.rgb, clips.xyz))
        moving = (
            None if clips.loss_weight is None else torch.as_tensor(clips.loss_weight)[:, 1:] > 1
        )
        config = video_model.config
        known = fuse(encoded.known_rgb, encoded.known_xyz, config)
        start = composite_of(clips, config) if config.init == "composite" else None
        for name, video in (
            ("", video_model.imagine(clips, steps=steps)),
            ("still_", video_model.decode(known, encoded, start)),
        ):
            wrong = (video.rgb[:, 1:].cpu().float() - rgb.float()).square().mean(-1) / 255**2
            apart = (video.xyz[:, 1:].cpu() - xyz).norm(dim=-1)
            rows = {"psnr": wrong.flatten(), "metres": apart[apart.isfinite()]}
            if moving is not None:
                rows["moving_psnr"] = wrong[moving]
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
