"""LoRA: fine-tune a large transformer by low-rank adapters, in the files of published ones."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from kin4d.errors import InputError
from kin4d.extras import require
from kin4d.files import atomic_path, existing_file
from kin4d.training import TrainConfig, train
from kin4d.world.diffusion.batch import LatentBatch, VideoBatch
from kin4d.world.diffusion.latent_video import VERSION, LatentVideoModel, diffusion_loss
from kin4d.world.diffusion.transformer import ADDED, WorldTransformer

RANK, ALPHA = 64, 32
"""Of the published adapter."""
LAYERS = ("to_q", "to_k", "to_v", "to_out.0")
"""Adapted layers of self- and cross-attention, in every block."""

LORA_FILE = "pytorch_lora_weights.safetensors"
ADDED_FILE = "added_weights.safetensors"
_PREFIX = "transformer."


def add_lora(transformer: WorldTransformer, *, rank: int = RANK, alpha: float = ALPHA) -> None:
    """Freeze a transformer, except for adapters of attention and the parameters that are not Wan's.

    Args:
        transformer: Changed in place.
        rank: Of the adapters.
        alpha: Their products are scaled by alpha / rank.
    """
    peft = require("peft", extra="world", purpose="LoRA")
    adapter: Any = peft.LoraConfig(r=rank, lora_alpha=alpha, target_modules=list(LAYERS))
    transformer.requires_grad_(False)
    transformer.add_adapter(adapter)
    for name, parameter in transformer.named_parameters():
        if name.startswith(ADDED):
            parameter.requires_grad_(True)


def train_lora(
    make_batches: Callable[[int, int], Iterator[VideoBatch | LatentBatch]],
    output: str | Path,
    *,
    video_model: LatentVideoModel,
    train_config: TrainConfig,
    rank: int = RANK,
    alpha: float = ALPHA,
    dev: Iterable[VideoBatch] = (),
    data: dict | None = None,
) -> LatentVideoModel:
    """Fine-tune a large model; checkpoints hold the trained parameters alone, and resume exactly.

    Args:
        make_batches: See `train_diffusion`.
        output: Folder of the run; both published files are written into it at the end.
        video_model: Changed in place; see `wan_weights.load_published` for one.
        train_config: Schedule and optimiser.
        rank: Of the adapters.
        alpha: Of the adapters.
        dev: Held-out videos that checkpoints are validated on.
        data: Description of the training data.
    """
    from kin4d.world.diffusion.train import evaluate_diffusion

    torch.manual_seed(train_config.seed)
    add_lora(video_model.transformer, rank=rank, alpha=alpha)
    held_out = list(dev)
    trained = train(
        video_model,
        make_batches,
        diffusion_loss,
        train_config,
        output,
        metadata={
            "model": "world-lora",
            "version": VERSION,
            "config": video_model.config.to_dict(),
            "rank": rank,
            "alpha": alpha,
            "data": data or {},
        },
        validate=partial(evaluate_diffusion, batches=held_out) if held_out else None,
    )
    video_model.load_state_dict(trained, strict=False)
    save_adapter(output, video_model.transformer)
    return video_model.eval()


def save_adapter(folder: str | Path, transformer: WorldTransformer) -> None:
    """Write adapters and added parameters to two files, as published ones are."""
    peft = require("peft", extra="world", purpose="LoRA")
    lora = peft.get_peft_model_state_dict(transformer)
    _write(Path(folder) / LORA_FILE, {f"{_PREFIX}{name}": value for name, value in lora.items()})
    state = transformer.state_dict()
    _write(Path(folder) / ADDED_FILE, {n: v for n, v in state.items() if n.startswith(ADDED)})


def read_adapter(folder: str | Path) -> tuple[dict[str, tuple[Tensor, Tensor]], dict[str, Tensor]]:
    """The two LoRA factors of each weight, and the added parameters, by name."""
    lora, added = (read_plain(Path(folder) / name) for name in (LORA_FILE, ADDED_FILE))
    factors: dict[str, tuple[Tensor, Tensor]] = {}
    for name, down in lora.items():
        stem, found, rest = name.partition(".lora_A.")
        if not found:
            if ".lora_B." not in name:
                raise InputError(
                    f"{LORA_FILE} holds a tensor that is not of LoRA",
                    value=name,
                    allowed="names with .lora_A. or .lora_B.",
                )
            continue
        up = lora.get(f"{stem}.lora_B.{rest}")
        if up is None or up.shape[1] != down.shape[0]:
            raise InputError(
                f"{LORA_FILE} lacks the .lora_B. tensor that is a pair with this one", value=name
            )
        factors[f"{stem.removeprefix(_PREFIX)}.weight"] = (down, up)
    if 2 * len(factors) != len(lora):
        raise InputError(f"{LORA_FILE} has .lora_B. tensors whose pair, .lora_A., is missing")
    unknown = sorted(name for name in added if not name.startswith(ADDED))
    if unknown:
        raise InputError(
            f"{ADDED_FILE} holds a tensor that Kinema4D does not add",
            value=unknown[0],
            allowed=", ".join(ADDED),
        )
    return factors, added


def fuse_lora(weight: Tensor, factors: tuple[Tensor, Tensor], scale: float) -> Tensor:
    """A weight plus `scale` times the product of its LoRA factors."""
    down, up = factors
    return (weight.float() + scale * (up.float() @ down.float())).to(weight.dtype)


def read_plain(path: Path) -> dict[str, Tensor]:
    """Tensors of a safetensors file without kin4d metadata."""
    from safetensors import SafetensorError
    from safetensors.torch import load_file

    try:
        return load_file(existing_file(path))
    except (SafetensorError, OSError, ValueError) as error:
        raise InputError(f"{path} is not a readable safetensors file: {error}") from error


def _write(path: Path, tensors: dict[str, Tensor]) -> None:
    from safetensors.torch import save_file

    plain = {name: value.detach().cpu().contiguous() for name, value in tensors.items()}
    with atomic_path(path) as part:
        save_file(plain, part, metadata={"format": "pt"})
