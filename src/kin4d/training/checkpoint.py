"""Checkpoints and weights: safetensors files, written whole or not at all, read with suspicion."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from torch import Tensor

from kin4d.errors import InputError, OutputError
from kin4d.files import atomic_path, existing_file


def save_tensors(path: str | Path, tensors: Mapping[str, Tensor], metadata: dict[str, Any]) -> None:
    """Write tensors and what there is to say about them, atomically.

    Args:
        path: A .safetensors file.
        tensors: By name.
        metadata: JSON values, kept in the file's own header.
    """
    from safetensors import SafetensorError
    from safetensors.torch import save_file

    with atomic_path(path) as part:
        contiguous = {name: tensor.detach().cpu().contiguous() for name, tensor in tensors.items()}
        try:
            save_file(contiguous, part, metadata={"kin4d": json.dumps(metadata)})
        except SafetensorError as error:  # the library's word for a full disk, too
            raise OutputError(
                f"cannot write {path}: {error}",
                hint="free some space or choose another folder, then run again",
            ) from error


def load_tensors(path: str | Path) -> tuple[dict[str, Tensor], dict[str, Any]]:
    """Tensors by name and their metadata; anything but a sound file is refused."""
    from safetensors import SafetensorError, safe_open

    path = existing_file(path)
    try:
        with safe_open(path, framework="pt") as file:
            metadata = json.loads((file.metadata() or {}).get("kin4d", "null"))
            tensors = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
    except (SafetensorError, OSError, ValueError) as error:
        raise InputError(
            f"{path} is not a sound safetensors file: {error}",
            hint="it may be cut short, or another kind of file under this name; fetch it again",
        ) from error
    if not isinstance(metadata, dict):
        raise InputError(f"{path} was not written by kin4d", hint="name a file of kin4d weights")
    return tensors, metadata
