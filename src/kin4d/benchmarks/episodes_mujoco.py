"""MuJoCo's own renderer on a rollout, in a process of its own: OpenGL may be missing or crash."""

from __future__ import annotations

import sys
import time

import numpy as np

from kin4d.benchmarks.robot.mujoco_depth import mocap_model, run_offscreen
from kin4d.extras import require
from kin4d.render.render_scene import RenderScene
from kin4d.tasks.render_rollout import RenderBatch
from kin4d.tasks.simulate import Rollout
from kin4d.tasks.task_scene import TaskScene

_TRIES = 3


def mujoco_seconds(
    scene: TaskScene, rollout: Rollout, *, height: int, width: int, lit: bool
) -> tuple[str, float] | str:
    """Backend and processor seconds for colour, depth and segmentation of a rollout's frames.

    MuJoCo gets the same triangles, room included, in plain colours. Where OpenGL is missing, the
    reason is returned.

    Args:
        scene: Where it happened.
        rollout: What happened.
        height: Pixels.
        width: Pixels.
        lit: With a sun that casts shadows and four samples per pixel, as episodes have; else with
            neither.
    """
    actors = RenderBatch(scene, rollout)
    room = RenderScene.of(scene.room.meshes, scene.room.skins)
    frames, count = len(actors.transforms), actors.surface.joint_count
    still = np.tile(np.eye(4), (frames, 1, 1, 1))
    camera = scene.room.camera(height, width)
    given = {
        "rest": np.concatenate([actors.surface.rest, room.rest]),
        "joints": np.concatenate(
            [actors.surface.joints[:, 0], np.full(len(room.rest), count, np.int32)]
        ),
        "faces": np.concatenate([actors.surface.faces, room.faces + len(actors.surface.rest)]),
        "transforms": np.concatenate([actors.transforms, still], axis=1),
        "K": camera.K,
        "pose": camera.pose,
        "size": np.array([width, height]),
        "lit": np.array(lit),
    }
    done = run_offscreen(__name__, given)
    return done if isinstance(done, str) else (done[0], float(done[1]["seconds"]))


def _main(source: str, result: str) -> None:
    mujoco = require("mujoco", extra="sim", purpose="rendering with MuJoCo")
    with np.load(source) as file:
        data = dict(file)
    model, bodies = mocap_model(data, lit=bool(data["lit"]))
    state = mujoco.MjData(model)
    rows = {joint: model.body(name).mocapid[0] for joint, name in bodies.items()}
    width, height = (int(n) for n in data["size"])
    best = np.inf
    with mujoco.Renderer(model, height, width) as renderer:
        for _ in range(_TRIES):
            started = time.process_time()
            for pose in data["transforms"]:
                for joint, row in rows.items():
                    state.mocap_pos[row] = pose[joint, :3, 3]
                    rotation = np.ascontiguousarray(pose[joint, :3, :3]).ravel()
                    mujoco.mju_mat2Quat(state.mocap_quat[row], rotation)
                mujoco.mj_kinematics(model, state)
                mujoco.mj_camlight(model, state)
                renderer.update_scene(state, "view")
                renderer.render()
                renderer.enable_depth_rendering()
                renderer.render()
                renderer.disable_depth_rendering()
                renderer.enable_segmentation_rendering()
                renderer.render()
                renderer.disable_segmentation_rendering()
            best = min(best, time.process_time() - started)
    np.savez(result, seconds=best)


if __name__ == "__main__":
    _main(sys.argv[1], sys.argv[2])
