"""Find the camera of a video from the robot in it: no checkerboard.

A known camera films a robot. A few points of the robot are "clicked" with an error of 1.5 pixels;
`calibrate` finds the camera from them, and `refine_camera` improves it on the robot's outline.
"""

from pathlib import Path

import numpy as np
import torch

import kin4d
from kin4d.calibration.calibrate import calibrate, refine_camera
from kin4d.calibration.correspondences import Correspondence, CorrespondenceSet
from kin4d.calibration.overlay import overlay
from kin4d.export.video import write_image


def main(output: Path = Path("out/examples")) -> None:
    arm = kin4d.load_robot("kin4d_arm")
    swing = np.sin(np.linspace(0, 2 * np.pi, 24))[:, None] * [0.9, 0.4, -0.3, 0.5, 0.4, 0.3, 0.0]
    q = arm.q0.numpy() + swing[:, : len(arm.q0)]
    true = kin4d.Camera.look_at((0.7, -0.5, 0.6), (0.1, 0, 0.3), fov=60, width=360, height=240)
    frames = kin4d.render_bodies({"arm": arm}, [q], true).rgb

    rng = np.random.default_rng(0)
    poses = arm.link_poses(torch.from_numpy(q)).detach().numpy()
    matches = []
    for frame in range(0, 24, 3):
        for link in ("base", "upper_arm", "forearm", "wrist", "tcp"):
            pixel = true.project(poses[frame, arm.link_index(link), None, :3, 3])[0][0]
            u, v = pixel + rng.normal(0, 1.5, 2)
            matches.append(Correspondence(frame, (u, v), link))
    clicks = CorrespondenceSet(tuple(matches), true.width, true.height)

    first = calibrate(arm, q, clicks).camera
    refined = refine_camera(arm, q, frames, first, matches=clicks)
    print(f"refinement {'accepted' if refined.accepted else 'rejected, the first camera is kept'}")
    for name, camera in (("from clicks", first), ("refined", refined.camera)):
        off = np.linalg.norm(camera.pose[:3, 3] - true.pose[:3, 3])
        print(f"{name}: camera {1e3 * off:.1f} mm off, focal {camera.K[0, 0]:.1f} px")
    print(f"true focal length: {true.K[0, 0]:.1f} px")
    refined.camera.save(output / "camera.json")
    drawn = kin4d.render_bodies({"arm": arm}, [q[6:7]], refined.camera).mask[0]
    write_image(overlay(frames[6], drawn), output / "08_calibration.png")


if __name__ == "__main__":
    main()
