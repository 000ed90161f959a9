"""A robot seen by a camera: colour, XYZ in metres and a mask for every pixel of every frame.

The motion is exact forward kinematics of the robot's description, so the pointmaps are exact too.
Any URDF or MJCF file works, and names such as "panda" with `pip install "kin4d[robots]"`.
"""

import sys
from pathlib import Path

import numpy as np

import kin4d
from kin4d.export.video import write_video
from kin4d.kinematics.control import actions_to_q
from kin4d.kinematics.resample import resample
from kin4d.render.preview import color_and_depth


def main(robot: str = "kin4d_arm", output: Path = Path("out/examples")) -> None:
    arm = kin4d.load_robot(robot)
    # Joint commands at 10 Hz: two joints swing, the gripper opens and closes.
    swing = np.sin(np.linspace(0, 2 * np.pi, 20))
    actions = kin4d.Actions(
        kind="joint",
        values=arm.q0[:2].numpy() + np.stack([0.8 * swing, 0.3 * swing], axis=1),
        names=arm.coordinates[:2],
        gripper=0.5 + 0.5 * swing,
        fps=10,
    )
    q = resample(actions_to_q(actions, arm)[0], 20, body=arm)

    size = arm.rest.bbox_diagonal
    camera = kin4d.Camera.look_at(
        (0.8 * size, -0.8 * size, 0.7 * size), (0, 0, 0.4 * size), width=200, height=133
    )
    video = kin4d.render_bodies({"arm": arm}, [q], camera, fps=12)
    video.save(output / "arm_pointmap.npz")
    camera.save(output / "arm_camera.json")
    write_video(color_and_depth(video, width=200), output / "06_robot_pointmaps.gif", fps=12)
    print(
        f"{len(video)} frames, the arm is {np.nanmin(video.xyz[..., 2]):.2f} m away at the nearest"
    )


if __name__ == "__main__":
    main(sys.argv[1]) if len(sys.argv) > 1 else main()
