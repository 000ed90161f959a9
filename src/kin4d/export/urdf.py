"""URDF: the text of an articulated body as a robot description."""

from __future__ import annotations

from xml.etree.ElementTree import Comment, Element, SubElement

import numpy as np
from scipy.spatial.transform import Rotation

from kin4d.bodies.capabilities import KinematicTree
from kin4d.bodies.inertial import Inertial
from kin4d.bodies.joint import Joint
from kin4d.export.joint_dynamics import JointDynamics, joint_dynamics
from kin4d.export.link_assets import LinkAssets, linear_coupling
from kin4d.export.xml_text import document, numbers

_NO_LIMIT = 1e6  # rad or m: a prismatic joint must have limits in URDF
_MAX_EFFORT, _MAX_SPEED = 1e3, 1e2  # required by the format; neither is known


def urdf_text(assets: LinkAssets, *, folder: str) -> str:
    """The description of a body whose mesh files are in `folder`, relative to the file.

    A root that is not at the origin hangs on a link called "world".
    """
    body = assets.body
    robot = Element("robot", name=body.name)
    robot.append(
        Comment(
            " URDF cannot exclude pairs of links from colliding, so MuJoCo, which collides a "
            "fixed root with its children, reads this file without contacts; the MJCF has them. "
        )
    )
    extension = SubElement(robot, "mujoco")
    SubElement(
        extension,
        "compiler",
        strippath="false",
        fusestatic="false",
        boundmass="1e-9",
        boundinertia="1e-12",
    )
    option = SubElement(extension, "option", noslip_iterations="20", integrator="implicitfast")
    SubElement(option, "flag", contact="disable")
    for link in body.links:
        element = SubElement(robot, "link", name=link.name)
        if link.name in assets.inertials:
            _add_inertial(element, assets.inertials[link.name])
        for i, visual in enumerate(assets.visuals[link.name]):
            shown = SubElement(element, "visual")
            _add_mesh(shown, f"{folder}/{visual.file}")
            material = SubElement(shown, "material", name=f"{link.name}/{i}")
            SubElement(material, "color", rgba=numbers(visual.rgba))
        if link.name in assets.hull_files:
            collision = SubElement(element, "collision")
            _add_mesh(collision, f"{folder}/{assets.hull_files[link.name]}")
    if not np.array_equal(body.root, np.eye(4)):
        origin = "world"
        while origin in {named.name for named in (*body.links, *body.joints)}:
            origin += "_"
        SubElement(robot, "link", name=origin)
        to_world = Joint(
            name=origin, kind="fixed", parent=origin, child=body.order[0], origin=body.root
        )
        _add_joint(robot, body, to_world, None)
    passive = joint_dynamics(body, assets.inertials)
    for joint in body.joints:
        _add_joint(robot, body, joint, passive.get(joint.name))
    return document(robot)


def _add_joint(
    robot: Element, body: KinematicTree, joint: Joint, passive: JointDynamics | None
) -> None:
    endless = joint.kind == "revolute" and not np.isfinite(joint.limits).any()
    element = SubElement(
        robot, "joint", name=joint.name, type="continuous" if endless else joint.kind
    )
    _add_origin(element, joint.origin)
    SubElement(element, "parent", link=joint.parent)
    SubElement(element, "child", link=joint.child)
    if joint.kind == "fixed":
        return
    SubElement(element, "axis", xyz=numbers(joint.axis))
    bounds = {} if endless else dict(zip(("lower", "upper"), joint.limits, strict=True))
    SubElement(
        element,
        "limit",
        {key: numbers([np.clip(bound, -_NO_LIMIT, _NO_LIMIT)]) for key, bound in bounds.items()},
        effort=numbers([_MAX_EFFORT]),
        velocity=numbers([_MAX_SPEED]),
    )
    if passive is not None:
        SubElement(
            element,
            "dynamics",
            damping=numbers([passive.damping]),
            friction=numbers([passive.friction]),
        )
    if joint.mimic is not None:
        leader, slope, offset = linear_coupling(body, joint)
        SubElement(
            element,
            "mimic",
            joint=leader,
            multiplier=numbers([slope]),
            offset=numbers([offset]),
        )


def _add_inertial(link: Element, inertial: Inertial) -> None:
    element = SubElement(link, "inertial")
    SubElement(element, "origin", xyz=numbers(inertial.center), rpy="0 0 0")
    SubElement(element, "mass", value=numbers([inertial.mass]))
    rows, columns = np.triu_indices(3)
    entries = {
        f"i{'xyz'[i]}{'xyz'[j]}": numbers([inertial.inertia[i, j]])
        for i, j in zip(rows, columns, strict=True)
    }
    SubElement(element, "inertia", entries)


def _add_mesh(parent: Element, file: str) -> None:
    SubElement(parent, "origin", xyz="0 0 0", rpy="0 0 0")
    SubElement(SubElement(parent, "geometry"), "mesh", filename=file)


def _add_origin(joint: Element, pose: np.ndarray) -> None:
    angles = Rotation.from_matrix(pose[:3, :3]).as_euler("xyz")
    SubElement(joint, "origin", xyz=numbers(pose[:3, 3]), rpy=numbers(angles))
