"""RobotTools: an end-effector gizmo with inverse kinematics, and what cameras see in metres."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import torch

from kin4d.bodies.body import Body
from kin4d.bodies.capabilities import EndEffector, KinematicTree, body_name
from kin4d.geometry.camera import Camera
from kin4d.geometry.transforms import matrix_to_quaternion, quaternion_to_matrix
from kin4d.kinematics.control import link_poses
from kin4d.kinematics.ik import solve_ik
from kin4d.render.pointmaps import render_bodies
from kin4d.viewer.page import Page

_FROM = (-1.0, 0.35, 0.2)
"""Where a robot's camera is if none is given: in sight of the page, and not in its way."""


class RobotTools:
    """For one robot.

    Args:
        page: Where.
        robot: A tree of joints with an end effector.
        posed: Called with coordinates that inverse kinematics found, and whether to set sliders.
        camera: To draw from; one that sees all of the robot if not given.
    """

    def __init__(
        self,
        page: Page,
        robot: Any,
        posed: Callable[[np.ndarray, bool], None],
        *,
        camera: Camera | None = None,
    ) -> None:
        assert isinstance(robot, KinematicTree)
        assert isinstance(robot, EndEffector)
        self._robot: Any = robot
        self._posed, self._q = posed, robot.q0.numpy().copy()
        self._dragging = False
        size = robot.rest.bbox_diagonal
        self.gizmo = page.scene.add_transform_controls(page.path("gizmo"), scale=0.18 * size)
        if camera is None:
            camera = Camera.framing(robot.rest.bounds, direction=_FROM, width=240, height=160)
        self.views = CameraViews(page, {"camera": camera}, {body_name(robot): robot})
        with page.gui.add_folder("End effector", order=3):
            self.status = page.gui.add_markdown("Drag the gizmo: the arm follows.")

        @self.gizmo.on_update
        async def _(event: Any) -> None:
            self._dragging = event.phase != "end"
            page.loop.post(self._reach, key=id(self))

    def show(self, q: np.ndarray) -> None:
        """The robot is at q [k]."""
        self._q = q.copy()
        if not self._dragging:
            pose = link_poses(self._robot, torch.from_numpy(q), self._robot.end_effector)
            self.gizmo.position = pose[:3, 3]
            self.gizmo.wxyz = matrix_to_quaternion(torch.from_numpy(pose[:3, :3])).numpy()
        self.views.show([q])

    def _reach(self) -> None:
        target = np.eye(4)
        turn = torch.from_numpy(np.asarray(self.gizmo.wxyz, np.float64))
        target[:3, :3] = quaternion_to_matrix(turn).numpy()
        target[:3, 3] = self.gizmo.position
        found = solve_ik(self._robot, target, q_start=self._q, restarts=0)
        metres, radians = float(found.position_error), float(found.rotation_error)
        self.status.content = (
            "reached"
            if bool(found.converged)
            else f"out of reach by {1e3 * metres:.3g} mm and {np.degrees(radians):.3g} degrees"
        )
        self._posed(found.q.numpy().copy(), True)


class CameraViews:
    """Cameras as frusta with what they see, and the pointmap of one as a coloured cloud.

    Args:
        page: Where.
        cameras: By name.
        bodies: What they see, by name.
    """

    def __init__(
        self, page: Page, cameras: Mapping[str, Camera], bodies: Mapping[str, Body]
    ) -> None:
        self._page, self._cameras, self._bodies = page, dict(cameras), dict(bodies)
        self._frusta: dict[str, Any] = {}
        self._cloud: Any = None
        self._q = [body.q0.numpy() for body in self._bodies.values()]
        size = max(body.rest.bbox_diagonal for body in self._bodies.values())
        self._point = 0.003 * size
        for name, camera in self._cameras.items():
            turn = torch.from_numpy(np.array(camera.pose[:3, :3]))
            self._frusta[name] = page.scene.add_camera_frustum(
                page.path("camera"),
                fov=float(2 * np.arctan(0.5 * camera.height / camera.K[1, 1])),
                aspect=camera.width / camera.height,
                scale=0.12 * size,
                wxyz=matrix_to_quaternion(turn).numpy(),
                position=np.array(camera.pose[:3, 3]),
            )
        with page.gui.add_folder("Cameras", order=4):
            self.camera = page.gui.add_dropdown("camera", [*self._cameras])
            self.image = page.gui.add_checkbox("image", initial_value=False)
            self.pointmap = page.gui.add_checkbox("pointmap", initial_value=False)
            page.on_change(self.image, self._draw)
            page.on_change(self.pointmap, self._draw)
            page.on_change(self.camera, self._draw)

    def show(self, q: list[np.ndarray]) -> None:
        """The bodies are at q, one [k] each."""
        self._q = [one.copy() for one in q]
        if self.image.value or self.pointmap.value:
            self._page.loop.post(self._draw, key=id(self))

    def _draw(self) -> None:
        for frustum in self._frusta.values():
            frustum.image = None
        if self._cloud is not None:
            self._cloud.remove()
            self._cloud = None
        if not (self.image.value or self.pointmap.value):
            return
        name = self.camera.value
        camera = self._cameras[name]
        video = render_bodies(self._bodies, [q[None] for q in self._q], camera, fps=1.0)
        if self.image.value:
            self._frusta[name].image = video.rgb[0]
        if self.pointmap.value:
            seen = np.isfinite(video.xyz[0]).all(-1) & (video.mask[0] > 0)
            points = video.xyz[0][seen] @ camera.pose[:3, :3].T + camera.pose[:3, 3]
            self._cloud = self._page.scene.add_point_cloud(
                self._page.path("pointmap"),
                points.astype(np.float32),
                video.rgb[0][seen],
                point_size=self._point,
            )
