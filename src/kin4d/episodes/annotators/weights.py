"""Weights of the user's own choice: a folder, or an id on a hub, loaded by `transformers`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from kin4d.errors import InputError
from kin4d.extras import require


def load_model(auto: str, weights: str | Path, *, device: str = "cpu") -> Any:
    """A model in evaluation mode.

    Args:
        auto: Name of the class of `transformers` that loads it.
        weights: A folder with config.json and safetensors, or a hub's id such as "owner/name".
        device: Where it runs.
    """
    transformers = _transformers()
    try:
        model = getattr(transformers, auto).from_pretrained(weights, use_safetensors=True)
    except (OSError, ValueError, KeyError) as error:
        raise _cannot_load(weights, auto, error) from error
    return model.to(device).eval()


def load_processor(auto: str, weights: str | Path) -> Any:
    """What prepares a model's inputs, from the same place as its weights."""
    transformers = _transformers()
    try:
        return getattr(transformers, auto).from_pretrained(weights)
    except (OSError, ValueError, KeyError, ImportError) as error:
        raise _cannot_load(weights, auto, error) from error


def _transformers() -> Any:
    return require("transformers", extra="episodes", purpose="annotating with a network")


def _cannot_load(weights: str | Path, auto: str, error: Exception) -> InputError:
    reason = str(error).strip().splitlines()[0] if str(error).strip() else type(error).__name__
    return InputError(
        f"cannot load {weights} as {auto}: {reason}",
        allowed="a folder with config.json and model.safetensors, or a hub id",
    )
