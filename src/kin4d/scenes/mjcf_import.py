"""read_mjcf_scene: an MJCF file with several bodies to a scene of actors and obstacles."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import torch
from scipy.spatial.transform import Rotation

from kin4d.bodies.articulated import ArticulatedBody
from kin4d.bodies.articulated_base import Link
from kin4d.bodies.floating import FloatingBase
from kin4d.bodies.joint import Joint
from kin4d.bodies.robot.mjcf import open_mjcf
from kin4d.bodies.robot.robot_body import RobotBody
from kin4d.dynamics.motion import PrescribedMotion
from kin4d.dynamics.scene import Actor, Scene
from kin4d.errors import InputError
from kin4d.geometry.camera import Camera
from kin4d.geometry.mesh import Mesh
from kin4d.reading import reading

_FREE, _PLANE = 0, 0  # MuJoCo's numbers of a free joint and of a plane
_FLIP = np.diag([1.0, -1.0, -1.0])  # MuJoCo's cameras look along -z with y up


def read_mjcf_scene(path: str | Path) -> Scene:
    """The scene of an MJCF file (extra ``[sim]``), as the key frame "home" or the model has it.

    Every body on the world becomes an actor: a `FloatingBase` if it has a free joint, a robot that
    holds its pose if an actuator moves one of its joints, else an articulated body. Bodies that
    cannot move and what is on the world itself become obstacles, a level plane the ground. Shown
    geoms are the surface (see `RobotBody.from_mjcf`); masses and inertias are MuJoCo's.
    """
    with reading(path, "MJCF file"):
        reader = open_mjcf(path)
        found = reader.description(Path(path).stem)
    mujoco, model = reader.mujoco, reader.model
    data = mujoco.MjData(model)
    home = next((k for k in range(model.nkey) if model.key(k).name == "home"), None)
    if home is not None:
        data.qpos[:] = model.key_qpos[home]
    mujoco.mj_forward(model, data)
    world, driven = reader.bodies[0], reader.driven_joints()
    actors, obstacles = list[Actor](), list[Mesh]()
    if found.links[0].mesh is not None:
        obstacles.append(found.links[0].mesh)
    for number in np.flatnonzero(model.body_parentid == 0)[1:]:
        name = reader.bodies[number]
        first, free = model.body_jntadr[number], False
        if model.body_jntnum[number]:
            free = bool(model.jnt_type[first] == _FREE)
        root, pose = (name, _pose(data, number)) if free else (world, np.eye(4))
        links, joints = _subtree(found.links, found.joints, root, name)
        moving = [joint for joint in joints if joint.kind != "fixed"]
        rest = {
            joint.name: found.rest.get(joint.name, 0.0) for joint in moving if joint.mimic is None
        }
        if not moving and not free:
            obstacles += _still(links, joints)
            continue
        actuated = any(joint.name in driven for joint in moving)
        kind = RobotBody if actuated else ArticulatedBody
        body = kind(links, joints, q0=rest, root=pose, name=name)
        if free:
            body = FloatingBase(body)
        hold = PrescribedMotion(body.q0.numpy()[None], fps=1.0) if actuated and not free else None
        actors.append(Actor(body, name=name, motion=hold))
    if not actors:
        raise InputError(f"nothing can move in {path}", hint="give a body a joint")
    gravity = model.opt.gravity.tolist()
    return Scene(
        actors,
        ground=_ground(model),
        obstacles=obstacles,
        gravity=gravity if any(gravity) else False,
        cameras=_cameras(model, data),
    )


def _subtree(
    links: list[Link], joints: list[Joint], root: str, name: str
) -> tuple[list[Link], list[Joint]]:
    """What belongs to the body `name`, on `root`: itself or the world."""
    above = {joint.child: joint.parent for joint in joints}
    top = name
    while root != name and above[top] != root:  # massless links between joints come first
        top = above[top]
    own, stack = {root}, [top]
    while stack:
        own.add(link := stack.pop())
        stack += [joint.child for joint in joints if joint.parent == link]
    kept = [joint for joint in joints if joint.child in own and joint.parent in own]
    names = {joint.name for joint in kept}
    for joint in kept:
        if joint.mimic is not None and joint.mimic.leader not in names:
            raise InputError(
                f"joint '{joint.name}' follows a joint of another body", value=joint.mimic.leader
            )
    own_links = [link for link in links if link.name in own and link.name != root]
    base = next(link for link in links if link.name == root)
    return [base if root == name else Link(root), *own_links], kept


def _still(links: list[Link], joints: list[Joint]) -> list[Mesh]:
    """The surfaces of links that cannot move, in the world."""
    if all(link.mesh is None for link in links):
        return []
    body = ArticulatedBody(links, joints, name=links[-1].name)
    with torch.no_grad():
        poses = body.link_poses(body.q0).numpy()
    return [
        link.mesh.transformed(pose)
        for link, pose in zip(links, poses, strict=True)
        if link.mesh is not None
    ]


def _pose(data: Any, body: int) -> np.ndarray:
    pose = np.eye(4)
    pose[:3, :3] = Rotation.from_quat(data.xquat[body], scalar_first=True).as_matrix()
    pose[:3, 3] = data.xpos[body]
    return pose


def _ground(model: Any) -> float | None:
    """The height of the highest level plane on the world."""
    heights = [
        float(model.geom_pos[geom][2])
        for geom in range(model.ngeom)
        if model.geom_type[geom] == _PLANE
        and model.geom_bodyid[geom] == 0
        and np.allclose(model.geom_quat[geom][1:3], 0, atol=1e-9)
    ]
    return max(heights, default=None)


def _cameras(model: Any, data: Any) -> dict[str, Camera]:
    out = {}
    for number in range(model.ncam):
        width, height = model.cam_resolution[number].tolist()
        if width < 2 or height < 2:
            width, height = 720, 480
        focal = 0.5 * height / np.tan(np.radians(model.cam_fovy[number]) / 2)
        K = [[focal, 0, (width - 1) / 2], [0, focal, (height - 1) / 2], [0, 0, 1]]
        pose = np.eye(4)
        pose[:3, :3] = data.cam_xmat[number].reshape(3, 3) @ _FLIP
        pose[:3, 3] = data.cam_xpos[number]
        out[model.cam(number).name or f"camera{number}"] = Camera(np.array(K), pose, width, height)
    return out
