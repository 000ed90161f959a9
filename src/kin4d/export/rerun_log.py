"""Logging to rerun (rerun.io): clips and pointmap videos as a recording, or into one of yours."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import torch

from kin4d.export.mesh_arrays import vertex_colors
from kin4d.extras import require
from kin4d.files import atomic_path
from kin4d.geometry.clip import Clip
from kin4d.geometry.pointmap import PointmapVideo
from kin4d.geometry.transforms import matrix_to_quaternion


def write_rerun(what: Clip | PointmapVideo, path: str | Path, *, name: str = "kin4d") -> Path:
    """Write a ``.rrd`` file, which `rerun FILE` opens.

    Args:
        what: A clip or a pointmap video.
        path: The file.
        name: Of the entity that everything is below.
    """
    rr = _rerun()
    with atomic_path(Path(path)) as part:
        recording = rr.RecordingStream("kin4d")
        recording.save(str(part))
        log_rerun(recording, what, name=name)
        recording.flush()
        recording.disconnect()
    return Path(path)


def log_rerun(recording: Any, what: Clip | PointmapVideo, *, name: str = "kin4d") -> None:
    """Log into a recording of one's own, on the timeline "time" (s).

    A clip with a rigid skin is logged as a mesh for each joint with the joint's motion; other clips
    as vertices for each frame. A pointmap video is logged as its camera, images and points.

    Args:
        recording: A `rerun.RecordingStream`.
        what: A clip or a pointmap video, z up, in metres.
        name: Of the entity.
    """
    rr = _rerun()
    recording.log("/", rr.ViewCoordinates.RIGHT_HAND_Z_UP, static=True)
    if isinstance(what, PointmapVideo):
        _log_video(rr, recording, what, name)
    elif what.skin is not None and what.skin.is_rigid:
        _log_parts(rr, recording, what, name)
    else:
        _log_vertices(rr, recording, what, name)


def _rerun() -> Any:
    return require("rerun", extra="rerun", purpose="logging to rerun")


def _log_parts(rr: Any, recording: Any, clip: Clip, name: str) -> None:
    mesh, skin = clip.mesh, clip.skin
    assert skin is not None
    joint, colors = skin.joints[:, 0][mesh.faces[:, 0]], _colors(clip)
    paths = {}
    for number in np.unique(joint).tolist():
        used, faces = np.unique(mesh.faces[joint == number], return_inverse=True)
        paths[number] = f"{name}/{skin.names[number] or number}"
        shape = rr.Mesh3D(
            vertex_positions=mesh.vertices[used].astype(np.float32),
            triangle_indices=faces.reshape(-1, 3).astype(np.uint32),
            vertex_colors=colors[used],
        )
        recording.log(f"{paths[number]}/mesh", shape, static=True)
    turns = matrix_to_quaternion(torch.from_numpy(np.array(skin.transforms[..., :3, :3]))).numpy()
    for frame in range(len(clip)):
        recording.set_time("time", duration=frame / clip.fps)
        for number, path in paths.items():
            w, x, y, z = turns[frame, number]
            motion = rr.Transform3D(
                translation=skin.transforms[frame, number, :3, 3],
                quaternion=rr.Quaternion(xyzw=[x, y, z, w]),
            )
            recording.log(path, motion)


def _log_vertices(rr: Any, recording: Any, clip: Clip, name: str) -> None:
    faces, colors = clip.mesh.faces.astype(np.uint32), _colors(clip)
    for frame in range(len(clip)):
        recording.set_time("time", duration=frame / clip.fps)
        points = clip.vertices[frame].astype(np.float32)
        shape = rr.Mesh3D(vertex_positions=points, triangle_indices=faces, vertex_colors=colors)
        recording.log(name, shape)


def _log_video(rr: Any, recording: Any, video: PointmapVideo, name: str) -> None:
    camera = video.camera
    pose = rr.Transform3D(translation=camera.pose[:3, 3], mat3x3=camera.pose[:3, :3])
    recording.log(name, pose, static=True)
    pinhole = rr.Pinhole(
        image_from_camera=camera.K,
        resolution=[camera.width, camera.height],
        camera_xyz=rr.ViewCoordinates.RDF,
    )
    recording.log(f"{name}/image", pinhole, static=True)
    for frame in range(len(video)):
        recording.set_time("time", duration=frame / video.fps)
        recording.log(f"{name}/image", rr.Image(video.rgb[frame]))
        seen = np.isfinite(video.xyz[frame]).all(-1)
        points = rr.Points3D(video.xyz[frame][seen], colors=video.rgb[frame][seen])
        recording.log(f"{name}/points", points)


def _colors(clip: Clip) -> np.ndarray:
    """[V, 3] uint8: where materials meet, one of them."""
    mesh = clip.mesh
    assert mesh.face_material is not None
    material = np.zeros(len(mesh.vertices), np.int64)
    material[mesh.faces.ravel()] = np.repeat(mesh.face_material, 3)
    return vertex_colors(mesh, np.arange(len(mesh.vertices)), material)
