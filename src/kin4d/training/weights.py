"""Weights by name: those that ship with kin4d, a file, a folder, or a repository on the hub."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from torch import Tensor

from kin4d.errors import InputError
from kin4d.extras import require
from kin4d.training.checkpoint import load_tensors

FILE = "weights.safetensors"
SHIPPED = Path(__file__).parents[1] / "weights"


def weights_file(name: str | Path, model: str) -> Path:
    """The .safetensors file of a name.

    Args:
        name: One that ships ("small"), a .safetensors file, a folder with one, or "owner/name" on
            the Hugging Face hub.
        model: Kind of model, as files that ship begin: "neurok", "world".
    """
    path = Path(name)
    if path.is_dir():
        path = path / FILE
    if path.is_file():
        return path
    text = str(name)
    shipped = SHIPPED / f"{model}-{text}.safetensors"
    if shipped.is_file():
        return shipped
    if text.count("/") == 1 and not path.suffix:
        hub = require("huggingface_hub", extra="train", purpose="fetching weights")
        try:
            return Path(hub.hf_hub_download(text, FILE))
        except Exception as error:
            raise InputError(f"no weights at '{text}' on the hub: {error}") from error
    ships = sorted(f.stem.removeprefix(f"{model}-") for f in SHIPPED.glob(f"{model}-*.safetensors"))
    raise InputError(
        "there are no such weights",
        value=text,
        allowed=", ".join([*ships, "a .safetensors file", "a folder with one", "a hub id"]),
    )


def read_weights(
    file: str | Path, *, model: str, version: int, train: str
) -> tuple[dict[str, Tensor], dict[str, Any]]:
    """Tensors and their metadata; those of another model or version are refused.

    Args:
        file: A .safetensors file.
        model: Kind of model they must be of.
        version: Of the layout they must have.
        train: The command that makes such weights, as advice.
    """
    tensors, metadata = load_tensors(file)
    if metadata.get("model") != model:
        raise InputError(
            "these are weights of another model", value=metadata.get("model"), allowed=model
        )
    if metadata.get("version") != version:
        raise InputError(
            "these weights have another version",
            value=metadata.get("version"),
            allowed=str(version),
            hint=f"use weights made for this version of kin4d, or train: `{train}`",
        )
    return tensors, metadata


def check_state_dict(wanted: Mapping[str, Tensor], given: Mapping[str, Tensor]) -> None:
    """Refuse tensors that are not, one for one, what a model's config asks for."""
    for name, tensor in wanted.items():
        if name not in given:
            raise InputError("weights lack a tensor that their config asks for", value=name)
        if given[name].shape != tensor.shape:
            raise InputError(
                f"weights do not match their config at '{name}'",
                value=tuple(given[name].shape),
                allowed=str(tuple(tensor.shape)),
            )
    extra = sorted(set(given) - set(wanted))
    if extra:
        raise InputError("weights hold tensors that their config does not ask for", value=extra[0])
