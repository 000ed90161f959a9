"""A tool that draws a circle: end-effector poses to joint values, with an honest report.

`track_poses` solves each frame from the one before. What cannot be reached is said, frame by frame,
with the distance that is left: here the second circle is too far away on purpose.
"""

from pathlib import Path

import numpy as np
import torch

from kin4d import bake, load_robot, write_clip
from kin4d.kinematics.ik import track_poses


def circle(start: np.ndarray, radius: float, shift: float, frames: int = 49) -> np.ndarray:
    """[T, 4, 4] poses on a circle (m) in the y-z plane through the start, moved away by `shift`."""
    poses = np.repeat(start[None], frames, axis=0)
    angle = np.linspace(0, 2 * np.pi, frames)
    poses[:, 0, 3] += shift
    poses[:, 1, 3] += radius * np.sin(angle)
    poses[:, 2, 3] += radius * (np.cos(angle) - 1)
    return poses


def main(output: Path = Path("out/examples")) -> None:
    arm = load_robot("kin4d_arm")
    with torch.no_grad():
        start = arm.link_poses(arm.q0)[arm.end_effector_index].numpy()
    near = track_poses(arm, circle(start, 0.06, 0.0), q_start=arm.q0)
    print("near:", near)
    print("far: ", track_poses(arm, circle(start, 0.06, 2.0), q_start=arm.q0))
    write_clip(bake(arm, near.q), output / "circle.glb")


if __name__ == "__main__":
    main()
