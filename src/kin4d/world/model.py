"""The world model protocol, and one loader for every kind of weights."""

from __future__ import annotations

from pathlib import Path
from typing import Protocol

from kin4d.errors import InputError
from kin4d.geometry.pointmap import PointmapVideo
from kin4d.reading import reading
from kin4d.training.checkpoint import load_tensors
from kin4d.training.weights import weights_file
from kin4d.world.object_world.model import ObjectWorldModel
from kin4d.world.object_world.train import WORLD
from kin4d.world.observation import Observation

FLOW = "flow world"


class WorldModel(Protocol):
    """Predicts a video from an observation."""

    @property
    def size(self) -> tuple[int, int]:
        """Height and width in pixels of its images."""
        ...

    @property
    def frames(self) -> int | None:
        """Frames of its window; None if any number."""
        ...

    def imagine(self, observation: Observation, *, seed: int | None = None) -> PointmapVideo:
        """Predict the video; `seed` draws a sample, None gives the most likely one."""
        ...


def load_world_model(name: str | Path = "tiny") -> WorldModel:
    """Load a world model, of whichever architecture the weights are.

    Args:
        name: One that ships ("tiny"), a .safetensors file, a folder with one, or a hub id.
    """
    file = weights_file(name, "world")
    with reading(file, "file of weights"):
        kind = str(load_tensors(file)[1].get("model"))
        loaders = {WORLD: ObjectWorldModel.load, FLOW: _load_diffusion}
        if kind not in loaders:
            raise InputError(
                "these weights are not of a world model",
                value=kind,
                allowed=", ".join(loaders),
            )
        return loaders[kind](name)


def _load_diffusion(name: str | Path) -> WorldModel:
    from kin4d.world.diffusion.model import DiffusionWorldModel

    return DiffusionWorldModel.load(name)
