"""Features of an episode as LeRobot names them, and their statistics."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from kin4d.episodes.episode import Episode
from kin4d.kinematics.actions import Actions
from kin4d.kinematics.conventions import rotation_columns

IMAGES = "observation.images.main"
DEPTH = "observation.depth.main"
MASK = "observation.mask.main"
STATE, ACTION = "observation.state", "action"


def episode_features(episode: Episode, fps: float, geometry: bool) -> dict[str, Any]:
    """What an episode has, as meta/info.json says it."""
    camera, actions = episode.video.camera, episode.actions
    size, names = [camera.height, camera.width], ["height", "width", "channels"]
    info = {
        "video.fps": fps,
        "video.height": camera.height + camera.height % 2,
        "video.width": camera.width + camera.width % 2,
        "video.channels": 3,
        "video.codec": "h264",
        "video.pix_fmt": "yuv420p",
        "video.is_depth_map": False,
        "has_audio": False,
    }
    features: dict[str, Any] = {
        IMAGES: {"dtype": "video", "shape": [*size, 3], "names": names, "info": info}
    }
    if episode.joints is not None:
        joints = [*episode.joint_names]
        features["observation.state"] = _feature("float32", len(joints), joints)
    if actions is not None:
        labels = _action_names(actions)
        features["action"] = _feature("float32", len(labels), labels)
    if geometry:
        features[DEPTH] = {
            "dtype": "image",
            "shape": [*size, 1],
            "names": names,
            "info": {"is_depth_map": True, "depth_unit": "mm"},
        }
        features[MASK] = {"dtype": "image", "shape": [*size, 1], "names": names}
    features["next.success"] = _feature("bool", 1, None)
    features["timestamp"] = _feature("float32", 1, None)
    for name in ("frame_index", "episode_index", "index", "task_index"):
        features[name] = _feature("int64", 1, None)
    return features


def _feature(dtype: str, size: int, names: list[str] | None) -> dict[str, Any]:
    return {"dtype": dtype, "shape": [size], "names": names}


def _action_names(actions: Actions) -> list[str]:
    if actions.is_pose:
        names = ["x", "y", "z", *rotation_columns(actions.rotation)]
    else:
        names = [*(actions.names or (f"joint{i}" for i in range(actions.values.shape[1])))]
    return names if actions.gripper is None else [*names, "gripper"]


def commands(actions: Actions) -> np.ndarray:
    """[T, n] values, and the gripper as the last column if it is commanded."""
    if actions.gripper is None:
        return actions.values
    return np.concatenate([actions.values, actions.gripper[:, None]], axis=1)


def feature_statistics(
    columns: dict[str, Any], episode: Episode, features: dict[str, Any]
) -> dict[str, dict[str, list]]:
    """Minimum, maximum, mean and standard deviation of each feature of an episode."""
    arrays = {
        name: np.asarray(values, np.float64).reshape(len(values), -1)
        for name, values in columns.items()
        if features[name]["dtype"] != "image"
    }
    stats = {name: _spread(values, values.shape[1:]) for name, values in arrays.items()}
    pixels = episode.video.rgb[:: max(len(episode) // 8, 1)].reshape(-1, 3) / 255.0
    stats[IMAGES] = _spread(pixels, (3, 1, 1)) | {"count": [len(episode)]}
    return stats


def _spread(values: np.ndarray, shape: tuple[int, ...]) -> dict[str, list]:
    made = {name: getattr(values, name)(0) for name in ("min", "max", "mean", "std")}
    return {k: v.reshape(shape).tolist() for k, v in made.items()} | {"count": [len(values)]}


def concat_features(stats: Sequence[dict[str, dict[str, list]]]) -> dict[str, dict[str, list]]:
    """The statistics of all episodes together."""
    joined = {}
    for key in stats[0]:
        one = {name: np.array([s[key][name] for s in stats]) for name in stats[0][key]}
        count = one["count"].reshape(-1, *[1] * (one["mean"].ndim - 1))
        mean = (one["mean"] * count).sum(0) / count.sum()
        square = ((one["std"] ** 2 + one["mean"] ** 2) * count).sum(0) / count.sum()
        joined[key] = {
            "min": one["min"].min(0).tolist(),
            "max": one["max"].max(0).tolist(),
            "mean": mean.tolist(),
            "std": np.sqrt(np.maximum(square - mean**2, 0)).tolist(),
            "count": [int(one["count"].sum())],
        }
    return joined
