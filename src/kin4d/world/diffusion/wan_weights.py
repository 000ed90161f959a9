"""Load published weights: Wan2.1-I2V-14B with Kinema4D's LoRA and added parameters.

Tested on small random checkpoints in the published layout, not on the real weights. All sizes are
read from the files.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any, Literal

import numpy as np
import torch
from torch import Tensor

from kin4d.errors import InputError
from kin4d.extras import require
from kin4d.files import read_json
from kin4d.reading import confined_path, reading
from kin4d.world.diffusion.codec import VaeCodec
from kin4d.world.diffusion.config import CELL, MASK, DiffusionConfig
from kin4d.world.diffusion.latent_video import LatentVideoModel
from kin4d.world.diffusion.lora import ADDED_FILE, LORA_FILE, fuse_lora, read_adapter
from kin4d.world.diffusion.memory_estimate import refuse_if_too_large
from kin4d.world.diffusion.transformer import ADDED, WorldTransformer

Variant = Literal["rgb+pointmap", "pointmap"]

BASE = "Wan-AI/Wan2.1-I2V-14B-480P-Diffusers"
ADAPTER = "Minoday/Kinema4D"
SUBFOLDERS: dict[Variant, str] = {
    "rgb+pointmap": "kinema4d_ckpt",
    "pointmap": "kinema4d_pmcond_ckpt",
}
LORA_SCALE = 0.5
"""alpha / rank = 32 / 64 of the published LoRA, whose file does not contain it."""

_WEIGHTS = "diffusion_pytorch_model.safetensors"
# Tensors of Wan that are not used here: the text encoder's, and one that Wan does not use either.
_UNUSED = ("condition_embedder.text_embedder.", "norm_added_q")
_FIXED = {"qk_norm": "rms_norm_across_heads", "cross_attn_norm": True, "eps": 1e-6}


def load_published(
    base: str | Path = BASE,
    adapter: str | Path = ADAPTER,
    *,
    variant: Variant = "rgb+pointmap",
    lora_scale: float = LORA_SCALE,
    dtype: torch.dtype = torch.bfloat16,
    device: str | torch.device | None = None,
    offload: bool = False,
) -> LatentVideoModel:
    """Load a model of published weights. The 14B path is untested on real weights.

    Args:
        base: Wan2.1 image-to-video in diffusers' layout: a folder, or "owner/name" on the hub.
        adapter: Folder, or hub repository, with ``pytorch_lora_weights.safetensors`` and
            ``added_weights.safetensors``, or with the published subfolders of them.
        variant: Control that the adapter was trained with.
        lora_scale: Scale of the product of the LoRA factors.
        dtype: Of the transformer; modules that diffusers keeps in float32 stay so.
        device: By default a GPU if there is one.
        offload: Whether to keep the transformer in main memory and load block after block.
    """
    if variant not in SUBFOLDERS:
        raise InputError(
            "variant of published weights", value=variant, allowed=", ".join(SUBFOLDERS)
        )
    device = torch.device(device or ("cuda" if torch.cuda.is_available() else "cpu"))
    diffusers = require("diffusers", extra="world", purpose="published weights")
    adapter_folder = _adapter_folder(adapter, variant)
    base_folder = _folder(base, ["transformer/*", "vae/*"])
    factors, added = read_adapter(adapter_folder)
    config = published_config(base_folder, added, variant)
    refuse_if_too_large(config, dtype, device, offload=offload)
    with torch.device("meta"):
        transformer = WorldTransformer(config)
    transformer.share_positions()
    _fill(
        transformer, _base_tensors(base_folder / "transformer"), added, factors, lora_scale, dtype
    )
    transformer.requires_grad_(False).eval()
    vae = diffusers.AutoencoderKLWan.from_pretrained(base_folder / "vae").to(device)
    video_model = LatentVideoModel(config, VaeCodec(vae), transformer).eval()
    if offload:
        hooks = require("diffusers.hooks", extra="world", purpose="offloading")
        hooks.apply_group_offloading(
            transformer, onload_device=device, offload_type="block_level", num_blocks_per_group=1
        )
    else:
        video_model.to(device)
    return video_model


@torch.no_grad()
def image_tokens(
    images: np.ndarray, base: str | Path = BASE, *, device: str | torch.device = "cpu"
) -> Tensor:
    """[B, N, image_dim] tokens of Wan's image encoder, for `VideoBatch.image`.

    Args:
        images: [B, H, W, 3] uint8: first frames.
        base: As for `load_published`.
        device: Device of the encoder.
    """
    transformers = require("transformers", extra="world", purpose="Wan's image encoder")
    folder = _folder(base, ["image_encoder/*", "image_processor/*"])
    processor = transformers.CLIPImageProcessor.from_pretrained(folder / "image_processor")
    encoder = transformers.CLIPVisionModel.from_pretrained(folder / "image_encoder").to(device)
    pixels = processor(images=list(images), return_tensors="pt").to(device)
    return encoder(**pixels, output_hidden_states=True).hidden_states[-2].float().cpu()


def published_config(base: Path, added: dict[str, Tensor], variant: Variant) -> DiffusionConfig:
    """The config of two folders of weights; an `InputError` if they do not fit together."""
    wan, vae = (read_json(base / part / "config.json") for part in ("transformer", "vae"))
    for name, right in _FIXED.items():
        if wan.get(name, right) != right:
            raise InputError(
                f"{base}: '{name}' of the transformer", value=wan[name], allowed=f"{right}"
            )
    for name in ("patch_embedding_arm.weight", "arm_pos_emb"):
        if name not in added:
            raise InputError(f"{ADDED_FILE} lacks a parameter", value=name)
    if ("arm_domain_emb" in added) != (variant == "rgb+pointmap"):
        other = next(name for name in SUBFOLDERS if name != variant)
        raise InputError(
            f"these weights are not of the '{variant}' variant", hint=f"choose variant '{other}'"
        )
    robot_width, _, _, robot_patch, _ = added["patch_embedding_arm.weight"].shape
    frames, rows, columns = added["arm_pos_emb"].shape[2:]
    config = DiffusionConfig(
        frames=1 + CELL[0] * (frames - 1),
        height=rows * robot_patch * CELL[1],
        width=columns * robot_patch * CELL[2],
        codec="vae",
        latent_channels=vae["z_dim"],
        vae_width=vae["base_dim"],
        init="noise",
        fusion="width",
        control=variant,
        first_frame_geometry="ramp",
        layers=wan["num_layers"],
        heads=wan["num_attention_heads"],
        head_dim=wan["attention_head_dim"],
        ffn=wan["ffn_dim"],
        patch=wan["patch_size"][-1],
        robot_patch=robot_patch,
        robot_width=robot_width,
        text_dim=wan["text_dim"],
        image_dim=wan.get("image_dim") or 0,
        frequencies=wan["freq_dim"],
        target="velocity",
    )
    found = (wan["in_channels"], wan["out_channels"], bool(config.image_dim))
    if found != (config.in_channels, config.latent_channels, True):
        raise InputError(
            f"{base} is not an image-to-video transformer for its VAE",
            value=f"{found[0]} channels in, {found[1]} out",
            allowed=f"{config.in_channels} in ({config.latent_channels} noisy, {MASK} mask, "
            f"{config.latent_channels} condition), {config.latent_channels} out",
            hint=f"use {BASE}",
        )
    return config


def _fill(
    transformer: WorldTransformer,
    base: Iterator[tuple[str, Tensor]],
    added: dict[str, Tensor],
    factors: dict[str, tuple[Tensor, Tensor]],
    scale: float,
    dtype: torch.dtype,
) -> None:
    """Load all tensors, one at a time, with LoRA fused; missing or unknown ones are refused."""
    wanted = {name: value.shape for name, value in transformer.state_dict().items()}
    single = tuple(transformer._keep_in_fp32_modules or ())
    loaded, unfused = {}, set(factors)
    for source in (base, iter(added.items())):
        for name, tensor in source:
            if any(part in name for part in _UNUSED):
                continue
            if name not in wanted:
                raise InputError("weights hold a tensor that this model does not have", value=name)
            if tensor.shape != wanted[name]:
                raise InputError(
                    f"shape of the weight '{name}'",
                    value=tuple(tensor.shape),
                    allowed=str(tuple(wanted[name])),
                )
            if name in factors:
                tensor = fuse_lora(tensor, factors[name], scale)
                unfused.discard(name)
            tensor_dtype = (
                torch.float32 if any(part in name.split(".") for part in single) else dtype
            )
            loaded[name] = tensor.to(tensor_dtype)
    if missing := sorted(set(wanted) - set(loaded)):
        where = ADDED_FILE if missing[0].startswith(ADDED) else "the base's transformer"
        raise InputError(f"{where} lacks {len(missing)} tensors, among them", value=missing[0])
    if unfused:
        raise InputError(
            f"{LORA_FILE} adapts a weight that the base does not have", value=min(unfused)
        )
    transformer.load_state_dict(loaded, assign=True)


def _base_tensors(folder: Path) -> Iterator[tuple[str, Tensor]]:
    """Tensors of a model in diffusers' layout: one file, or an index and its shards."""
    from safetensors import SafetensorError, safe_open

    index = folder / f"{_WEIGHTS}.index.json"
    if index.is_file():
        with reading(index, "index of weights"):
            names = set(read_json(index)["weight_map"].values())
            files = sorted(confined_path(index, name) for name in names)
    else:
        files = [folder / _WEIGHTS]
    for file in files:
        if not file.is_file():
            raise InputError(f"{file} does not exist", hint="fetch the whole repository")
        try:
            with safe_open(file, framework="pt") as opened:
                for name in opened.keys():  # noqa: SIM118
                    yield name, opened.get_tensor(name)
        except SafetensorError as error:
            raise InputError(f"{file} is not a readable safetensors file: {error}") from error


def _adapter_folder(adapter: str | Path, variant: Variant) -> Path:
    sub = SUBFOLDERS[variant]
    folder = _folder(adapter, [f"{sub}/*.safetensors", "*.safetensors"])
    return folder / sub if (folder / sub).is_dir() else folder


def _folder(name: str | Path, patterns: list[str]) -> Path:
    """A local folder, or one fetched from the hub."""
    path = Path(name)
    if path.is_dir():
        return path
    text = str(name)
    if text.count("/") != 1 or path.is_absolute():
        raise InputError("folder of published weights", value=text, allowed="a folder, or a hub id")
    hub: Any = require("huggingface_hub", extra="world", purpose="fetching weights")
    try:
        return Path(hub.snapshot_download(text, allow_patterns=patterns))
    except Exception as error:
        raise InputError(f"no weights at '{text}' on the hub: {error}") from error
