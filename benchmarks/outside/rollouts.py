"""Film a MuJoCo simulation of another project: colour, depth, parts and the robot, as plain arrays.

Runs in the environment of that project; needs numpy, mujoco and nothing of kin4d.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import mujoco
import numpy as np

FRAMES = 49
HEIGHT, WIDTH = 64, 96
ANTIALIAS = 2
"""Samples along each side of a pixel, for the colours alone."""
FIRST_PART = 2
"""Label of the first part in a segmentation; 0 is the room, 1 the robot."""


@dataclass(frozen=True)
class View:
    """A camera that looks at a point.

    Attributes:
        target: [3] m, world frame.
        distance: m.
        azimuth: Degrees, MuJoCo's: where the camera looks to, from the x axis.
        elevation: Degrees; negative looks down.
    """

    target: tuple[float, float, float]
    distance: float
    azimuth: float
    elevation: float

    def free_camera(self) -> mujoco.MjvCamera:
        """For MuJoCo's renderer."""
        camera = mujoco.MjvCamera()
        camera.type = mujoco.mjtCamera.mjCAMERA_FREE
        camera.lookat[:] = self.target
        camera.distance, camera.azimuth, camera.elevation = (
            self.distance,
            self.azimuth,
            self.elevation,
        )
        return camera

    def pose(self) -> np.ndarray:
        """[4, 4] camera to world: x right, y down, z forward."""
        azimuth, elevation = np.radians([self.azimuth, self.elevation])
        level = np.cos(elevation)
        forward = np.array([level * np.cos(azimuth), level * np.sin(azimuth), np.sin(elevation)])
        right = np.array([np.sin(azimuth), -np.cos(azimuth), 0.0])
        pose = np.eye(4)
        pose[:3, :3] = np.stack([right, np.cross(forward, right), forward], axis=1)
        pose[:3, 3] = np.array(self.target) - self.distance * forward
        return pose


@dataclass(eq=False)
class Recorder:
    """Positions of a simulation while it runs, filmed afterwards.

    Attributes:
        model: The simulation's model.
        data: Its data.
        robot_root: Name of the robot's base body.
        hidden_groups: Groups of geoms that are not drawn, those for collisions.
        seconds: Between two `keep`.
    """

    model: mujoco.MjModel
    data: mujoco.MjData
    robot_root: str
    hidden_groups: tuple[int, ...]
    seconds: float
    _kept: list[np.ndarray] = field(default_factory=list)

    def keep(self) -> None:
        """Remember the present positions."""
        self._kept.append(np.concatenate([self.data.qpos, self.data.mocap_pos.ravel()]))

    def film(self, view: View, about: dict[str, Any]) -> dict[str, Any]:
        """The arrays of `FRAMES` frames, spread evenly over what was kept."""
        chosen = np.linspace(0, len(self._kept) - 1, FRAMES).round().astype(int)
        model, data = self.model, mujoco.MjData(self.model)
        robot = robot_bodies(model, self.robot_root)
        parts = rigid_parts(model, robot)
        label_of_geom = np.zeros(model.ngeom + 1, np.uint8)  # the last is for pixels of no geom
        label_of_geom[:-1][np.isin(model.geom_bodyid, robot)] = 1
        for number, bodies in enumerate(parts):
            label_of_geom[:-1][np.isin(model.geom_bodyid, bodies)] = FIRST_PART + number
        base = model.body(self.robot_root).id
        joints = [j for j in range(model.njnt) if model.jnt_bodyid[j] in robot]
        option = mujoco.MjvOption()
        option.sitegroup[:] = 0
        option.geomgroup[:] = [int(k not in self.hidden_groups) for k in range(6)]
        model.vis.quality.offsamples, model.vis.quality.shadowsize = 1, 1024  # twice as fast
        camera = view.free_camera()
        small = mujoco.Renderer(model, HEIGHT, WIDTH)
        large = mujoco.Renderer(model, ANTIALIAS * HEIGHT, ANTIALIAS * WIDTH)
        frames: dict[str, list[np.ndarray]] = {
            key: [] for key in ("rgb", "depth", "label", "part_poses", "joints")
        }
        for index in chosen:
            data.qpos[:] = self._kept[index][: model.nq]
            mujoco.mj_forward(model, data)
            large.update_scene(data, camera, option)
            blocks = large.render().reshape(HEIGHT, ANTIALIAS, WIDTH, ANTIALIAS, 3)
            frames["rgb"].append(np.rint(blocks.mean((1, 3))).astype(np.uint8))
            small.update_scene(data, camera, option)
            small.enable_depth_rendering()
            frames["depth"].append(small.render().copy())
            small.disable_depth_rendering()
            small.enable_segmentation_rendering()
            ids, kinds = np.moveaxis(small.render(), -1, 0)
            small.disable_segmentation_rendering()
            frames["label"].append(
                label_of_geom[np.where(kinds == mujoco.mjtObj.mjOBJ_GEOM, ids, -1)]
            )
            frames["part_poses"].append(
                np.array([_pose(data, bodies[0]) for bodies in parts]).reshape(-1, 4, 4)
            )
            frames["joints"].append(data.qpos[model.jnt_qposadr[joints]].copy())
        large.close()
        small.close()
        focal = 0.5 * HEIGHT / np.tan(np.radians(model.vis.global_.fovy) / 2)
        return {
            **{key: np.stack(values) for key, values in frames.items()},
            "K": np.array([[focal, 0, (WIDTH - 1) / 2], [0, focal, (HEIGHT - 1) / 2], [0, 0, 1.0]]),
            "camera_pose": view.pose(),
            "base_pose": _pose(data, base),
            "about": np.array(
                json.dumps(
                    {
                        **about,
                        "fps": (FRAMES - 1) / (self.seconds * max(chosen[-1], 1)),
                        "joint_names": [model.joint(j).name for j in joints],
                        "part_names": [model.body(bodies[0]).name for bodies in parts],
                    }
                )
            ),
        }


def robot_bodies(model: mujoco.MjModel, root: str) -> list[int]:
    """Ids of a body and of all that it carries."""
    found = {model.body(root).id}
    for body in range(model.nbody):
        if model.body_parentid[body] in found and body:
            found.add(body)
    return sorted(found)


def rigid_parts(model: mujoco.MjModel, robot: list[int]) -> list[list[int]]:
    """Bodies of each rigid part: those that move, and what carries them (a cabinet's body)."""
    groups: dict[int, list[int]] = {}
    tops = {_top(model, b) for b in range(model.nbody) if b not in robot and model.body_weldid[b]}
    for body in range(1, model.nbody):
        if body in robot or _top(model, body) not in tops:
            continue
        weld = int(model.body_weldid[body])
        key = weld if weld else -_top(model, body)
        groups.setdefault(key, []).append(body)
    has_geoms = set(model.geom_bodyid.tolist())
    return [bodies for bodies in groups.values() if has_geoms & set(bodies)]


def _top(model: mujoco.MjModel, body: int) -> int:
    """The ancestor that stands in the world itself."""
    while model.body_parentid[body]:
        body = int(model.body_parentid[body])
    return body


def _pose(data: mujoco.MjData, body: int) -> np.ndarray:
    pose = np.eye(4)
    pose[:3, :3], pose[:3, 3] = data.xmat[body].reshape(3, 3), data.xpos[body]
    return pose


def save_rollout(path: Path, arrays: dict[str, Any]) -> None:
    """Write one episode."""
    path.parent.mkdir(parents=True, exist_ok=True)
    np.savez_compressed(path, **arrays)
