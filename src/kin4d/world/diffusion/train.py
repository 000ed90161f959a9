"""Training a world model's generator: presets, checkpoints judged in pixels and metres."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
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

PLANS = {
    "tiny": TrainConfig(steps=20_000),
    "small": TrainConfig(steps=100_000, rate=5e-4, warm=500),
    "wan14b": TrainConfig(
        steps=5_000,
        rate=2e-5,
        warm=100,
        decay=0.0,
        weight_decay=1e-4,
        average=0.0,
        precision="bf16",
    ),
}
"""How each preset is trained; that of "wan14b" is the paper's, and meant for LoRA on a cluster."""


def train_diffusion(
    feed: Callable[[int, int], Iterator[VideoBatch | LatentBatch]],
    out: str | Path,
    *,
    codec: AnyCodec,
    preset: str = "tiny",
    config: DiffusionConfig | None = None,
    plan: TrainConfig | None = None,
    dev: Iterable[VideoBatch] = (),
    start: str | Path | None = None,
    data: dict | None = None,
) -> LatentVideoModel:
    """Train a generator, going on from the checkpoint in `out` if there is one.

    Args:
        feed: Number of a process and of a step, to its clips from that step on; clips encoded
            once by `Generator.encode` with the same config and codec save that work.
        out: Folder of the run.
        codec: Fitted or trained before; see `fit_pca` and `train_vae`.
        preset: "tiny", "small" or "wan14b".
        config: Instead of the preset's.
        plan: Instead of the preset's.
        dev: Held-out clips that checkpoints are judged by.
        start: Weights to begin from, with a new schedule, instead of chance.
        data: What `feed` was made of, kept with the weights.
    """
    if preset not in PRESETS:
        raise InputError("there is no such preset", value=preset, allowed=", ".join(PRESETS))
    config, plan = config or PRESETS[preset], plan or PLANS[preset]
    torch.manual_seed(plan.seed)
    generator = LatentVideoModel(config, codec)
    if start is not None:
        before = load_latent_video_model(start)
        if before.config != config:
            raise InputError(
                f"{start} has another config", value=before.config.to_dict(), allowed=str(config)
            )
        generator.transformer.load_state_dict(before.transformer.state_dict())
    save_codec(Path(out) / CODEC_FILE, codec)
    held_out = list(dev)
    trained = train(
        generator,
        feed,
        diffusion_loss,
        plan,
        out,
        about={
            "model": MODEL,
            "version": VERSION,
            "config": config.to_dict(),
            "codec": codec_facts(codec),
            "data": data or {},
            **({} if start is None else {"start": Path(start).stem}),
        },
        validate=partial(evaluate_diffusion, batches=held_out) if held_out else None,
    )
    generator.load_state_dict(trained, strict=False)
    generator.eval()
    file = Path(out) / FILE
    save_latent_video_model(file, generator, load_tensors(file)[1])
    return generator


def evaluate_diffusion(
    generator: LatentVideoModel, batches: Iterable[VideoBatch], *, steps: int = 1
) -> dict[str, float]:
    """How well futures are imagined, beside leaving the start as it is.

    Returns:
        psnr: dB over all frames but the first; still_psnr: that of the model's own start.
        moving_psnr, still_moving_psnr: the same where clips say that something moves.
        metres, still_metres: mean distance of points where both are seen, all frames but the first.
    """
    sums: dict[str, Tensor] = {}
    for clips in batches:
        if clips.rgb is None or clips.xyz is None:
            raise InputError("clips to judge by must say what happened")
        encoded = generator.encode(clips)
        rgb, xyz = (torch.as_tensor(value)[:, 1:] for value in (clips.rgb, clips.xyz))
        moves = None if clips.moves is None else torch.as_tensor(clips.moves)[:, 1:] > 1
        config = generator.config
        known = fuse(encoded.known_rgb, encoded.known_xyz, config)
        start = composite_of(clips, config) if config.start == "composite" else None
        for name, video in (
            ("", generator.imagine(clips, steps=steps)),
            ("still_", generator.decode(known, encoded, start)),
        ):
            wrong = (video.rgb[:, 1:].cpu().float() - rgb.float()).square().mean(-1) / 255**2
            apart = (video.xyz[:, 1:].cpu() - xyz).norm(dim=-1)
            rows = {"psnr": wrong.flatten(), "metres": apart[apart.isfinite()]}
            if moves is not None:
                rows["moving_psnr"] = wrong[moves]
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


def diffusion_train_config(preset: str, **changes: float | int | str | None) -> TrainConfig:
    """The plan of a preset, with what is not None changed."""
    if preset not in PLANS:
        raise InputError("there is no such preset", value=preset, allowed=", ".join(PLANS))
    given = {name: value for name, value in changes.items() if value is not None}
    return replace(PLANS[preset], **given)
