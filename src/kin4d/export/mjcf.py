"""MJCF: the text of an articulated body as a MuJoCo model."""

from __future__ import annotations

from collections.abc import Mapping
from xml.etree.ElementTree import Element, SubElement

import numpy as np
from numpy.polynomial import Chebyshev, Polynomial
from scipy.spatial.transform import Rotation

from kin4d.bodies.capabilities import KinematicTree
from kin4d.bodies.joint import Joint
from kin4d.errors import InputError
from kin4d.export.joint_dynamics import JointDynamics, joint_dynamics, rest_values
from kin4d.export.link_assets import LinkAssets
from kin4d.export.xml_text import document, numbers

_WORLD = "world"  # MuJoCo's own body; a link of that name gets another
# Constraints nearly without slack: by MuJoCo's default, a joint that friction holds creeps.
_STIFF_FRICTION = "0.9999 0.9999 0.001 0.5 2"
_POWERS = 5  # coefficients of MuJoCo's polynomials for joints that follow others


def mjcf_text(assets: LinkAssets, *, folder: str) -> str:
    """The model of a body whose mesh files are in `folder`, relative to the file.

    The root is fixed to the world. Visual geoms are in group 2, convex hulls for collision in
    group 3. The key frame "home" is the body's rest.
    """
    body = assets.body
    root = mjcf_root(body.name, folder=folder)
    add_assets(SubElement(root, "asset"), assets)
    add_bodies(SubElement(root, "worldbody"), assets)
    add_exclusions(root, assets)
    add_followers(root, body)
    if body.coordinates:
        _add_home(root, body)
    return document(root)


def mjcf_root(name: str, *, folder: str) -> Element:
    """A model without anything in it, whose files are in `folder`."""
    root = Element("mujoco", model=name)
    SubElement(
        root,
        "compiler",
        angle="radian",
        meshdir=folder,
        texturedir=folder,
        autolimits="true",
        boundmass="1e-9",
        boundinertia="1e-12",
    )
    SubElement(root, "option", integrator="implicitfast")
    defaults = SubElement(root, "default")
    visual = SubElement(defaults, "default", {"class": "visual"})
    SubElement(visual, "geom", type="mesh", contype="0", conaffinity="0", group="2", mass="0")
    collision = SubElement(defaults, "default", {"class": "collision"})
    SubElement(collision, "geom", type="mesh", group="3", mass="0")
    return root


def add_exclusions(root: Element, assets: LinkAssets) -> None:
    """Pairs of links that do not collide."""
    if assets.excluded:
        contact = SubElement(root, "contact")
        for first, second in assets.excluded:
            SubElement(contact, "exclude", body1=_body_name(first), body2=_body_name(second))


def add_assets(parent: Element, assets: LinkAssets) -> None:
    """Materials, textures and meshes."""
    textures = {v.texture for visuals in assets.visuals.values() for v in visuals} - {None}
    for texture in sorted(textures):  # pyright: ignore[reportArgumentType]
        SubElement(parent, "texture", name=texture, type="2d", file=texture)
    for link, visuals in assets.visuals.items():
        for visual in visuals:
            look = {"name": visual.file, "rgba": numbers(visual.rgba)}
            if visual.texture is not None:
                look["texture"] = visual.texture
            SubElement(parent, "material", look)
            # An open surface has no volume: without this MuJoCo refuses it.
            SubElement(parent, "mesh", name=visual.file, file=visual.file, inertia="shell")
        if link in assets.hull_files:
            file = assets.hull_files[link]
            SubElement(parent, "mesh", name=file, file=file)


def add_bodies(world: Element, assets: LinkAssets) -> Element:
    """Bodies, joints and geoms; returns the root link's element."""
    body = assets.body
    joints = {joint.child: joint for joint in body.joints}
    passive = joint_dynamics(body, assets.inertials)
    elements: dict[str, Element] = {}
    for name in body.order:
        joint = joints.get(name)
        parent = world if joint is None else elements[joint.parent]
        pose = body.root if joint is None else joint.origin
        quaternion = Rotation.from_matrix(pose[:3, :3]).as_quat(scalar_first=True)
        element = elements[name] = SubElement(
            parent,
            "body",
            name=_body_name(name),
            pos=numbers(pose[:3, 3]),
            quat=numbers(quaternion),
        )
        inertial = assets.inertials.get(name)
        if inertial is not None:
            full = inertial.inertia[[0, 1, 2, 0, 0, 1], [0, 1, 2, 1, 2, 2]]
            SubElement(
                element,
                "inertial",
                pos=numbers(inertial.center),
                mass=numbers([inertial.mass]),
                fullinertia=numbers(full),
            )
        if joint is not None and joint.kind != "fixed":
            _add_joint(element, joint, passive[joint.name])
        for visual in assets.visuals[name]:
            SubElement(element, "geom", {"class": "visual"}, mesh=visual.file, material=visual.file)
        if name in assets.hull_files:
            SubElement(element, "geom", {"class": "collision"}, mesh=assets.hull_files[name])
    return elements[body.order[0]]


def _add_joint(parent: Element, joint: Joint, passive: JointDynamics) -> None:
    element = SubElement(
        parent,
        "joint",
        name=joint.name,
        type="hinge" if joint.kind == "revolute" else "slide",
        axis=numbers(joint.axis),
        damping=numbers([passive.damping]),
        armature=numbers([passive.armature]),
    )
    if passive.friction:
        element.set("frictionloss", numbers([passive.friction]))
        element.set("solimpfriction", _STIFF_FRICTION)
    if np.isfinite(joint.limits).any() and joint.mimic is None:
        element.set("range", numbers(np.clip(joint.limits, -1e6, 1e6)))


def add_followers(root: Element, body: KinematicTree) -> None:
    """Joints that follow others, as equality constraints."""
    drive = body.drive
    equality = None
    for row, joint in enumerate(body.joints):
        if joint.mimic is None or joint.kind == "fixed":
            continue
        inner = Polynomial([drive.shift[row], drive.scale[row]])
        curve = Chebyshev(drive.coefficients[row]).convert(kind=Polynomial)(inner).trim(1e-12)
        if len(curve.coef) > _POWERS:
            raise InputError(
                f"joint '{joint.name}' follows another in a curve of degree {curve.degree()}",
                allowed=f"degree {_POWERS - 1} at most in MJCF, 1 in URDF",
            )
        powers = np.zeros(_POWERS)
        powers[: len(curve.coef)] = curve.coef
        if equality is None:
            equality = SubElement(root, "equality")
        SubElement(
            equality,
            "joint",
            joint1=joint.name,
            joint2=body.coordinates[int(drive.column[row])],
            polycoef=numbers(powers),
        )


def _add_home(root: Element, body: KinematicTree) -> None:
    """The rest pose."""
    q = joint_positions(body, rest_values(body))
    SubElement(SubElement(root, "keyframe"), "key", name="home", qpos=numbers(q))


def joint_positions(body: KinematicTree, values: Mapping[str, float]) -> list[float]:
    """Values of joints in the order of the bodies, as MuJoCo counts them."""
    moving = {joint.child: joint.name for joint in body.joints if joint.kind != "fixed"}
    return [values[moving[name]] for name in _depth_first(body) if name in moving]


def _depth_first(body: KinematicTree) -> list[str]:
    """Names of the links in the order in which the file has them."""
    children: dict[str, list[str]] = {}
    above = {joint.child: joint.parent for joint in body.joints}
    for name in body.order:
        children.setdefault(above.get(name, ""), []).append(name)
    found, stack = [], children[""][::-1]
    while stack:
        found.append(stack.pop())
        stack += children.get(found[-1], [])[::-1]
    return found


def _body_name(link: str) -> str:
    return f"{_WORLD}_link" if link == _WORLD else link
