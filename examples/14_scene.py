"""A robot acts: its gripper takes a block from a stand and sets it down beside it.

A prescribed motion takes the arm along poses. The fingers follow with limited force, so they stop
at what they hold, and friction carries it. The same can be written in a scene file.
"""

from pathlib import Path

import numpy as np

import kin4d
from kin4d.geometry.primitives import box
from kin4d.kinematics.control import actions_to_q

# Seconds, position of the gripper (m), opening.
WAY = [
    (0.0, (0.38, -0.12, 0.26), 1.0),
    (0.7, (0.38, -0.12, 0.145), 1.0),
    (1.0, (0.38, -0.12, 0.145), 0.0),
    (1.6, (0.38, 0.00, 0.26), 0.0),
    (2.3, (0.38, 0.12, 0.045), 0.0),
    (2.6, (0.38, 0.12, 0.045), 1.0),
    (3.2, (0.38, 0.12, 0.20), 1.0),
]


def main(output: Path = Path("out/examples")) -> None:
    times, positions, openings = (np.array(column) for column in zip(*WAY, strict=True))
    at = np.arange(0, times[-1], 1 / 60)
    xyz = np.stack([np.interp(at, times, column) for column in positions.T], 1)
    down = np.tile([np.pi / 2**0.5, np.pi / 2**0.5, 0.0], (len(at), 1))  # rotation vector
    actions = kin4d.Actions(
        kind="pose",
        values=np.concatenate([xyz, down], 1),
        fps=60,
        gripper=np.interp(at, times, openings),
    )
    arm = kin4d.load_robot("kin4d_arm")
    q, result = actions_to_q(actions, arm)
    print(result)

    motion = kin4d.PrescribedMotion(q.numpy(), fps=60, max_force={"grip": 20.0})
    hand = ("gripper", "finger_left", "finger_right")
    robot = kin4d.Actor(arm, motion=motion, contact_links=hand, contacts=256)
    stand = box((0.12, 0.12, 0.1), name="stand")
    stand = stand.replace_vertices(stand.vertices + np.array([0.38, -0.12, 0.05]))
    cube = kin4d.FloatingBase(kin4d.RigidBody(box((0.04, 0.04, 0.08), color="#c0504d")))
    block = kin4d.Actor(cube, q=[0.38, -0.12, 0.14, 0, 0, 0], material="wood")
    camera = kin4d.Camera.look_at((1.0, -0.7, 0.6), (0.2, 0, 0.2), width=240, height=160)
    scene = kin4d.Scene([robot, block], ground=0.0, obstacles=[stand], cameras={"front": camera})
    run = kin4d.simulate(scene, seconds=3.2, fps=10)

    end = run.clips[1].q
    assert end is not None
    print(f"the block ends at {np.round(end[-1, :3], 3)} m")
    run.clip.save(output / "14_scene.gif", camera=scene.cameras["front"])


if __name__ == "__main__":
    main()
