"""Memory estimate of a diffusion world model, made before its weights are loaded."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import torch

from kin4d.errors import InputError
from kin4d.world.diffusion.config import DiffusionConfig

_GB = 1e9


@dataclass(frozen=True, kw_only=True)
class MemoryNeed:
    """Bytes; those of weights are exact, the rest is a rough upper bound.

    Attributes:
        weights: Of the transformer.
        block: The part of them that is on the device at once when blocks are offloaded.
        codec: Weights of the codec.
        working: Activations.
    """

    weights: int
    block: int
    codec: int
    working: int

    def on_device(self, *, offload: bool) -> int:
        """Bytes on the device that computes."""
        return (self.block if offload else self.weights) + self.codec + self.working

    def summary(self, *, offload: bool) -> str:
        """One line for people."""
        parts = {
            "weights" if not offload else "weights, one block at a time": (
                self.block if offload else self.weights
            ),
            "codec": self.codec,
            "working memory": self.working,
        }
        return ", ".join(f"{name} {bytes_ / _GB:.1f} GB" for name, bytes_ in parts.items())


def memory_need(config: DiffusionConfig, dtype: torch.dtype) -> MemoryNeed:
    """Memory to predict one video; nothing is allocated to compute it."""
    from kin4d.world.diffusion.codec import make_codec
    from kin4d.world.diffusion.transformer import WorldTransformer

    with torch.device("meta"):
        transformer, codec = WorldTransformer(config), make_codec(config)
    size = torch.finfo(dtype).bits // 8
    total = sum(p.numel() for p in transformer.parameters())
    blocks = sum(p.numel() for p in transformer.blocks.parameters())
    # Hidden states in single precision, queries, keys, values, and one wide layer.
    tokens = config.tokens * (4 * 3 * config.inner + size * (6 * config.inner + 2 * config.ffn))
    # A VAE holds a few full-size maps of four frames; a linear codec hardly anything.
    maps = 6 * 4 * 4 * config.height * config.width * config.vae_width
    return MemoryNeed(
        weights=total * size,
        block=(total - blocks + 2 * blocks // config.layers) * size,
        codec=4 * sum(p.numel() for p in codec.parameters()),
        working=max(tokens, maps if config.codec == "vae" else 0),
    )


def free_bytes(device: torch.device) -> int:
    """Free bytes of a device; of a CPU, what the system can still allocate."""
    if device.type == "cuda":
        return torch.cuda.mem_get_info(device)[0]
    table = Path("/proc/meminfo")
    if table.is_file():
        for line in table.read_text().splitlines():
            if line.startswith("MemAvailable:"):
                return int(line.split()[1]) * 1024
    return 2**63 - 1  # unknown: assume that it fits


def refuse_if_too_large(
    config: DiffusionConfig, dtype: torch.dtype, device: torch.device, *, offload: bool
) -> MemoryNeed:
    """The memory needed; an `InputError` with the numbers if it is not free."""
    need = memory_need(config, dtype)
    needed = {device: need.on_device(offload=offload)}
    if offload:
        cpu = torch.device("cpu")
        needed[cpu] = needed.get(cpu, 0) + need.weights
    for where, bytes_ in needed.items():
        free = free_bytes(where)
        if bytes_ > free:
            raise InputError(
                f"this model needs about {bytes_ / _GB:.1f} GB on {where}, "
                f"where {free / _GB:.1f} GB are free ({need.summary(offload=offload)})",
                hint="use offload, a larger device, or a smaller model"
                if not offload and device.type != "cpu"
                else "use a larger machine or a smaller model",
            )
    return need
