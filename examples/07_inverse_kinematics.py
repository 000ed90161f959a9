"""A tool that draws a circle: end-effector poses to joint values.

`track_poses` solves each frame from the one before. Targets that cannot be reached are reported
with the distance that is left: the second circle is too far away on purpose.
"""

from pathlib import Path

import numpy as np
import torch

import kin4d
from kin4d.kinematics.ik import track_poses


def circle(start: np.ndarray, radius: float, offset: float, frames: int = 25) -> np.ndarray:
    """[T, 4, 4] poses on a circle (m) in the y-z plane through the start, `offset` m farther."""
    poses = np.repeat(start[None], frames, axis=0)
    angle = np.linspace(0, 2 * np.pi, frames)
    poses[:, 0, 3] += offset
    poses[:, 1, 3] += radius * np.sin(angle)
    poses[:, 2, 3] += radius * (np.cos(angle) - 1)
    return poses


def main(output: Path = Path("out/examples")) -> None:
    arm = kin4d.load_robot("kin4d_arm")
    with torch.no_grad():
        start = arm.link_poses(arm.q0)[arm.end_effector_index].numpy()
    near = track_poses(arm, circle(start, 0.12, 0.0), q_start=arm.q0)
    far = track_poses(arm, circle(start, 0.12, 2.0), q_start=arm.q0)
    print("near:", near)
    print("far: ", far)
    print("one pose:", kin4d.solve_ik(arm, start))

    clip = kin4d.bake(arm, near.q, fps=12)
    clip.save(output / "circle.glb")
    clip.save(output / "07_inverse_kinematics.gif", width=240, height=160)


if __name__ == "__main__":
    main()
