"""Weights by name: those that ship with kin4d, a file, a folder, or a repository on the hub."""

from __future__ import annotations

from pathlib import Path

from torch import Tensor

from kin4d.errors import InputError
from kin4d.extras import require
from kin4d.neurok.config import NeurokConfig
from kin4d.neurok.familiarity import Familiarity
from kin4d.neurok.model import Neurok
from kin4d.training.checkpoint import load_tensors, save_tensors

VERSION = 1
"""Of the weights' layout; others are refused."""

FILE = "weights.safetensors"
SHIPPED = Path(__file__).parents[1] / "weights"
_FAMILIAR = "familiarity."


def from_pretrained(name: str | Path) -> tuple[Neurok, Familiarity | None]:
    """The model of a name, ready for use, and what its training shapes looked like, if known.

    Args:
        name: One that ships ("small"), a .safetensors file, a folder with one, or "owner/name" on
            the Hugging Face hub.
    """
    tensors, about = load_tensors(weights_file(name))
    if about.get("model") != "neurok":
        raise InputError("these are weights of another model", value=about.get("model"))
    if about.get("version") != VERSION:
        raise InputError(
            "these weights have another version",
            value=about.get("version"),
            allowed=str(VERSION),
            hint="use weights made for this version of kin4d, or train: `kin4d train objects`",
        )
    known = {k[len(_FAMILIAR) :]: tensors.pop(k) for k in list(tensors) if k.startswith(_FAMILIAR)}
    model = Neurok(NeurokConfig.from_dict(about["config"]))
    _check_fit(model.state_dict(), tensors)
    model.load_state_dict(tensors)
    model.requires_grad_(False).eval()
    return model, Familiarity(**known) if known else None


def save_pretrained(
    path: str | Path, model: Neurok, familiarity: Familiarity | None, about: dict
) -> None:
    """Write weights that `from_pretrained` reads; `about` tells how they came to be."""
    tensors = dict(model.state_dict())
    if familiarity is not None:
        tensors |= {f"{_FAMILIAR}{name}": t for name, t in familiarity.tensors().items()}
    said = {**about, "model": "neurok", "version": VERSION, "config": model.config.to_dict()}
    save_tensors(path, tensors, said)


def weights_file(name: str | Path) -> Path:
    """The .safetensors file of a name."""
    path = Path(name)
    if path.is_dir():
        path = path / FILE
    if path.is_file():
        return path
    text = str(name)
    shipped = SHIPPED / f"neurok-{text}.safetensors"
    if shipped.is_file():
        return shipped
    if text.count("/") == 1 and not path.suffix:
        hub = require("huggingface_hub", extra="train", purpose="fetching weights")
        try:
            return Path(hub.hf_hub_download(text, FILE))
        except Exception as error:
            raise InputError(f"no weights at '{text}' on the hub: {error}") from error
    ships = sorted(f.stem.removeprefix("neurok-") for f in SHIPPED.glob("neurok-*.safetensors"))
    raise InputError(
        "there are no such weights",
        value=text,
        allowed=", ".join([*ships, "a .safetensors file", "a folder with one", "a hub id"]),
    )


def _check_fit(wanted: dict[str, Tensor], given: dict[str, Tensor]) -> None:
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
