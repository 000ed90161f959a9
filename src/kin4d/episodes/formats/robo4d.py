"""The folder layout of Robo4D-200k (Kinema4D), to and from pointmap videos.

    first_frames/N.png   videos/N.mp4        pointmap/N.mp4     the whole scene
    arm_masks_npy/N.npy  mask_videos/N.mp4   mask_pointmap/N.mp4  the robot alone, else black
    train_shuffled.txt   train_img_shuffled.txt                 one line an episode
    kin4d/N.json                                                 what the layout itself lacks

The layout holds XYZ as 8-bit colours in [-1, 1] and forgets camera, centre and scale; the last
file, which other readers ignore, keeps them, so that metres come back to within half a step of
``scale / 127``. Videos are written without loss in RGB, so that is the only error.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from kin4d.episodes.episode import ROBOT, Episode
from kin4d.episodes.metadata import episode_from_metadata, episode_metadata
from kin4d.errors import InputError
from kin4d.export.video import read_video, write_video
from kin4d.files import (
    atomic_path,
    existing_file,
    read_array,
    read_json,
    write_bytes,
    write_json,
)
from kin4d.geometry.camera import Camera
from kin4d.geometry.pointmap import PointmapVideo
from kin4d.progress import track
from kin4d.reading import reading

# Codec noise around black: a pixel must be brighter than this to be something.
_BLACK = 8


def write_robo4d_episodes(
    episodes: Sequence[Episode], folder: str | Path, *, split: str = "train"
) -> Path:
    """Add episodes to a Robo4D folder, numbered from 0; kin4d/N.json keeps all they are.

    Only the robot has a mask in this layout: other bodies come back as background.
    """
    for number in track(range(len(episodes)), "writing episodes"):
        episode = episodes[number]
        actions = episode.actions
        more = {"episode": episode_metadata(episode), "joints": _list_of(episode.joints)}
        if actions is not None:
            more |= {"actions": _list_of(actions.values), "gripper": _list_of(actions.gripper)}
        write_robo4d(episode.video, folder, str(number), split=split, more=more)
    return Path(folder)


class Robo4DFolder:
    """The episodes of a Robo4D folder; see `read_robo4d` for what it needs to be in metres."""

    def __init__(
        self,
        path: str | Path,
        *,
        camera: Camera | None = None,
        centre: tuple[float, float, float] | None = None,
        scale: float | None = None,
        robot: str = "unknown",
    ) -> None:
        self.path, self._robot = Path(path), robot
        self._metres: dict[str, Any] = {"camera": camera, "centre": centre, "scale": scale}
        names = [file.stem for file in (self.path / "videos").glob("*.mp4")]
        self._names = sorted(names, key=lambda name: (len(name), name))
        if not self._names:
            raise InputError(f"{path} holds no episodes", allowed="videos/N.mp4")

    def __len__(self) -> int:
        return len(self._names)

    def read(self, index: int) -> Episode:
        """Episode number `index`."""
        name = self._names[index]
        with reading(self.path, "Robo4D folder", place=f"episode '{name}'"):
            return self._read(name)

    def _read(self, name: str) -> Episode:
        video = read_robo4d(self.path, name, **self._metres)
        sidecar = self.path / "kin4d" / f"{name}.json"
        kept = read_json(sidecar) if sidecar.is_file() else {}
        if "episode" not in kept:
            return Episode(
                name=name, video=video, robot=self._robot, source="robo4d", licence="unknown"
            )
        joints, actions, gripper = (
            None if kept.get(key) is None else np.array(kept[key])
            for key in ("joints", "actions", "gripper")
        )
        return episode_from_metadata(
            kept["episode"], video, joints=joints, actions=actions, gripper=gripper
        )


def write_robo4d(
    video: PointmapVideo,
    folder: str | Path,
    name: str,
    *,
    robot: int = ROBOT,
    split: str = "train",
    more: dict[str, Any] | None = None,
) -> Path:
    """Add one episode to a Robo4D folder.

    Args:
        video: The episode.
        folder: The dataset; made if missing.
        name: The episode's name, unique in the folder (a number in the original).
        robot: Mask id of the robot.
        split: Names the list files.
        more: JSON values to keep beside camera, centre and scale.
    """
    from PIL import Image

    folder = Path(folder)
    if not name or Path(name).name != name:
        raise InputError("an episode name is a plain file name", value=name)
    centre, scale = normalisation(video)
    xyz = _encode(video.xyz, centre, scale)
    is_robot = video.mask == robot
    alone = is_robot[..., None]
    with atomic_path(folder / "first_frames" / f"{name}.png") as path:
        Image.fromarray(video.rgb[0]).save(path)
    for kind, frames in (
        ("videos", video.rgb),
        ("pointmap", xyz),
        ("mask_videos", np.where(alone, np.maximum(video.rgb, 1), 0).astype(np.uint8)),
        ("mask_pointmap", np.where(alone, xyz, 0).astype(np.uint8)),
    ):
        write_video(frames, folder / kind / f"{name}.mp4", fps=video.fps, lossless=True)
    with atomic_path(folder / "arm_masks_npy" / f"{name}.npy") as path:
        np.save(path, is_robot[..., None].astype(np.uint8), allow_pickle=False)
    _list(folder / f"{split}_shuffled.txt", f"videos/{name}.mp4")
    _list(folder / f"{split}_img_shuffled.txt", f"first_frames/{name}.png")
    meta = {
        "camera": video.camera.to_dict(),
        "centre": centre.tolist(),
        "scale": scale,
        "robot": video.names[robot - 1] if robot <= len(video.names) else "robot",
        **(more or {}),
    }
    return write_json(folder / "kin4d" / f"{name}.json", meta)


def read_robo4d(
    folder: str | Path,
    name: str,
    *,
    camera: Camera | None = None,
    centre: np.ndarray | tuple[float, float, float] | None = None,
    scale: float | None = None,
) -> PointmapVideo:
    """One episode of a Robo4D folder. The robot has mask id 1; all else is background.

    `camera`, `centre` [3] (m) and `scale` (m) are needed where the folder has no kin4d/N.json:
    the layout itself does not say them, and without them there are no metres.
    """
    folder = Path(folder)
    with reading(folder, "Robo4D folder", place=f"episode '{name}'"):
        return _video(folder, name, camera, centre, scale)


def _video(
    folder: Path,
    name: str,
    camera: Camera | None,
    centre: np.ndarray | tuple[float, float, float] | None,
    scale: float | None,
) -> PointmapVideo:
    sidecar, robot = folder / "kin4d" / f"{name}.json", "robot"
    if sidecar.is_file():
        meta = read_json(sidecar)
        camera = camera or Camera.from_dict(meta["camera"])
        centre = meta["centre"] if centre is None else centre
        scale, robot = scale or float(meta["scale"]), str(meta["robot"])
    if camera is None or centre is None or scale is None:
        raise InputError(
            f"{folder} does not say where episode '{name}' is in metres: no {sidecar.name}",
            hint="give camera (see: kin4d calibrate), centre and scale",
        )
    rgb, fps = read_video(folder / "videos" / f"{name}.mp4")
    coded, _ = read_video(folder / "pointmap" / f"{name}.mp4")
    mask = _robot_mask(folder, name)
    if not len(rgb) == len(coded) == len(mask):
        raise InputError(
            f"episode '{name}' of {folder} has files of different lengths",
            value={"videos": len(rgb), "pointmap": len(coded), "mask": len(mask)},
        )
    height, width = rgb.shape[1:3]
    if (camera.width, camera.height) != (width, height):
        camera = camera.resized(width, height)
    xyz = ((coded.astype(np.float32) - 1) / 127 - 1) * scale + np.asarray(centre, np.float32)
    xyz[(coded == 0).all(-1)] = np.nan
    return PointmapVideo(
        rgb=rgb, xyz=xyz.astype(np.float32), mask=mask, camera=camera, fps=fps, names=(robot,)
    )


def normalisation(video: PointmapVideo) -> tuple[np.ndarray, float]:
    """One centre [3] and one scale (m) for the whole clip, so that motion in depth survives.

    Both come from the box of all that is seen in any frame, so nothing is clipped.
    """
    seen = video.xyz[np.isfinite(video.xyz).all(-1)]
    if len(seen) == 0:
        raise InputError("a pointmap video in which nothing is seen has no scale")
    low, high = seen.min(0), seen.max(0)
    return (low + high) / 2, float(max((high - low).max() / 2, 1e-9))


def _encode(xyz: np.ndarray, centre: np.ndarray, scale: float) -> np.ndarray:
    """Metres to 1..255; 0 is kept for "nothing seen"."""
    unit = np.clip((xyz - centre.astype(np.float32)) / scale, -1, 1)
    seen = np.isfinite(unit).all(-1, keepdims=True)
    return np.where(seen, np.rint((np.nan_to_num(unit) + 1) * 127) + 1, 0).astype(np.uint8)


def _robot_mask(folder: Path, name: str) -> np.ndarray:
    """[T, H, W] uint8, 1 on the robot: the exact array if there, else what is not black."""
    exact = folder / "arm_masks_npy" / f"{name}.npy"
    if exact.is_file():
        mask = read_array(exact, what="mask")
        return (mask.reshape(mask.shape[:3]) > 0).astype(np.uint8)
    frames, _ = read_video(existing_file(folder / "mask_videos" / f"{name}.mp4"))
    return (frames.max(-1) > _BLACK).astype(np.uint8)


def _list(path: Path, line: str) -> None:
    lines = path.read_text().splitlines() if path.is_file() else []
    if line not in lines:
        write_bytes(path, ("\n".join([*lines, line]) + "\n").encode())


def _list_of(array: np.ndarray | None) -> list | None:
    return None if array is None else array.tolist()
