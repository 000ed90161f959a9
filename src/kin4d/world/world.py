"""World: one call from a situation to what comes of it, whatever kind of weights are behind it."""

from __future__ import annotations

from pathlib import Path
from typing import Protocol

from kin4d.errors import InputError
from kin4d.geometry.pointmap import PointmapVideo
from kin4d.training.checkpoint import load_tensors
from kin4d.training.weights import weights_file
from kin4d.world.rigid.model import RigidWorld
from kin4d.world.rigid.train import WORLD
from kin4d.world.situation import Situation

FLOW = "flow world"


class Imaginer(Protocol):
    """What a world model has to do."""

    @property
    def size(self) -> tuple[int, int]:
        """Height and width in pixels that it works at."""
        ...

    @property
    def frames(self) -> int | None:
        """Frames that it imagines at once; None if that may be any number."""
        ...

    def imagine(self, situation: Situation, *, seed: int | None = None) -> PointmapVideo:
        """What happens; `seed` picks one of many futures, None the likeliest."""
        ...


class World:
    """A world model, ready for use."""

    @staticmethod
    def from_pretrained(name: str | Path = "tiny") -> Imaginer:
        """The world model of a name.

        Args:
            name: One that ships ("tiny"), a .safetensors file, a folder with one, or a hub id.
        """
        kind = load_tensors(weights_file(name, "world"))[1].get("model")
        loaders = {WORLD: RigidWorld.load, FLOW: _flow}
        if kind not in loaders:
            raise InputError(
                "these are not weights of a world model",
                value=kind,
                allowed=", ".join(loaders),
            )
        return loaders[kind](name)


def _flow(name: str | Path) -> Imaginer:
    from kin4d.world.flow_world import FlowWorld

    return FlowWorld.load(name)
