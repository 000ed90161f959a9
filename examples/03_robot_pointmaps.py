"""A robot seen by a camera: colours, XYZ in metres and a mask for every pixel of every frame.

The motion is exact, computed from the robot's description, so the pointmaps are too. Any URDF
works, and so do names such as "panda" with `pip install "kin4d[robots]"`.
"""

import sys
from pathlib import Path

import numpy as np

from kin4d import Camera, load_robot, render_bodies
from kin4d.export.video import write_video
from kin4d.kinematics.actions import Actions
from kin4d.kinematics.control import actions_to_q
from kin4d.kinematics.resample import resample


def main(robot: str = "kin4d_arm", output: Path = Path("out/examples")) -> None:
    arm = load_robot(robot)
    # Joint commands at 10 Hz: two joints swing, the gripper opens and closes.
    swing = np.sin(np.linspace(0, 2 * np.pi, 20))
    values = np.stack([0.8 * swing, 0.3 * swing], axis=1)
    actions = Actions(
        kind="joint",
        values=arm.q0[:2].numpy() + values,
        names=arm.coordinates[:2],
        gripper=0.5 + 0.5 * swing,
        fps=10,
    )
    q, _ = actions_to_q(actions, arm)
    q = resample(q, 49, body=arm)

    size = arm.rest.bbox_diagonal
    camera = Camera.look_at((1.4 * size, -1.4 * size, size), (0, 0, 0.4 * size))
    video = render_bodies({"arm": arm}, [q], camera, fps=24)
    video.save(output / "arm_pointmap.npz")
    write_video(video.rgb, output / "arm.mp4", fps=24)
    depth = video.xyz[..., 2]
    print(f"{len(video)} frames, the arm is {np.nanmin(depth):.2f} m away at the nearest")


if __name__ == "__main__":
    main(sys.argv[1]) if len(sys.argv) > 1 else main()
