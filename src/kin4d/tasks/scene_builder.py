"""Bench: the world of one task under construction, for MuJoCo to move and for us to draw."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from kin4d.extras import require
from kin4d.geometry.mesh import Mesh
from kin4d.kinematics.arms import Arm
from kin4d.tasks.fixtures import Fixture
from kin4d.tasks.props import Geom, Prop

TIMESTEP = 0.0025
# Contact bits: which geoms collide. Fixed objects do not collide with each other.
_ROBOT, _LOOSE = 1, 2
# Sliding, torsional and rolling friction. Pads grip whatever they touch; what a finger pushes may
# be smooth; on the table everything slides alike, rather than tips.
_PADS, _PLAIN, _SMOOTH = (1.6, 0.02, 0.001), (0.5, 0.01, 0.0005), (0.2, 0.005, 0.0001)
_GRIP_FORCE = 25.0


@dataclass(frozen=True, eq=False)
class SceneObject:
    """Something that is drawn: one mask id, and a mesh for each of the bodies it is made of."""

    name: str
    bodies: tuple[str, ...]
    meshes: tuple[Mesh, ...]


class SceneBuilder:
    """A table with an arm, on which a task places objects.

    Args:
        arm: The robot.
        rng: Every choice of the task comes from here.

    Attributes:
        spec: The MuJoCo model so far.
        objects: What is drawn besides the robot, in order of mask ids from 2.
        start: Values of fixtures' joints at the beginning.
    """

    def __init__(self, arm: Arm, rng: np.random.Generator) -> None:
        self.arm, self.rng = arm, rng
        self.mujoco: Any = require("mujoco", extra="sim", purpose="doing tasks in simulation")
        self.spec = self.mujoco.MjSpec()
        self.spec.compiler.degree = False
        self.objects: list[SceneObject] = []
        self.start: dict[str, float] = {}
        option = self.spec.option
        option.timestep = TIMESTEP
        option.integrator = self.mujoco.mjtIntegrator.mjINT_IMPLICITFAST
        option.cone = self.mujoco.mjtCone.mjCONE_ELLIPTIC
        self.spec.worldbody.add_geom(
            type=self.mujoco.mjtGeom.mjGEOM_PLANE, size=[2, 2, 0.1], contype=0,
            conaffinity=_ROBOT | _LOOSE, friction=_PLAIN, priority=3,
        )  # fmt: skip
        _add_arm(self.mujoco, self.spec, arm)

    def add_prop(
        self, name: str, prop: Prop, at: Sequence[float], *, yaw: float = 0.0, height: float = 0.0
    ) -> np.ndarray:
        """Place a loose object at (x, y) on a surface of some height (m); returns its centre."""
        centre = np.array([at[0], at[1], height + prop.half + 0.0005])
        body = self.spec.worldbody.add_body(name=name, pos=centre, quat=_yaw_rotation(yaw))
        body.add_freejoint()
        for geom in prop.geoms:
            self._geom(body, geom, contype=_LOOSE, mass=prop.mass / len(prop.geoms))
        self.objects.append(SceneObject(name, (name,), (prop.mesh,)))
        return centre

    def add_fixed(
        self, name: str, mesh: Mesh, geoms: Sequence[Geom], at: Sequence[float], *, yaw: float = 0.0
    ) -> None:
        """Something that stays where it is: a tray, a marker; without geoms it is only seen."""
        body = self.spec.worldbody.add_body(name=name, pos=np.asarray(at), quat=_yaw_rotation(yaw))
        for geom in geoms:
            self._geom(body, geom)
        self.objects.append(SceneObject(name, (name,), (mesh,)))

    def add_fixture(
        self, name: str, fixture: Fixture, at: Sequence[float], *, yaw: float, value: float
    ) -> None:
        """Furniture with one joint, at (x, y), its joint "`name`" at `value` (rad or m)."""
        base = self.spec.worldbody.add_body(
            name=f"{name}/base", pos=[*at, 0], quat=_yaw_rotation(yaw)
        )
        for geom in fixture.base_geoms:
            self._geom(base, geom)
        part = base.add_body(name=f"{name}/part", pos=fixture.origin)
        kinds = self.mujoco.mjtJoint
        part.add_joint(
            name=name,
            type=kinds.mjJNT_HINGE if fixture.revolute else kinds.mjJNT_SLIDE,
            axis=fixture.axis,
            range=fixture.limits,
            limited=True,
            damping=fixture.damping,
            frictionloss=fixture.friction,
            armature=0.01,
            ref=0.0,
        )
        for geom in fixture.part_geoms:
            self._geom(part, geom, mass=fixture.mass / len(fixture.part_geoms))
        part.gravcomp = 1.0
        self.objects.append(
            SceneObject(name, (base.name, part.name), (fixture.base_mesh, fixture.part_mesh))
        )
        self.start[name] = value

    def _geom(self, body: Any, geom: Geom, *, contype: int = 0, mass: float | None = None) -> None:
        kinds = self.mujoco.mjtGeom
        size = np.zeros(3)
        size[: len(geom.size)] = geom.size
        made = body.add_geom(
            type=kinds.mjGEOM_BOX if geom.kind == "box" else kinds.mjGEOM_CYLINDER,
            size=size,
            pos=geom.position,
            contype=contype,
            conaffinity=_ROBOT | _LOOSE,
            condim=4 if contype else 3,
            friction=_SMOOTH if geom.slippery else _PLAIN,
            priority=2 if geom.slippery else 0,
        )
        if mass is not None:
            made.mass = mass


def _add_arm(mujoco: Any, spec: Any, arm: Arm) -> None:
    """The arm as servos: gravity is compensated, only hand and fingers touch."""
    body, kinds = arm.body, mujoco.mjtJoint
    made: dict[str, Any] = {}
    for name in body.order:
        above = body.joints_above(name)
        if above:
            joint = body.joints[above[-1]]
            parent, origin = made[joint.parent], joint.origin
        else:
            joint, parent, origin = None, spec.worldbody, body.root
        quat = np.zeros(4)
        mujoco.mju_mat2Quat(quat, np.ascontiguousarray(origin[:3, :3]).ravel())
        link = body.links[body.link_index(name)]
        made[name] = part = parent.add_body(name=f"arm/{name}", pos=origin[:3, 3], quat=quat)
        part.gravcomp = 1.0
        part.mass, part.ipos, part.inertia = 0.2, np.zeros(3), np.full(3, 2e-4)
        if link.inertial is not None:
            part.mass, part.ipos = max(link.inertial.mass, 0.02), link.inertial.center
            part.inertia = np.full(3, max(float(np.trace(link.inertial.inertia)) / 3, 1e-5))
        part.explicitinertial = True
        for box in arm.touch.get(name, ()):
            mujoco.mju_mat2Quat(quat, np.ascontiguousarray(box.rotation).ravel())
            part.add_geom(
                type=mujoco.mjtGeom.mjGEOM_BOX, size=box.size, pos=box.centre, quat=quat,
                contype=_ROBOT, conaffinity=0, condim=4, friction=_PADS, mass=0.0, priority=1,
                solref=(0.01, 1.0),
            )  # fmt: skip
        if joint is None or joint.kind == "fixed":
            continue
        finger = joint.name in arm.fingers
        slides = joint.kind == "prismatic"
        part.add_joint(
            name=f"arm/{joint.name}",
            type=kinds.mjJNT_SLIDE if slides else kinds.mjJNT_HINGE,
            axis=joint.axis,
            range=np.clip(joint.limits, -10, 10),
            limited=True,
            armature=0.1 if finger else 0.3,
            damping=2.0 if finger else 1.0,
        )
        if finger and joint.mimic is not None:
            leader = f"arm/{joint.mimic.leader}"
            slope = float(np.asarray(joint.mimic.coefficients)[1])
            data = np.zeros(mujoco.mjNEQDATA)
            data[1] = slope
            spec.add_equality(
                type=mujoco.mjtEq.mjEQ_JOINT, name1=f"arm/{joint.name}", name2=leader,
                objtype=mujoco.mjtObj.mjOBJ_JOINT, data=data, solref=(0.005, 1.0),
            )  # fmt: skip
            continue
        gain = 600.0 if finger else 1500.0
        actuator = spec.add_actuator(name=joint.name, target=f"arm/{joint.name}")
        actuator.trntype = mujoco.mjtTrn.mjTRN_JOINT
        actuator.set_to_position(kp=gain, dampratio=1.0)
        force = _GRIP_FORCE if finger else 87.0
        actuator.forcelimited, actuator.forcerange = True, (-force, force)


def _yaw_rotation(yaw: float) -> np.ndarray:
    return np.array([np.cos(yaw / 2), 0.0, 0.0, np.sin(yaw / 2)])
