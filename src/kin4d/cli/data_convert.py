"""`kin4d data import` and `export`: episodes from and to the layouts of others."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING, Annotated, Any

import tyro

from kin4d.cli.output import print_result
from kin4d.cli.ranges import AnyInt, Count, Fps, Reading, Workers
from kin4d.errors import InputError

if TYPE_CHECKING:
    from kin4d.episodes.converter import RecordingConverter
    from kin4d.episodes.episode import Episode
    from kin4d.episodes.store import EpisodeStore


@dataclass(frozen=True)
class DataImport:
    """Make a store of episodes from LeRobot, Robo4D, LIBERO or robosuite, RLDS or DROID files."""

    source: Annotated[Path, tyro.conf.Positional]
    """A folder or file."""
    output: Annotated[Path, tyro.conf.arg(aliases=["-o"])]
    """Folder of the store; run the same command again to go on after a stop."""
    layout: str | None = None
    """lerobot, robo4d, robosuite, rlds or droid; default: what the source looks like."""
    robot: str = ""
    """A name (see: kin4d robot --list) or a URDF or MJCF file; default: what the source says."""
    camera: Path | None = None
    """Where the camera stands, as written by kin4d calibrate; needed where the source is silent."""
    view: str | None = None
    """Which camera's video; default: the first."""
    remove_link: str | None = None
    """Remove this link and its descendants, because the real robot has something else there."""
    frames: Count = 49
    """Length of every episode, by uniform resampling."""
    size: tuple[Count, Count] | None = None
    """Width and height in pixels; default: the video's own."""
    depth: str | None = None
    """Weights of a depth network (a folder or a hub id), for points off the robot."""
    masks: str | None = None
    """Weights of SAM 2, for robot masks that do not trust the model of the robot."""
    captions: str | None = None
    """Weights of a vision-language model, for recordings without words."""
    degrees: bool = False
    """LeRobot: joints are in degrees."""
    ignore_joint_names: bool = False
    """LeRobot: joints are in the robot's order; their recorded names are ignored."""
    gripper: AnyInt | None = None
    """LeRobot: which column is the gripper, e.g. -1."""
    gripper_range: tuple[Reading, Reading] = (0.0, 1.0)
    """LeRobot: what it reads when closed and when open."""
    limit: Count | None = None
    """At most so many episodes."""
    workers: Workers = 1
    """Processes; networks are loaded in each."""
    package_path: tuple[Path, ...] = ()
    """Folders in which package:// meshes are looked for."""
    json: bool = False
    """Print JSON for machines."""

    def run(self) -> None:
        from kin4d.episodes.formats.reader import open_dataset
        from kin4d.episodes.importer import import_episodes

        options: dict[str, Any] = {}
        for name in ("degrees", "ignore_joint_names"):
            if getattr(self, name):
                options[name] = True
        if self.gripper is not None:
            options |= {"gripper": self.gripper, "gripper_range": self.gripper_range}
        store = import_episodes(
            open_dataset(self.source, layout=self.layout, **options),
            self.output,
            source=self.source.name,
            converter=self._converter(),
            limit=self.limit,
            workers=self.workers,
        )
        reasons = dict(store.reasons)
        if not len(store):
            first = store.dropped[0]["dropped"] if store.dropped else "it is empty"
            why = f"{_counts(reasons)}; the first: {first}"
            raise InputError(f"nothing of {self.source} became an episode: {why}")
        data = {"written": str(self.output), "episodes": len(store), "rejected": reasons}
        text = f"{len(store)} episodes in {self.output}"
        if reasons:
            text += f"; {len(store.dropped)} rejected: {_counts(reasons)}"
        print_result(text, data, as_json=self.json)

    def _converter(self) -> RecordingConverter:
        from kin4d.episodes.annotators.caption import CaptionModel
        from kin4d.episodes.annotators.depth import DepthModel
        from kin4d.episodes.annotators.segment import Sam2Masks
        from kin4d.episodes.converter import RecordingConverter
        from kin4d.geometry.camera import Camera

        return RecordingConverter(
            robot=self.robot,
            remove_link=self.remove_link,
            view=self.view,
            camera=None if self.camera is None else Camera.load(self.camera),
            frames=self.frames,
            size=self.size,
            depth=None if self.depth is None else DepthModel(self.depth),
            mask=None if self.masks is None else Sam2Masks(self.masks),
            caption=None if self.captions is None else CaptionModel(self.captions),
            search_roots=self.package_path,
        )


@dataclass(frozen=True)
class DataExport:
    """Write episodes of a store in the layout of LeRobot or Robo4D."""

    store: Annotated[Path, tyro.conf.Positional]
    """Folder of the store."""
    output: Annotated[Path, tyro.conf.arg(aliases=["-o"])]
    """Folder to write."""
    layout: str = "lerobot"
    """lerobot (v3.0), lerobot-v2.1 or robo4d."""
    split: str | None = None
    """Only episodes of this split: train, val, test, unseen_arm, ..."""
    robot: str | None = None
    """Only episodes of this robot."""
    fps: Fps | None = None
    """LeRobot has one rate for all episodes: resample to this one; default: a whole number near
    the middle of theirs, if they differ."""
    limit: Count | None = None
    """At most so many episodes."""
    json: bool = False
    """Print JSON for machines."""

    def run(self) -> None:
        from kin4d.episodes.formats.lerobot_write import write_lerobot
        from kin4d.episodes.formats.robo4d import write_robo4d_episodes
        from kin4d.episodes.store import EpisodeStore

        episodes = self._chosen(EpisodeStore.open(self.store))
        if self.layout in ("lerobot", "lerobot-v2.1"):
            version = "v3.0" if self.layout == "lerobot" else "v2.1"
            write_lerobot(episodes, self.output, version=version, fps=self.fps or episodes.fps)
        elif self.layout == "robo4d":
            write_robo4d_episodes(episodes, self.output, split=self.split or "train")
        else:
            allowed = "lerobot, lerobot-v2.1, robo4d"
            raise InputError("unknown layout to write", value=self.layout, allowed=allowed)
        data = {"written": str(self.output), "episodes": len(episodes), "layout": self.layout}
        print_result(f"{len(episodes)} episodes in {self.output}", data, as_json=self.json)

    def _chosen(self, store: EpisodeStore) -> _Chosen:
        numbers = [
            i for i in store.numbers(self.split) if self.robot in (None, store.lines[i]["robot"])
        ]
        if not numbers:
            raise InputError(f"{self.store} has no such episodes", value=(self.split, self.robot))
        return _Chosen(store, numbers[: self.limit])


class _Chosen(Sequence):
    """Some episodes of a store, read on demand."""

    def __init__(self, store: EpisodeStore, numbers: list[int]) -> None:
        self._store, self._numbers = store, numbers

    def __len__(self) -> int:
        return len(self._numbers)

    @property
    def fps(self) -> float | None:
        """A rate for all of them, or None if they have one."""
        rates = [self._store.lines[number]["fps"] for number in self._numbers]
        if max(rates) - min(rates) <= 1e-6 * max(rates):
            return None
        return float(max(round(median(rates)), 1))

    def __getitem__(self, index: Any) -> Any:
        return self._store.episode(self._numbers[index])

    def __iter__(self) -> Iterator[Episode]:
        return (self[index] for index in range(len(self)))


def _counts(reasons: dict[str, int]) -> str:
    ordered = sorted(reasons.items(), key=lambda item: (-item[1], item[0]))
    return ", ".join(f"{name} {count}" for name, count in ordered)
