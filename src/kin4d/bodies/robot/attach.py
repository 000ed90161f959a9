"""Mount and prune: put a gripper on an arm's flange, or take one off."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from kin4d.bodies.joint import Joint
from kin4d.bodies.robot.robot_body import RobotBody
from kin4d.errors import InputError


def attach(
    arm: RobotBody, gripper: RobotBody, *, link: str, pose: np.ndarray | None = None
) -> RobotBody:
    """One robot from two: `gripper` fixed to a link of `arm`, which it takes as its world.

    The end effector is the gripper's. Names of the gripper that the arm uses too get the gripper's
    name and a slash in front.

    Args:
        arm: The robot that carries.
        gripper: The robot that is carried, its own `root` pose included.
        link: The arm's link to mount on, its flange.
        pose: [4, 4] where the gripper's world is in that link's frame; the same if not given.
    """
    arm.link_index(link)
    rename = _renamer(arm, gripper)
    origin = (np.eye(4) if pose is None else np.asarray(pose, np.float64)) @ gripper.root
    links = [*arm.links, *(replace(part, name=rename(part.name)) for part in gripper.links)]
    joints = [
        *arm.joints,
        Joint(
            name=rename(f"{gripper.name}_mount"),
            kind="fixed",
            parent=link,
            child=rename(gripper.order[0]),
            origin=origin,
        ),
    ]
    for joint in gripper.joints:
        mimic = joint.mimic and replace(joint.mimic, leader=rename(joint.mimic.leader))
        ends = {"parent": rename(joint.parent), "child": rename(joint.child)}
        joints.append(replace(joint, name=rename(joint.name), mimic=mimic, **ends))
    carried = {rename(name): value for name, value in _rest(gripper).items()}
    return RobotBody(
        links,
        joints,
        q0={**_rest(arm), **carried},
        root=arm.root,
        name=f"{arm.name}+{gripper.name}",
        end_effector=rename(gripper.end_effector),
        missing=(*arm.missing, *gripper.missing),
        loop_gap=max(arm.loop_gap, gripper.loop_gap),
    )


def remove_link(robot: RobotBody, link: str, *, end_effector: str | None = None) -> RobotBody:
    """The robot without `link` and all that stands on it: an arm without its hand.

    Args:
        robot: The whole robot.
        link: The link to take off.
        end_effector: The new end effector; by default the old one if it is still there, else the
            link that `link` was fixed to.
    """
    parent = robot.parent_of(link)
    if parent is None:
        raise InputError(f"'{link}' is the root of '{robot.name}': nothing would be left")
    gone = {link}
    for name in robot.order:
        if robot.parent_of(name) in gone:
            gone.add(name)
    joints = [joint for joint in robot.joints if joint.child not in gone]
    left = {joint.name for joint in joints}
    kept = robot.end_effector if robot.end_effector not in gone else parent
    return RobotBody(
        [part for part in robot.links if part.name not in gone],
        joints,
        q0={name: value for name, value in _rest(robot).items() if name in left},
        root=robot.root,
        name=robot.name,
        end_effector=end_effector or kept,
        missing=robot.missing,
        loop_gap=robot.loop_gap,
    )


def _rest(robot: RobotBody) -> dict[str, float]:
    return dict(zip(robot.coordinates, robot.q0.tolist(), strict=True))


def _renamer(arm: RobotBody, gripper: RobotBody):
    taken = {part.name for part in arm.links} | {joint.name for joint in arm.joints}
    return lambda name: f"{gripper.name}/{name}" if name in taken else name
