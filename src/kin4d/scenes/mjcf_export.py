"""write_mjcf_scene: a scene of rigid and articulated bodies as a MuJoCo model."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from xml.etree.ElementTree import Element, SubElement

import numpy as np
import torch
from scipy.spatial.transform import Rotation

from kin4d.bodies.articulated import ArticulatedBody
from kin4d.bodies.capabilities import FloatingRoot, KinematicTree, fixed_base
from kin4d.bodies.rigid import RigidBody
from kin4d.dynamics.scene import Actor, Scene
from kin4d.errors import InputError
from kin4d.export.link_assets import LinkAssets
from kin4d.export.mjcf import (
    add_assets,
    add_bodies,
    add_exclusions,
    add_followers,
    joint_positions,
    mjcf_root,
)
from kin4d.export.xml_text import document, numbers
from kin4d.files import atomic_path, write_bytes

_FLIP = np.diag([1.0, -1.0, -1.0])  # MuJoCo's cameras look along -z with y up
_SERVO = 200.0  # N m/rad or N/m


def write_mjcf_scene(scene: Scene, path: str | Path) -> Path:
    """Write the scene at its start: bodies, masses, joints, obstacles, ground and cameras.

    Links and joints are called ACTOR/NAME. Floating bodies get a free joint and driven robots
    position actuators that hold their pose. The key frame "home" is the start. Forces and motions
    are not part of the file. Meshes go to ``<stem>_meshes/`` beside it.

    Raises:
        InputError: If a body is soft or learned, which MJCF cannot state.
    """
    path = Path(path)
    if path.suffix.lower() != ".xml":
        raise InputError("a scene is exported as MJCF", value=path.name, allowed=".xml")
    folder = path.with_name(f"{path.stem}_meshes")
    root = mjcf_root(path.stem, folder=folder.name)
    shared = SubElement(root, "asset")
    world, qpos, ctrl, written = SubElement(root, "worldbody"), [], [], []
    for actor in scene.named_actors:
        body, home = _prefixed(actor)
        assets = LinkAssets(body)
        add_assets(shared, assets)
        top = add_bodies(world, assets)
        if isinstance(actor.body, FloatingRoot):
            top.insert(0, Element("freejoint", name=f"{actor.name}/root"))
            turn = Rotation.from_matrix(body.root[:3, :3]).as_quat(scalar_first=True)
            qpos += [*body.root[:3, 3], *turn]
        qpos += joint_positions(body, home)
        add_exclusions(root, assets)
        add_followers(root, body)
        if actor.motion is not None:
            ctrl += _add_servos(root, body, home)
        written.append(assets)
    for number, mesh in enumerate(scene.obstacles):
        name = f"obstacle{number}/{mesh.name}"
        assets = LinkAssets(RigidBody(replace(mesh, name=name)))
        add_assets(shared, assets)
        add_bodies(world, assets)
        written.append(assets)
    _add_surroundings(root, world, scene)
    key = SubElement(SubElement(root, "keyframe"), "key", name="home", qpos=numbers(qpos))
    if ctrl:
        key.set("ctrl", numbers(ctrl))
    with atomic_path(folder) as target:
        for assets in written:
            assets.write(target)
    return write_bytes(path, document(root).encode())


def _prefixed(actor: Actor) -> tuple[ArticulatedBody, dict[str, float]]:
    """The actor's tree where it starts, its names with the actor's in front, and its joints'
    values (rad or m) by name."""
    tree, q = fixed_base(actor.body), np.asarray(actor.q)
    if not isinstance(tree, KinematicTree):
        raise InputError(
            f"'{actor.name}' is not made of rigid links: MJCF cannot state how it deforms",
            value=type(tree).__name__,
            allowed="rigid and articulated bodies, and robots",
            hint="leave it out, or load it as a rigid or articulated body",
        )
    root = tree.root
    if isinstance(actor.body, FloatingRoot):
        with torch.no_grad():
            root = actor.body.root_pose(torch.from_numpy(q)).numpy() @ root
        q = q[6:]
    scale = 1.0 if actor.mass is None else actor.mass / float(actor.body.mass.sum())
    links = [
        replace(
            link,
            name=f"{actor.name}/{link.name}",
            inertial=link.inertial
            and replace(
                link.inertial,
                mass=scale * link.inertial.mass,
                inertia=scale * link.inertial.inertia,
            ),
        )
        for link in tree.links
    ]
    joints = [
        replace(
            joint,
            name=f"{actor.name}/{joint.name}",
            parent=f"{actor.name}/{joint.parent}",
            child=f"{actor.name}/{joint.child}",
            mimic=joint.mimic and replace(joint.mimic, leader=f"{actor.name}/{joint.mimic.leader}"),
        )
        for joint in tree.joints
    ]
    start = dict(zip((f"{actor.name}/{c}" for c in tree.coordinates), q.tolist(), strict=True))
    body = ArticulatedBody(links, joints, q0=start, root=root, name=actor.name)
    values = body.drive.values(q).tolist()
    return body, dict(zip((joint.name for joint in joints), values, strict=True))


def _add_servos(root: Element, body: ArticulatedBody, home: dict[str, float]) -> list[float]:
    """Position actuators on the coordinates; their targets at the start."""
    actuators = SubElement(root, "actuator")
    for name in body.coordinates:
        SubElement(
            actuators, "position", name=name, joint=name, kp=numbers([_SERVO]), dampratio="1"
        )
    return [home[name] for name in body.coordinates]


def _add_surroundings(root: Element, world: Element, scene: Scene) -> None:
    option = root.find("option")
    assert option is not None
    option.set("gravity", numbers(scene.gravity_acceleration))
    if scene.ground is not None:
        SubElement(
            world, "geom", name="ground", type="plane", size="5 5 0.1",
            pos=numbers([0, 0, scene.ground]),
        )  # fmt: skip
    for name, camera in scene.cameras.items():
        turn = Rotation.from_matrix(camera.pose[:3, :3] @ _FLIP).as_quat(scalar_first=True)
        fov = 2 * np.degrees(np.arctan(0.5 * camera.height / camera.K[1, 1]))
        SubElement(
            world, "camera", name=name, pos=numbers(camera.pose[:3, 3]), quat=numbers(turn),
            fovy=numbers([fov]), resolution=f"{camera.width} {camera.height}",
        )  # fmt: skip
