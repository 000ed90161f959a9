"""Damping and friction of joints, which a mesh does not show, chosen so that a body stays at rest.

Somebody has seen the object stand as it does: a joint that gravity would move from there has enough
friction to hold. Damping is that of a swing that stops without overshooting.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import torch

from kin4d.bodies.capabilities import KinematicTree
from kin4d.bodies.inertial import Inertial

GRAVITY = 9.81  # m/s^2
_LEAST_RATE = 1.0  # 1/s at which joints lose their speed at least
_HOLD = 1.5  # friction, of the gravity it holds
_ARMATURE = 1e-2  # of the inertia that a joint moves


@dataclass(frozen=True, kw_only=True)
class JointDynamics:
    """Passive forces of a joint.

    Attributes:
        damping: N m s/rad or N s/m.
        friction: N m or N of dry friction.
        armature: kg m^2 or kg added to what the joint moves, for stable simulation.
    """

    damping: float
    friction: float
    armature: float


def rest_values(body: KinematicTree) -> dict[str, float]:
    """Values (rad or m) of all joints at rest, by name."""
    values = body.drive.values(body.q0.numpy()).tolist()
    return dict(zip([joint.name for joint in body.joints], values, strict=True))


def joint_dynamics(
    body: KinematicTree, inertials: Mapping[str, Inertial]
) -> dict[str, JointDynamics]:
    """Passive forces of all joints that move, by name; `inertials` are those of the links."""
    with torch.no_grad():
        poses = body.link_poses(body.q0).numpy()
    values = rest_values(body)
    children: dict[str, list[str]] = {}
    for joint in body.joints:
        children.setdefault(joint.parent, []).append(joint.child)
    out = {}
    for joint in body.joints:
        if joint.kind == "fixed":
            continue
        pose = poses[body.link_index(joint.child)]
        axis, point = pose[:3, :3] @ joint.axis, pose[:3, 3]
        inertia = mass = 0.0
        moment = np.zeros(3)  # sum of mass times centre, from the joint
        carried = [joint.child]
        for name in carried:
            carried += children.get(name, [])
            if name not in inertials:
                continue
            inertial = inertials[name]
            frame = poses[body.link_index(name)]
            arm = frame[:3, :3] @ inertial.center + frame[:3, 3] - point
            spin = frame[:3, :3].T @ axis
            inertia += float(spin @ inertial.inertia @ spin)
            inertia += inertial.mass * float(np.square(np.cross(axis, arm)).sum())
            mass, moment = mass + inertial.mass, moment + inertial.mass * arm
        low, high = joint.limits
        if joint.kind == "prismatic":
            inertia, pull = mass, -GRAVITY * mass * axis[2]
            reach = high - low if np.isfinite(high - low) else 1.0
            rate = np.sqrt(GRAVITY / max(reach, 1e-3))
        else:
            pull = -GRAVITY * float(np.cross(axis, moment)[2])
            swing = GRAVITY * float(np.linalg.norm(np.cross(axis, moment)))
            rate = np.sqrt(swing / inertia) if inertia > 0 else 0.0
        value, near = values[joint.name], 1e-6
        free = value < high - near if pull > 0 else value > low + near
        out[joint.name] = JointDynamics(
            damping=2 * inertia * max(float(rate), _LEAST_RATE),
            friction=_HOLD * abs(pull) if free else 0.0,
            armature=_ARMATURE * inertia,
        )
    return out
