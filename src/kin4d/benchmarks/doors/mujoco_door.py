"""The truth of the doors benchmark: MuJoCo moves the same gripper along the same way."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from scipy.spatial.transform import Rotation

from kin4d.benchmarks.doors.cases import FPS, SECONDS, DoorCase, gripper_mesh
from kin4d.export.collision_hulls import collision_hull
from kin4d.export.xml_text import numbers
from kin4d.extras import require
from kin4d.geometry.mesh import Mesh
from kin4d.geometry.mesh_ops import label_components, submesh

_DT = 1e-3
_STIFF = "0.004 1"  # s, ratio: a contact gives way by less than a millimetre


@dataclass(frozen=True, eq=False, kw_only=True)
class MujocoDoor:
    """What MuJoCo found.

    Attributes:
        angles: [T] rad that the door has turned since the start, `FPS` per second.
        touches_rest: Whether the gripper ever touched anything but the door.
    """

    angles: np.ndarray
    touches_rest: bool


def run_mujoco(case: DoorCase) -> MujocoDoor:
    """The door of a case, hinged with damping and without gravity, pulled by the gripper.

    Every connected component collides as its convex hull. Only the door moves, and only the
    gripper touches it: joints stop doors, not frames, as in our mechanics.
    """
    mujoco: Any = require("mujoco", extra="sim", purpose="comparing with MuJoCo")
    model = mujoco.MjModel.from_xml_string(_xml(case))
    data = mujoco.MjData(model)
    hinge, gripper = model.joint("hinge"), model.body("gripper")
    rest = {g for g in range(model.ngeom) if model.geom_bodyid[g] == model.body("rest").id}
    frames = round(SECONDS * FPS)
    steps = round(1 / (FPS * _DT))
    rows = np.linspace(0, len(case.gripper) - 1, frames * steps + 1)
    quaternions = Rotation.from_matrix(case.gripper[:, :3, :3]).as_quat(scalar_first=True)
    angles, touched = [0.0], False
    for step, row in enumerate(rows[1:], 1):
        near = round(row)
        data.mocap_pos[gripper.mocapid[0]] = case.gripper[near, :3, 3]
        data.mocap_quat[gripper.mocapid[0]] = quaternions[near]
        mujoco.mj_step(model, data)
        touched |= any(contact.dist < 0 and rest & set(contact.geom) for contact in data.contact)
        if step % steps == 0:
            angles.append(float(data.qpos[hinge.qposadr[0]]))
    return MujocoDoor(angles=np.array(angles), touches_rest=touched)


def _xml(case: DoorCase) -> str:
    moves = case.carried[case.mesh.faces[:, 0]]
    door, rest = submesh(case.mesh, moves), submesh(case.mesh, ~moves)
    assets: list[str] = []
    geoms = {
        name: "".join(_hulls(name, mesh, group, assets))
        for name, mesh, group in (
            ("door", door, 'contype="0" conaffinity="1"'),
            ("rest", rest, 'contype="0" conaffinity="1"'),
            ("gripper", gripper_mesh(), 'contype="1" conaffinity="0"'),
        )
    }
    low, high = (limit - case.q[case.joint] for limit in case.limits)
    return f"""
<mujoco>
  <compiler angle="radian" autolimits="true" boundmass="1e-9" boundinertia="1e-12"/>
  <option gravity="0 0 0" timestep="{_DT}" integrator="implicitfast"/>
  <default><geom type="mesh" mass="0" solref="{_STIFF}" friction="0.5 0.005 0.0001"/></default>
  <asset>{"".join(assets)}</asset>
  <worldbody>
    <body name="rest">{geoms["rest"]}</body>
    <body name="door">
      <joint name="hinge" type="hinge" pos="{numbers(case.point)}" axis="{numbers(case.axis)}"
        range="{numbers([low, high])}" damping="{numbers([case.damping])}"/>
      {_inertial(case)}{geoms["door"]}
    </body>
    <body name="gripper" mocap="true">{geoms["gripper"]}</body>
  </worldbody>
</mujoco>"""


def _hulls(name: str, mesh: Mesh, group: str, assets: list[str]) -> list[str]:
    """Geoms of the convex hulls of all components; their meshes go to `assets`."""
    label = label_components(len(mesh.vertices), mesh.faces)[mesh.faces[:, 0]]
    geoms = []
    for number, component in enumerate(np.unique(label)):
        hull = collision_hull(submesh(mesh, label == component))
        vertices = numbers(hull.vertices.ravel())
        assets.append(f'<mesh name="{name}{number}" vertex="{vertices}"/>')
        geoms.append(f'<geom mesh="{name}{number}" {group}/>')
    return geoms


def _inertial(case: DoorCase) -> str:
    """Of the true mass points that the hinge moves, in the world at the start."""
    q = torch.from_numpy(case.q)
    with torch.no_grad():
        points = case.body.points(q).numpy()
        moves = case.body.jacobian(q)[..., case.joint].abs().sum(-1).numpy() > 0
    points, masses = points[moves], case.body.mass.numpy()[moves]
    center = (masses[:, None] * points).sum(0) / masses.sum()
    arms = points - center
    second = np.einsum("p,pi,pj->ij", masses, arms, arms)
    moments = np.trace(second) * np.eye(3) - second
    full = moments[[0, 1, 2, 0, 0, 1], [0, 1, 2, 1, 2, 2]]
    return (
        f'<inertial pos="{numbers(center)}" mass="{numbers([masses.sum()])}" '
        f'fullinertia="{numbers(full)}"/>'
    )
