"""load_scene: a scene file, YAML or JSON, to what `kin4d.simulate` takes."""

from __future__ import annotations

import math
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from kin4d.dynamics.scene import Scene
from kin4d.dynamics.simulate import simulate
from kin4d.dynamics.simulation import Simulation
from kin4d.errors import InputError
from kin4d.files import existing_file
from kin4d.reading import parse_json, reading
from kin4d.scenes.build import scene_from_spec
from kin4d.scenes.parse import parse
from kin4d.scenes.schema import SceneSpec

SCENE_SUFFIXES = (".yaml", ".yml", ".json")
_YAML_BYTES = 200_000  # its parser takes a second or so for these


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
    data = _read(path)
    with reading(path, "scene"):
        spec = parse(SceneSpec, data, path.name)
        scene = scene_from_spec(spec, folder=path.parent)
    return SceneFile(scene=scene, seconds=spec.seconds, fps=spec.fps, dt=spec.dt)


def _read(path: Path) -> Any:
    suffix = path.suffix.lower()
    if suffix not in SCENE_SUFFIXES:
        raise InputError("a scene file", value=path.name, allowed=", ".join(SCENE_SUFFIXES))
    data = existing_file(path).read_bytes()
    with reading(path, f"{suffix[1:].upper()} file"):
        return parse_json(data) if suffix == ".json" else _parse_yaml(data)


def _parse_yaml(data: bytes) -> Any:
    """The value of a YAML text; a few lines of aliases cannot stand for any number of values."""
    import yaml

    if len(data) > _YAML_BYTES:
        raise ValueError(f"it has {len(data)} bytes, at most {_YAML_BYTES} are read as YAML")
    loader = yaml.SafeLoader(data)
    node = loader.get_single_node()
    if _values(node, {}) > _YAML_BYTES:
        raise ValueError("its aliases stand for too many values")
    return None if node is None else loader.construct_document(node)


def _values(node: Any, known: dict[int, float]) -> float:
    """How many values a YAML node stands for, aliases written out; endless if it holds itself."""
    if not isinstance(getattr(node, "value", None), list):
        return 1
    if id(node) not in known:
        known[id(node)] = math.inf
        parts = (one for item in node.value for one in (item if type(item) is tuple else (item,)))
        known[id(node)] = 1 + sum(_values(one, known) for one in parts)
    return known[id(node)]
