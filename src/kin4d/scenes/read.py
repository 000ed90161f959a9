"""load_scene: a scene file, YAML or JSON, to what `kin4d.simulate` takes."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from kin4d.dynamics.scene import Scene
from kin4d.dynamics.simulate import simulate
from kin4d.dynamics.simulation import Simulation
from kin4d.errors import InputError
from kin4d.scenes.build import scene_from_spec
from kin4d.scenes.parse import parse
from kin4d.scenes.schema import SceneSpec

SCENE_SUFFIXES = (".yaml", ".yml", ".json")


@dataclass(frozen=True, eq=False, kw_only=True)
class SceneFile:
    """A scene and how long it runs.

    Attributes:
        scene: What takes part.
        seconds: How long.
        fps: Frames per second of the result.
        dt: Longest time step, s.
    """

    scene: Scene
    seconds: float
    fps: float
    dt: float

    def run(self) -> Simulation:
        """Simulate it as the file says."""
        return simulate(self.scene, seconds=self.seconds, fps=self.fps, dt=self.dt)


def load_scene(path: str | Path) -> SceneFile:
    """Read a scene file; `kin4d.scenes.schema.SceneSpec` says what it may contain.

    Files that it names are relative to it and lie in its folder. A scene in which bodies overlap at
    the start is refused.
    """
    path = Path(path)
    spec = parse(SceneSpec, _read(path), path.name)
    scene = scene_from_spec(spec, folder=path.parent)
    return SceneFile(scene=scene, seconds=spec.seconds, fps=spec.fps, dt=spec.dt)


def _read(path: Path) -> Any:
    import yaml

    suffix = path.suffix.lower()
    if suffix not in SCENE_SUFFIXES:
        raise InputError("a scene file", value=path.name, allowed=", ".join(SCENE_SUFFIXES))
    try:
        text = path.read_text("utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"cannot read the scene {path}: {error}") from None
    try:
        return json.loads(text) if suffix == ".json" else yaml.safe_load(text)
    except (json.JSONDecodeError, yaml.YAMLError, RecursionError) as error:
        raise InputError(f"{path} is not valid {suffix[1:].upper()}: {error}") from None
