"""Small episodes of the shipped arm over a table, to test what is done with episodes."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np

from kin4d.bodies.robot.registry import load_robot
from kin4d.episodes.episode import Episode
from kin4d.geometry.camera import Camera
from kin4d.kinematics.actions import Actions
from kin4d.render.pointmaps import render_bodies

CAMERA = Camera.look_at((0.9, -0.9, 0.7), (0.1, 0.0, 0.2), fov=50, width=48, height=32)


def made_episode(seed: int = 0, *, frames: int = 49, **changes: Any) -> Episode:
    """The arm moves from one random pose to another; everything behind it is a wall."""
    return replace(_episode(seed, frames), **changes) if changes else _episode(seed, frames)


@cache
def _episode(seed: int, frames: int) -> Episode:
    body = load_robot("kin4d_arm")
    rng = np.random.default_rng(seed)
    limits = body.limits.numpy().clip(-1.0, 1.0)
    first, last = (rng.uniform(limits[:, 0], limits[:, 1]) for _ in range(2))
    q = np.linspace(first, last, frames)
    video = render_bodies({"kin4d_arm": body}, [q], CAMERA, fps=10.0)
    wall = (2.0 * CAMERA.rays()).astype(np.float32)
    xyz = np.where(np.isnan(video.xyz), wall, video.xyz)
    return Episode(
        name=f"{seed:06d}",
        video=replace(video, xyz=xyz),
        robot="kin4d_arm",
        joints=q,
        joint_names=tuple(body.coordinates),
        actions=Actions(kind="joint", values=q, fps=10.0, names=tuple(body.coordinates)),
        language="move the arm",
        task="reach",
        success=bool(seed % 2),
        seed=seed,
        factors={"background": f"wall {seed % 3}"},
    )
