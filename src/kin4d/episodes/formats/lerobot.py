"""LeRobotDataset folders, v2.1 and v3.0, read: parquet tables, mp4 videos and their metadata.

    meta/info.json, data/..., videos/...        both; info.json says how files are named
    meta/episodes.jsonl, tasks.jsonl            v2: a file of each kind per episode
    meta/episodes/*/*.parquet, tasks.parquet    v3: many episodes per file
    meta/kin4d.jsonl                            written by kin4d: cameras and what else v3 lacks

A folder that kin4d wrote gives episodes; any other gives recordings.
"""

from __future__ import annotations

import re
from dataclasses import replace
from functools import cached_property, partial
from pathlib import Path
from typing import Any

import numpy as np

from kin4d.episodes.episode import Episode
from kin4d.episodes.formats.lerobot_features import ACTION, DEPTH, IMAGES, MASK, STATE
from kin4d.episodes.formats.lerobot_table import column, decode_images
from kin4d.episodes.formats.parquet import read_table
from kin4d.episodes.metadata import camera_from_metadata, current_robot, episode_from_metadata
from kin4d.episodes.recording import CameraStream, Recording
from kin4d.episodes.timing import shift_actions
from kin4d.errors import InputError
from kin4d.export.video import read_frames
from kin4d.files import read_json, read_json_lines
from kin4d.geometry.camera import Camera
from kin4d.geometry.pointmap import PointmapVideo
from kin4d.kinematics.actions import Actions
from kin4d.reading import confined_path, reading

_FIELD = r"\{[a-z_]+(:0?\d{1,2}d)?\}"
_ROBOT = re.compile(r"[\w .+-]*(?<!\.urdf)(?<!\.xml)", re.IGNORECASE)
_NEEDED = ("timestamp", "frame_index", "episode_index")


class LeRobotFolder:
    """The episodes of a LeRobotDataset.

    Args:
        path: Its folder.
        degrees: Whether joints are in degrees, as most recordings of SO-100 arms are.
        ignore_joint_names: Take joints in the robot's order and ignore their recorded names.
        gripper: Which column of state and action is the gripper, if any, e.g. -1.
        gripper_range: What it reads when closed and when open.
        state: What "observation.state" holds: "joint" or "pose".
        action: What "action" holds; see `Actions`.
        rotation: Convention of poses.
    """

    def __init__(
        self,
        path: str | Path,
        *,
        degrees: bool = False,
        ignore_joint_names: bool = False,
        gripper: int | None = None,
        gripper_range: tuple[float, float] = (0.0, 1.0),
        state: str = "joint",
        action: str = "joint",
        rotation: str = "rotvec",
    ) -> None:
        self.path = Path(path)
        info = read_json(self.path / "meta" / "info.json")
        if not isinstance(info, dict) or not {"codebase_version", "fps", "features"} <= set(info):
            raise InputError(f"{path}/meta/info.json is not of a LeRobotDataset")
        self.info: dict[str, Any] = info
        with reading(self.path, "LeRobotDataset", place="meta/info.json"):
            self._check_info()
        self.version = str(info["codebase_version"])
        if not self.version.startswith(("v2.", "v3.")):
            raise InputError(
                f"{path} has another version", value=self.version, allowed="v2.0, v2.1, v3.x"
            )
        self.features: dict[str, Any] = info["features"]
        self._degrees, self._ignore_joint_names = degrees, ignore_joint_names
        self._gripper, self._range = gripper, gripper_range
        self._kinds, self._rotation = {"state": state, "action": action}, rotation

    def _check_info(self) -> None:
        for name, feature in self.info["features"].items():
            if not isinstance(feature["dtype"], str):
                raise ValueError(f"feature '{name}' has no type")
        if not 0 < float(self.info["fps"]) < np.inf:
            raise ValueError("its fps is no positive number")
        robot = self.info.get("robot_type")
        if robot is not None and not _ROBOT.fullmatch(str(robot)):
            raise InputError(
                f"{self.path} names its robot by a path",
                value=robot,
                allowed="a name",
                hint="remove it from meta/info.json and give the robot yourself",
            )

    def __len__(self) -> int:
        return len(self.episodes)

    @property
    def fps(self) -> float:
        """Frames per second of all episodes."""
        return float(self.info["fps"])

    @cached_property
    def episodes(self) -> list[dict[str, Any]]:
        """What the metadata says of each episode, in order."""
        if self.version.startswith("v2."):
            rows = read_json_lines(self.path / "meta" / "episodes.jsonl")
            return self._checked(rows)
        files = sorted((self.path / "meta" / "episodes").glob("*/*.parquet"))
        if not files:
            raise InputError(f"{self.path} has no meta/episodes/*/*.parquet")
        rows = [row for file in files for row in read_table(file).to_pylist()]
        return sorted(self._checked(rows), key=lambda row: row["episode_index"])

    def _checked(self, rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
        for number, row in enumerate(rows):
            index = row.get("episode_index")
            if not isinstance(index, int) or isinstance(index, bool) or index < 0:
                raise InputError(f"{self.path}: episode {number} has no number", value=index)
        return rows

    @cached_property
    def descriptions(self) -> list[dict[str, Any]] | None:
        """What kin4d wrote of each episode, if it wrote the folder."""
        file = self.path / "meta" / "kin4d.jsonl"
        return read_json_lines(file) if file.is_file() else None

    def read(self, index: int) -> Recording | Episode:
        """Episode number `index`; an `Episode` if kin4d wrote the folder, geometry included."""
        with reading(self.path, "LeRobotDataset", place=f"episode {index}"):
            return self._read(index)

    def _read(self, index: int) -> Recording | Episode:
        if self.descriptions is not None and DEPTH in self.features:
            return self._episode(index, self.descriptions[index])
        entry = self.episodes[index]
        table = self.table(index)
        names = self._names()
        motions = {
            f"{name}_{self._kinds[name]}": self._motion(table, key, self._kinds[name], names)
            for name, key in (("state", STATE), ("action", ACTION))
            if key in self.features
        }
        tasks = entry.get("tasks") or [""]
        success = None
        if "next.success" in table.column_names:
            success = bool(column(table, "next.success", self.path).any())
        return Recording(
            name=f"{entry['episode_index']:06d}",
            motions=motions,
            views={key.rpartition(".")[2]: self.view(index, key) for key in self.cameras},
            language=str(tasks[0]),
            task=str(tasks[0]),
            success=success,
            robot=current_robot(str(self.info.get("robot_type") or "")),
            source=self.path.name,
        )

    @property
    def cameras(self) -> list[str]:
        """Keys of features that are images of colour."""
        return [
            key
            for key, feature in self.features.items()
            if feature["dtype"] in ("video", "image") and key.startswith("observation.image")
        ]

    def table(self, index: int) -> Any:
        """The rows of an episode, as a pyarrow table; missing columns are an `InputError`."""
        entry = self.episodes[index]
        number = entry["episode_index"]
        if self.version.startswith("v2."):
            file = self._file("data_path", number)
            table = read_table(file)
        else:
            where = {name: entry[f"data/{name}"] for name in ("chunk_index", "file_index")}
            file = self._file("data_path", number, **where)
            table = read_table(file, episode=number)
        numeric = [key for key, one in self.features.items() if one["dtype"] != "video"]
        missing = sorted({*_NEEDED, *numeric} - {*table.column_names})
        if missing:
            raise InputError(
                f"{file} lacks columns that meta/info.json promises: {', '.join(missing)}",
                value=table.column_names,
            )
        if table.num_rows != entry.get("length", table.num_rows):
            raise InputError(
                f"episode {number} of {self.path} has another length than its metadata says",
                value=table.num_rows,
                allowed=f"{entry['length']} rows",
            )
        return table

    def view(self, index: int, key: str) -> CameraStream:
        """One camera of an episode."""
        entry, camera = self.episodes[index], self._camera(index)
        if self.features[key]["dtype"] == "image":
            return CameraStream(read=partial(self._images, index, key), camera=camera)
        number = entry["episode_index"]
        if self.version.startswith("v2."):
            file = self._file("video_path", number, video_key=key)
            return CameraStream(read=partial(read_frames, file), camera=camera)
        indices = {name: entry[f"videos/{key}/{name}"] for name in ("chunk_index", "file_index")}
        file = self._file("video_path", number, video_key=key, **indices)
        start = entry[f"videos/{key}/from_timestamp"]
        return CameraStream(read=partial(_slice, file, start, entry["length"]), camera=camera)

    def _camera(self, index: int) -> Camera | None:
        """The camera in the robot's base frame, if kin4d wrote the folder."""
        if self.descriptions is None:
            return None
        metadata = self.descriptions[index]
        camera = camera_from_metadata(metadata)
        return replace(camera, pose=np.linalg.inv(np.array(metadata["base"])) @ camera.pose)

    def _episode(self, index: int, metadata: dict[str, Any]) -> Episode:
        table, camera = self.table(index), camera_from_metadata(metadata)
        frames, _ = self.view(index, IMAGES).read()
        depth = decode_images(table, DEPTH).astype(np.float32) / 1000
        depth[depth == 0] = np.nan
        video = PointmapVideo(
            # Videos have even sizes: an odd row or column was repeated.
            rgb=np.ascontiguousarray(frames[:, : camera.height, : camera.width]),
            xyz=depth[..., None] * camera.rays().astype(np.float32),
            mask=decode_images(table, MASK),
            camera=camera,
            fps=self.fps,
            names=tuple(metadata["bodies"]),
        )
        joints = column(table, STATE, self.path) if STATE in self.features else None
        values = gripper = None
        if ACTION in self.features:
            values = column(table, ACTION, self.path).astype(np.float64)
            if self.features[ACTION]["names"][-1] == "gripper":
                values, gripper = values[:, :-1], values[:, -1]
        episode = episode_from_metadata(
            metadata, video, joints=joints, actions=values, gripper=gripper
        )
        if episode.actions is None:
            return episode
        return replace(episode, actions=shift_actions(episode.actions, 1))

    def _images(self, index: int, key: str) -> tuple[np.ndarray, np.ndarray]:
        with reading(self.path, "LeRobotDataset", place=f"episode {index}, '{key}'"):
            table = self.table(index)
            return decode_images(table, key), column(table, "timestamp", self.path)

    def _file(self, template: str, number: int, **indices: Any) -> Path:
        info, pattern = self.path / "meta" / "info.json", str(self.info.get(template))
        if set("{}") & set(re.sub(_FIELD, "", pattern)):
            raise InputError(
                f"'{template}' in {info} cannot be used",
                value=pattern,
                allowed="fields like {episode_index:06d}",
            )
        with reading(info, "LeRobotDataset", place=f"'{template}'"):
            chunk = number // int(self.info.get("chunks_size", 1000))
            name = pattern.format(episode_chunk=chunk, episode_index=number, **indices)
        # Where the files of a cache are links, so is info.json, to the same folder.
        roots = (self.path, info.resolve().parent)
        return confined_path(info, name, base=self.path, roots=roots)

    def _names(self) -> tuple[str, ...] | None:
        if self._ignore_joint_names:
            return None
        names = self.features.get(STATE, {}).get("names")
        names = names.get("motors") if isinstance(names, dict) else names
        return tuple(map(str, names)) if names else None

    def _motion(self, table: Any, key: str, kind: str, names: tuple[str, ...] | None) -> Actions:
        values = column(table, key, self.path)
        values = values.reshape(len(values), -1).astype(np.float64)
        gripper = None
        if self._gripper is not None:
            closed, opened = self._range
            gripper = ((values[:, self._gripper] - closed) / (opened - closed)).clip(0.0, 1.0)
            values = np.delete(values, self._gripper, axis=1)
            if names:
                names = tuple(np.delete(np.array(names), self._gripper).tolist())
        if kind.startswith("joint") and self._degrees:
            values = np.radians(values)
        # Names such as "shoulder_pan.pos" are the recorder's, not the robot's: order counts.
        fits = kind.startswith("joint") and len(names or ()) == values.shape[1]
        plain = names if fits and not any("." in name for name in names or ()) else None
        return Actions(
            kind=kind,
            values=values,
            fps=self.fps,
            gripper=gripper,
            rotation=self._rotation,
            names=plain
            if kind.startswith("joint") and len(names or ()) == values.shape[1]
            else None,
        )


def _slice(file: Path, start: float, count: int) -> tuple[np.ndarray, np.ndarray]:
    if not (start >= 0 and count >= 1):
        raise InputError(f"an episode is nowhere in {file}", value=(start, count))
    frames, times = read_frames(file, start=start, count=count)
    return frames, times - times[0]
