"""Layouts: recordings and episodes as others keep them, opened by what a path looks like."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Protocol

from kin4d.episodes.episode import Episode
from kin4d.episodes.formats.action_files import read_actions
from kin4d.episodes.formats.droid import DroidFolder, read_droid
from kin4d.episodes.formats.lerobot import LeRobotFolder
from kin4d.episodes.formats.rlds import RldsFiles, read_bridge
from kin4d.episodes.formats.robo4d import Robo4DFolder
from kin4d.episodes.formats.robosuite import RobosuiteFile
from kin4d.episodes.recording import Recording
from kin4d.errors import InputError
from kin4d.kinematics.actions import Actions


class DatasetReader(Protocol):
    """A folder or file of episodes."""

    def __len__(self) -> int: ...

    def read(self, index: int) -> Recording | Episode:
        """Number `index`: an episode where it is in metres already, else a recording."""
        ...


LAYOUTS: Mapping[str, Callable[..., DatasetReader]] = {
    "lerobot": LeRobotFolder,
    "robo4d": Robo4DFolder,
    "robosuite": RobosuiteFile,
    "rlds": RldsFiles,
    "droid": DroidFolder,
}


def open_dataset(path: str | Path, *, layout: str | None = None, **options: Any) -> DatasetReader:
    """The episodes at `path`.

    Args:
        path: A folder or file.
        layout: A name in `LAYOUTS`; default: what it looks like.
        options: Of the layout's own class.
    """
    path = Path(path)
    if not path.exists():
        raise InputError(f"{path} does not exist", hint="check the path and spelling")
    name = layout or _looks_like(path)
    if name not in LAYOUTS:
        raise InputError(
            "unknown layout of episodes" if layout else f"{path} is in no layout that is known",
            value=layout,
            allowed=", ".join(LAYOUTS),
        )
    try:
        return LAYOUTS[name](path, **options)
    except TypeError as error:
        if "keyword argument" not in str(error):
            raise
        raise InputError(f"layout '{name}' has no such option: {error}") from None


def read_robot_motion(
    path: str | Path, *, motion: str = "state_joint", episode: int = 0, **options: Any
) -> Actions:
    """One motion from any file: a table of actions, or a recording (.json, .tfrecord).

    Args:
        path: The file.
        motion: Which motion of a recording.
        episode: Which recording of a file that holds several.
        options: For tables; see `read_actions`.
    """
    path = Path(path)
    if path.suffix.lower() != ".json" and ".tfrecord" not in path.name:
        return read_actions(path, **options)
    recordings = [read_droid(path)] if path.suffix.lower() == ".json" else read_bridge(path)
    if not recordings:
        raise InputError(f"{path} holds no episode")
    if not 0 <= episode < len(recordings):
        raise InputError(
            f"{path} has no such episode", value=episode, allowed=f"0 to {len(recordings) - 1}"
        )
    motions = recordings[episode].motions
    if motion not in motions:
        raise InputError(f"{path} has no such motion", value=motion, allowed=", ".join(motions))
    return motions[motion]


def _looks_like(path: Path) -> str:
    if path.is_file():
        if path.suffix in (".hdf5", ".h5"):
            return "robosuite"
        return "rlds" if ".tfrecord" in path.name else "droid" if path.suffix == ".json" else ""
    if (path / "meta" / "info.json").is_file():
        return "lerobot"
    if (path / "pointmap").is_dir() and (path / "videos").is_dir():
        return "robo4d"
    for pattern, name in (
        ("annotation/*.json", "droid"),
        ("*.tfrecord*", "rlds"),
        ("**/*.hdf5", "robosuite"),
        ("**/*.h5", "robosuite"),
    ):
        if next(path.glob(pattern), None) is not None:
            return name
    return ""
