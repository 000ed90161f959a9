"""A NeuROK model's weights: found by name, read with suspicion, written with their config."""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path

from kin4d.neurok.config import NeurokConfig
from kin4d.neurok.model import Neurok
from kin4d.neurok.ood import OodDetector
from kin4d.training.checkpoint import save_tensors
from kin4d.training.weights import FILE as FILE
from kin4d.training.weights import SHIPPED as SHIPPED
from kin4d.training.weights import check_state_dict, read_weights
from kin4d.training.weights import weights_file as weights_file_of

VERSION = 3
"""Of the weights' layout; others are refused."""

_FAMILIAR = "familiarity."


def from_pretrained(name: str | Path) -> tuple[Neurok, OodDetector | None]:
    """The model of a name, ready for use, and what its training shapes looked like, if known.

    Args:
        name: One that ships ("small"), a .safetensors file, a folder with one, or "owner/name" on
            the Hugging Face hub.
    """
    tensors, about = read_weights(
        neurok_weights_file(name), model="neurok", version=VERSION, train="kin4d train neurok"
    )
    known = {k[len(_FAMILIAR) :]: tensors.pop(k) for k in list(tensors) if k.startswith(_FAMILIAR)}
    model = Neurok(NeurokConfig.from_dict(about["config"]))
    check_state_dict(model.state_dict(), tensors)
    model.load_state_dict(tensors)
    model.requires_grad_(False).eval()
    return model, OodDetector(**known) if known else None


@lru_cache(maxsize=4)
def cached_model(name: str) -> tuple[Neurok, OodDetector | None]:
    """The same, read once."""
    return from_pretrained(name)


def save_pretrained(
    path: str | Path, model: Neurok, familiarity: OodDetector | None, about: dict
) -> None:
    """Write weights that `from_pretrained` reads; `about` tells how they came to be."""
    tensors = dict(model.state_dict())
    if familiarity is not None:
        tensors |= {f"{_FAMILIAR}{name}": t for name, t in familiarity.tensors().items()}
    said = {**about, "model": "neurok", "version": VERSION, "config": model.config.to_dict()}
    save_tensors(path, tensors, said)


def neurok_weights_file(name: str | Path) -> Path:
    """The .safetensors file of a name."""
    return weights_file_of(name, "neurok")
