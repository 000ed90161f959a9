"""MuJoCo's offscreen depth of a `PointmapCase`, in its own process: OpenGL may crash."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

import numpy as np

from kin4d.benchmarks.robot.pointmap_task import PointmapCase
from kin4d.extras import require
from kin4d.files import read_arrays

TRIES = 3
_BACKENDS = ("egl", "osmesa")


@dataclass(frozen=True, eq=False)
class MujocoDepth:
    """Backend of OpenGL, seconds per frame, and depth [H, W] (m) of the first frame."""

    backend: str
    seconds: float
    depth: np.ndarray


def run_offscreen(
    module: str, given: dict[str, np.ndarray]
) -> tuple[str, dict[str, np.ndarray]] | str:
    """Run a module on arrays with each backend of OpenGL in turn, in a process of its own.

    Returns the first backend that worked and the arrays it wrote; or why none did.
    """
    why = []
    with tempfile.TemporaryDirectory() as folder:
        source, result = Path(folder) / "given.npz", Path(folder) / "result.npz"
        np.savez(source, **cast(dict[str, Any], given))
        for backend in _BACKENDS:
            done = subprocess.run(
                [sys.executable, "-m", module, str(source), str(result)],
                env={**os.environ, "MUJOCO_GL": backend},
                capture_output=True,
                text=True,
                timeout=900,
                check=False,
            )
            if done.returncode == 0 and result.is_file():
                return backend, read_arrays(result, what="result of an offscreen run")
            lines = done.stderr.strip().splitlines()
            why.append(f"{backend}: {lines[-1] if lines else f'exit code {done.returncode}'}")
    return "; ".join(why)


def mujoco_depth(task: PointmapCase) -> MujocoDepth | str:
    """Draw the task's video `TRIES` times and keep the best; or say why it cannot be drawn."""
    surface = task.surface
    given = {
        "rest": surface.rest,
        "joints": surface.joints[:, 0],
        "faces": surface.faces,
        "transforms": task.transforms,
        "K": task.camera.K,
        "pose": task.camera.pose,
        "size": np.array([task.camera.width, task.camera.height]),
    }
    done = run_offscreen(__name__, given)
    if isinstance(done, str):
        return done
    backend, found = done
    return MujocoDepth(backend, float(found["seconds"]), found["depth"])


def mocap_model(data: dict[str, np.ndarray], *, lit: bool = False):
    """One mocap body per joint, carrying the triangles that the joint carries.

    Args:
        data: What `mujoco_depth` gives: triangles, their joints and the camera.
        lit: A sun that casts shadows, and as many samples per pixel as is MuJoCo's default.
    """
    mujoco = require("mujoco", extra="sim", purpose="rendering with MuJoCo")
    width, height = (int(n) for n in data["size"])
    spec = mujoco.MjSpec()
    spec.visual.global_.offwidth, spec.visual.global_.offheight = width, height
    if lit:
        spec.worldbody.add_light(
            type=mujoco.mjtLightType.mjLIGHT_DIRECTIONAL, dir=(0.3, 0.2, -1.0), castshadow=True
        )
    else:
        spec.visual.quality.offsamples = 0
    joint_of_face = data["joints"][data["faces"][:, 0]]
    bodies = {}
    for joint in np.unique(joint_of_face):
        used, faces = np.unique(data["faces"][joint_of_face == joint], return_inverse=True)
        mesh = spec.add_mesh(
            name=f"mesh{joint}", inertia=mujoco.mjtMeshInertia.mjMESH_INERTIA_SHELL
        )
        mesh.uservert, mesh.userface = data["rest"][used].ravel(), faces.ravel()
        body = spec.worldbody.add_body(name=f"body{joint}", mocap=True)
        body.add_geom(type=mujoco.mjtGeom.mjGEOM_MESH, meshname=mesh.name, contype=0, conaffinity=0)
        bodies[int(joint)] = body.name
    rotation = data["pose"][:3, :3] * [1, -1, -1]
    quaternion = np.zeros(4)
    mujoco.mju_mat2Quat(quaternion, np.ascontiguousarray(rotation).ravel())
    spec.worldbody.add_camera(
        name="view",
        pos=data["pose"][:3, 3],
        quat=quaternion,
        fovy=float(np.degrees(2 * np.arctan(0.5 * height / data["K"][1, 1]))),
    )
    return spec.compile(), bodies


def _main(given: str, result: str) -> None:
    mujoco = require("mujoco", extra="sim", purpose="rendering with MuJoCo")
    with np.load(given) as file:
        data = dict(file)
    model, bodies = mocap_model(data)
    state = mujoco.MjData(model)
    mocap = {joint: model.body(name).mocapid[0] for joint, name in bodies.items()}
    width, height = (int(n) for n in data["size"])
    first = np.zeros(0)
    seconds = np.inf
    with mujoco.Renderer(model, height, width) as renderer:
        renderer.enable_depth_rendering()
        for _ in range(TRIES):
            started = time.perf_counter()
            for frame, pose in enumerate(data["transforms"]):
                for joint, row in mocap.items():
                    state.mocap_pos[row] = pose[joint, :3, 3]
                    mujoco.mju_mat2Quat(
                        state.mocap_quat[row], np.ascontiguousarray(pose[joint, :3, :3]).ravel()
                    )
                mujoco.mj_kinematics(model, state)
                mujoco.mj_camlight(model, state)
                renderer.update_scene(state, "view")
                depth = renderer.render()
                if frame == 0:
                    first = depth.copy()
            seconds = min(seconds, (time.perf_counter() - started) / len(data["transforms"]))
    np.savez(result, seconds=seconds, depth=first)


if __name__ == "__main__":
    _main(sys.argv[1], sys.argv[2])
