"""Weights of NeuROK models: find by name, load with checks, save with their config."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path

from torch import Tensor

from kin4d.neurok.config import NeurokConfig
from kin4d.neurok.model import Neurok
from kin4d.neurok.ood import OodDetector
from kin4d.reading import reading
from kin4d.training.build import build_from_weights
from kin4d.training.checkpoint import save_tensors
from kin4d.training.weights import FILE as FILE
from kin4d.training.weights import SHIPPED as SHIPPED
from kin4d.training.weights import read_weights
from kin4d.training.weights import weights_file as weights_file_of

VERSION = 3
"""Format version of the weights; others are refused."""

_OOD = "ood."

_OLD_NAMES = (
    (r"^familiarity\.", _OOD),
    (r"^prior\.claims\.", "prior.slot_layers."),
    (r"^prior\.screws\.", "prior.joint_axes."),
    (r"^prior\.read\.", "prior.point_attention."),
    (r"^prior\.group_vote\.", "prior.component_gain."),
    (r"^(prior|decoder)\.look\.", r"\1.cross_attention."),
    (r"^target\.looks\.", "target.cross_attentions."),
    (r"^target\.enter\.", "target.token_in."),
    (r"^decoder\.(motion\.)?enter\.", r"decoder.\1state_in."),
    (r"\.nobody$", ".background"),
)  # regular expressions: names of tensors in weights written before 0.5


def from_pretrained(name: str | Path) -> tuple[Neurok, OodDetector | None]:
    """Load a model in evaluation mode, and its out-of-distribution detector if it has one.

    Args:
        name: One that ships ("small"), a .safetensors file, a folder with one, or "owner/name" on
            the Hugging Face hub.
    """
    file = neurok_weights_file(name)
    with reading(file, "file of weights"):
        tensors, metadata = read_weights(
            file, model="neurok", version=VERSION, train="kin4d train neurok"
        )
        tensors = rename_tensors(tensors)
        ood_tensors = {k[len(_OOD) :]: tensors.pop(k) for k in list(tensors) if k.startswith(_OOD)}
        config = NeurokConfig.from_dict(metadata["config"])
        model = build_from_weights(lambda: Neurok(config), tensors)
        return model, OodDetector(**ood_tensors) if ood_tensors else None


def rename_tensors(tensors: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """Tensors under the names of the current model; earlier versions used others."""
    renamed = {}
    for name, tensor in tensors.items():
        for old, new in _OLD_NAMES:
            name = re.sub(old, new, name)
        renamed[name] = tensor
    return renamed


@lru_cache(maxsize=4)
def cached_model(name: str) -> tuple[Neurok, OodDetector | None]:
    """`from_pretrained`, cached."""
    return from_pretrained(name)


def save_pretrained(
    path: str | Path, model: Neurok, ood: OodDetector | None, metadata: dict
) -> None:
    """Write weights that `from_pretrained` reads; `metadata` says how they were trained."""
    tensors = dict(model.state_dict())
    if ood is not None:
        tensors |= {f"{_OOD}{name}": t for name, t in ood.tensors().items()}
    full = {**metadata, "model": "neurok", "version": VERSION, "config": model.config.to_dict()}
    save_tensors(path, tensors, full)


def neurok_weights_file(name: str | Path) -> Path:
    """The .safetensors file of a name."""
    return weights_file_of(name, "neurok")
