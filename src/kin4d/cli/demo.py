"""`kin4d demo`: the main jobs on things that ship with the package, in under a minute."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import numpy as np
import tyro

from kin4d.cli.output import print_result, save_clip_output

if TYPE_CHECKING:
    from kin4d.bodies.body import Body
    from kin4d.kinematics.ik import IkResult

_BLOCK = 0.045  # edge of the block that is moved, m
# Tool position (m) and opening of each finger (m), with the frame at which it is reached.
_WAYPOINTS = {
    0: (0.30, -0.10, 0.26, 0.035),
    9: (0.36, -0.18, 0.16, 0.035),
    15: (0.36, -0.18, _BLOCK / 2, 0.035),
    18: (0.36, -0.18, _BLOCK / 2, _BLOCK / 2),
    24: (0.34, -0.14, 0.22, _BLOCK / 2),
    33: (0.28, 0.24, 0.22, _BLOCK / 2),
    39: (0.28, 0.24, _BLOCK / 2, _BLOCK / 2),
    42: (0.28, 0.24, _BLOCK / 2, 0.035),
    48: (0.28, 0.24, 0.22, 0.035),
}
_GRASPED, _RELEASED = 18, 39


def demo(
    *,
    output: Annotated[Path, tyro.conf.arg(aliases=["-o"])] = Path("out/demo"),
    json: bool = False,
) -> None:
    """Open a door, and let a robot arm move a block: animated files and metric pointmaps.

    Args:
        output: Folder for the results.
        json: Print JSON for machines.
    """
    from kin4d.bodies import bake, hinge, sweep_joints
    from kin4d.export.video import write_video
    from kin4d.geometry.camera import Camera
    from kin4d.render.background import FloorPlane
    from kin4d.render.pointmaps import render_bodies

    made: dict[str, str] = {}

    def keep(name: str, what: str) -> Path:
        made[name] = what
        return output / name

    door = hinge()
    clip = bake(door, sweep_joints(door, frames=49))
    save_clip_output(clip, keep("door.glb", "a door swinging, for any 3D viewer"))
    save_clip_output(clip, keep("door.gif", "the same as a picture"), width=480, height=320)

    bodies, motions, reached = _move_a_block()
    save_clip_output(bake(bodies["arm"], motions[0]), keep("arm.glb", "the shipped arm at work"))
    camera = Camera.look_at((1.05, -0.75, 0.65), (0.16, 0.02, 0.16), fov=35)
    reach = np.array([[-0.2, -0.4, 0.0], [0.5, 0.4, 0.5]])
    floor = FloorPlane.under(reach, up=np.array([0.0, 0.0, 1.0]))
    video = render_bodies(bodies, motions, camera, fps=24, floor=floor, antialias=2)
    video.save(keep("arm.npz", "arm and block as a camera sees them: RGB, XYZ in metres, masks"))
    write_video(video.rgb, keep("arm.mp4", "its colours"), fps=24)
    write_video(_false_colors(video.xyz), keep("arm_xyz.mp4", "its XYZ as colours"), fps=24)

    depth = video.xyz[..., 2][video.mask == 1]
    lines = [f"{output / name}: {what}" for name, what in made.items()]
    lines.append(f"{reached}; the arm is {depth.min():.2f} to {depth.max():.2f} m from the camera")
    data = {
        "output": str(output),
        "files": made,
        "targets_missed": int((~reached.converged).sum()),
        "visible": float((video.mask > 0).mean()),
    }
    print_result("\n".join(lines), data, as_json=json)


def _move_a_block() -> tuple[dict[str, Body], list[np.ndarray], IkResult]:
    """The arm and a block, their coordinates over 49 frames, and how well the path was met."""
    from scipy.interpolate import PchipInterpolator

    from kin4d.bodies import FloatingBase, RigidBody
    from kin4d.bodies.robot.registry import load_robot
    from kin4d.geometry.primitives import box
    from kin4d.kinematics.ik import track_poses

    arm = load_robot("sketch")
    block = FloatingBase(RigidBody(box((_BLOCK, _BLOCK, _BLOCK), color="#e07030", name="block")))
    path = PchipInterpolator([*_WAYPOINTS], [*_WAYPOINTS.values()])(np.arange(49))
    poses = np.tile(np.diag([-1.0, 1.0, -1.0, 1.0]), (49, 1, 1))  # the tool points down
    poses[:, :3, 3] = path[:, :3]
    reached = track_poses(arm, poses, q_start=arm.q0)
    q = reached.q.numpy().copy()
    q[:, -1] = path[:, 3]
    held = np.clip(np.arange(49), _GRASPED, _RELEASED)
    place = np.zeros((49, 6))
    place[:, :3] = path[held, :3]
    return {"arm": arm, "block": block}, [q, place], reached


def _false_colors(xyz: np.ndarray) -> np.ndarray:
    """Coordinates [T, H, W, 3] (m) as colours, each axis over its own range; white for nothing."""
    low, high = np.nanmin(xyz, axis=(0, 1, 2)), np.nanmax(xyz, axis=(0, 1, 2))
    unit = np.nan_to_num((xyz - low) / (high - low), nan=1.0)
    return (255 * unit).astype(np.uint8)
