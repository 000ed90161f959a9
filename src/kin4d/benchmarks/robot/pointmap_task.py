"""The job that renderers are compared on: one robot, one motion, one camera, depth and faces."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch

from kin4d.bodies.articulated import ArticulatedBody
from kin4d.bodies.robot.registry import load_robot
from kin4d.geometry.camera import Camera
from kin4d.render.render_scene import RenderScene


@dataclass(frozen=True, eq=False, kw_only=True)
class PointmapCase:
    """What every renderer is given, in whatever form suits it; making that form is not timed.

    Attributes:
        body: The robot.
        q: [T, k] float64 its motion (rad).
        camera: The view.
        surface: Its triangles, merged and bound to joints.
        transforms: [T, J, 4, 4] motions of the joints from rest.
        vertices: [T, V, 3] float64 metres: the surface's vertices in every frame.
    """

    body: ArticulatedBody
    q: np.ndarray
    camera: Camera
    surface: RenderScene
    transforms: np.ndarray
    vertices: np.ndarray

    @classmethod
    def of(cls, body: ArticulatedBody, q: np.ndarray, camera: Camera) -> PointmapCase:
        """`body` moving through `q` [T, k]."""
        surface = RenderScene.of([body.rest], [body.skin])
        with torch.no_grad():
            transforms = body.skin_transforms(torch.from_numpy(q)).numpy()
        vertices = np.stack(
            [
                np.einsum("vij,vj->vi", pose[:, :3, :3], surface.rest) + pose[:, :3, 3]
                for pose in (frame[surface.joints[:, 0]] for frame in transforms)
            ]
        )
        return cls(
            body=body,
            q=q,
            camera=camera,
            surface=surface,
            transforms=transforms,
            vertices=vertices,
        )

    @classmethod
    def panda(cls, *, frames: int, width: int, height: int, seed: int) -> PointmapCase:
        """The Panda swinging all its joints about the middle of their ranges."""
        body = load_robot("panda")
        rng = np.random.default_rng(seed)
        limits = body.limits.numpy()
        middle, half = limits.mean(-1), np.ptp(limits, axis=-1) / 2
        phase = rng.uniform(0, 2 * np.pi, len(middle))
        phase_angle = 2 * np.pi * np.arange(frames)[:, None] / frames
        q = middle + 0.6 * half * np.sin(phase_angle * rng.integers(1, 3, len(middle)) + phase)
        camera = Camera.look_at(
            (1.7, -1.2, 0.9), (0.15, 0.0, 0.45), fov=42.0, width=width, height=height
        )
        return cls.of(body, q, camera)
