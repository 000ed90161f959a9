"""MJCF: a MuJoCo model, compiled by MuJoCo, to links and joints."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.polynomial import Chebyshev, Polynomial
from scipy.spatial.transform import Rotation

from kin4d.bodies.articulated_base import Link
from kin4d.bodies.inertial import Inertial
from kin4d.bodies.joint import Joint, Mimic
from kin4d.bodies.loops import Loop, close_loops
from kin4d.bodies.multi_dof import ball_joint, floating_joint, multi_dof_joints
from kin4d.bodies.robot.mjcf_assets import check_files
from kin4d.bodies.robot.mjcf_compile import compile_mjcf
from kin4d.bodies.robot.mjcf_visuals import body_meshes
from kin4d.bodies.robot.spec import RobotSpec
from kin4d.errors import InputError
from kin4d.extras import require
from kin4d.reading import reading

_FREE, _BALL, _SLIDE, _HINGE = range(4)
_CONNECT, _WELD, _JOINT = range(3)


def read_mjcf(path: str | Path) -> RobotSpec:
    """Read an MJCF file; see `RobotBody.from_mjcf`."""
    with reading(path, "MJCF file"):
        return open_mjcf(path).description(Path(path).stem)


def open_mjcf(path: str | Path) -> MjcfReader:
    """A reader of the compiled model of a file."""
    path = Path(path)
    mujoco = require("mujoco", extra="sim", purpose="reading MJCF")
    with reading(path, "MJCF file"):
        check_files(path)
        return MjcfReader(mujoco, compile_mjcf(mujoco, path))


class MjcfReader:
    """A compiled model, read piece by piece."""

    def __init__(self, mujoco: Any, model: Any) -> None:
        self.mujoco, self.model = mujoco, model
        self.bodies = [model.body(i).name or f"body{i}" for i in range(model.nbody)]
        owners = [self.bodies[i] for i in model.jnt_bodyid]
        self.joints = [model.joint(i).name or f"{owners[i]}.{i}" for i in range(model.njnt)]

    def description(self, name: str) -> RobotSpec:
        """Everything, with closed loops closed."""
        model = self.model
        geoms = _poses(model.geom_pos, model.geom_quat)
        meshes = body_meshes(model, self.bodies, geoms)
        steps = _poses(model.body_pos, model.body_quat)
        links = [Link(self.bodies[0], meshes[0])]
        joints: list[Joint] = []
        for body in range(1, model.nbody):
            links.append(Link(self.bodies[body], meshes[body], self._inertial(body)))
            simple, between = self._body_joints(body, steps[body])
            joints += simple
            links += between
        sites = _poses(model.site_pos, model.site_quat)
        taken = {link.name for link in links}
        for site in range(model.nsite):
            label = model.site(site).name or f"site{site}"
            label = f"{label}_site" if label in taken else label
            parent = self.bodies[model.site_bodyid[site]]
            links.append(Link(label))
            joints.append(_weld(parent, label, sites[site]))
        driven = self.driven_joints()
        joints, loops = self._equalities(joints, driven)
        joints, gap = close_loops(links, joints, loops, driven=driven, springs=self._springs())
        return RobotSpec(name, links, joints, rest=self._home(joints), loop_gap=gap)

    def _body_joints(self, body: int, step: np.ndarray) -> tuple[list[Joint], list[Link]]:
        """The joints between a body and its parent, and the massless links between them."""
        model, name = self.model, self.bodies[body]
        parent = self.bodies[model.body_parentid[body]]
        joints: list[Joint] = []
        links: list[Link] = []
        start = model.body_jntadr[body]
        for j in range(start, start + model.body_jntnum[body]):
            anchor = np.eye(4)
            anchor[:3, 3] = model.jnt_pos[j]
            link = f"{name}.{self.joints[j]}"
            base = _weld(parent, link, step @ anchor, name=self.joints[j])
            if model.jnt_type[j] in (_HINGE, _SLIDE):
                joints.append(self._simple_joint(j, base))
            else:
                moves = ball_joint() if model.jnt_type[j] == _BALL else floating_joint()
                inner, between = multi_dof_joints(base, moves)
                joints += inner
                links += between
            links.append(Link(link))
            parent, step = link, np.linalg.inv(anchor)
        if joints and np.array_equal(step, np.eye(4)):
            # The last joint's frame is the body's own: no link is needed between them.
            return [*joints[:-1], replace(joints[-1], child=name)], links[:-1]
        return [*joints, _weld(parent, name, step)], links

    def _simple_joint(self, j: int, base: Joint) -> Joint:
        """A hinge or slide; at its reference value the body is where the model puts it."""
        model = self.model
        axis, reference = np.array(model.jnt_axis[j]), float(model.qpos0[model.jnt_qposadr[j]])
        back, hinge = np.eye(4), model.jnt_type[j] == _HINGE
        if hinge:
            back[:3, :3] = Rotation.from_rotvec(-reference * axis).as_matrix()
        else:
            back[:3, 3] = -reference * axis
        lower, upper = model.jnt_range[j] if model.jnt_limited[j] else (-np.inf, np.inf)
        return replace(
            base,
            kind="revolute" if hinge else "prismatic",
            axis=axis,
            origin=base.origin @ back,
            limits=(float(lower), float(upper)),
        )

    def _inertial(self, body: int) -> Inertial | None:
        model = self.model
        if not model.body_mass[body] > 0:
            return None
        axes = _poses(model.body_ipos[body : body + 1], model.body_iquat[body : body + 1])[0]
        inertia = axes[:3, :3] @ np.diag(model.body_inertia[body]) @ axes[:3, :3].T
        return Inertial(float(model.body_mass[body]), axes[:3, 3], inertia)

    def driven_joints(self) -> set[str]:
        """Joints that an actuator acts on, itself or through a fixed tendon."""
        model, types = self.model, self.mujoco.mjtTrn
        found: set[str] = set()
        for kind, (target, _) in zip(model.actuator_trntype, model.actuator_trnid, strict=True):
            kind = types(kind)
            if kind in (types.mjTRN_JOINT, types.mjTRN_JOINTINPARENT):
                found.add(self.joints[target])
            elif kind == types.mjTRN_TENDON:
                first = model.tendon_adr[target]
                for wrap in range(first, first + model.tendon_num[target]):
                    if model.wrap_type[wrap] == int(self.mujoco.mjtWrap.mjWRAP_JOINT):
                        found.add(self.joints[model.wrap_objid[wrap]])
        return found

    def _springs(self) -> dict[str, tuple[float, float]]:
        """Stiffness (N m/rad or N/m) and rest value of sprung joints."""
        model = self.model
        if not model.njnt:
            return {}
        stiffness = np.asarray(model.jnt_stiffness).reshape(model.njnt, -1)[:, 0]
        rest = model.qpos_spring[model.jnt_qposadr]
        return {
            self.joints[j]: (float(stiffness[j]), float(rest[j]))
            for j in range(model.njnt)
            if stiffness[j] > 0
        }

    def _equalities(self, joints: list[Joint], driven: set[str]) -> tuple[list[Joint], list[Loop]]:
        """Joints that follow others, and loops still to be closed."""
        model, loops = self.model, []
        by_name = {joint.name: joint for joint in joints}
        for i in range(model.neq):
            if not model.eq_active0[i]:
                continue
            kind, data = model.eq_type[i], model.eq_data[i]
            first, second = int(model.eq_obj1id[i]), int(model.eq_obj2id[i])
            if kind == _JOINT:
                follower, mimic = self._follow(first, second, data[:5], by_name, driven)
                by_name[follower] = replace(by_name[follower], mimic=mimic)
            elif kind == _CONNECT:
                loops.append(self._loop(i, first, second, data))
            else:
                name = self.mujoco.mjtEq(kind).name.removeprefix("mjEQ_").lower()
                raise InputError(
                    "the model has an equality constraint of a kind that is not read",
                    value=name,
                    allowed="connect, joint",
                    hint="remove it, or set active='false'",
                )
        return list(by_name.values()), loops

    def _follow(
        self, first: int, second: int, polynomial: np.ndarray, joints: dict, driven: set[str]
    ) -> tuple[str, Mimic]:
        """first - ref = polynomial(second - ref): who follows, and how."""
        follower, leader = self.joints[first], self.joints[second]
        if second < 0:
            raise InputError(f"joint '{follower}' is held by an equality", hint="remove the joint")
        references = self.model.qpos0[self.model.jnt_qposadr[[first, second]]]
        curve = Polynomial(polynomial)(Polynomial([-references[1], 1.0])) + references[0]
        curve = curve.trim(1e-12)
        if curve.degree() == 1 and follower in driven and leader not in driven:
            # A straight line can be inverted: the motor's joint leads.
            offset, slope = curve.coef
            follower, leader, curve = leader, follower, Polynomial([-offset / slope, 1 / slope])
        if curve.degree() <= 1:
            offset, slope = np.pad(curve.coef, (0, 1))[:2]
            return follower, Mimic.linear(leader, slope, offset)
        domain = joints[leader].limits
        if not np.isfinite(domain).all():
            raise InputError(f"joint '{leader}' is followed in a curve and needs limits")
        return follower, Mimic(leader, curve.convert(domain=domain, kind=Chebyshev).coef, domain)

    def _loop(self, equality: int, first: int, second: int, data: np.ndarray) -> Loop:
        model = self.model
        points = np.array(data[:6], np.float64).reshape(2, 3)
        if model.eq_objtype[equality] == int(self.mujoco.mjtObj.mjOBJ_SITE):
            points = np.array(model.site_pos[[first, second]])
            first, second = (int(model.site_bodyid[site]) for site in (first, second))
        return Loop((self.bodies[first], self.bodies[second]), points)

    def _home(self, joints: list[Joint]) -> dict[str, float]:
        """Rest values from the key frame "home", else the model's own."""
        model = self.model
        named = [k for k in range(model.nkey) if model.key(k).name == "home"]
        values = model.key_qpos[named[0]] if named else model.qpos0
        free = {joint.name for joint in joints if joint.mimic is None}
        return {
            name: float(values[model.jnt_qposadr[j]])
            for j, name in enumerate(self.joints)
            if name in free and model.jnt_type[j] in (_HINGE, _SLIDE)
        }


def _weld(parent: str, child: str, origin: np.ndarray, *, name: str | None = None) -> Joint:
    return Joint(
        name=name or f"{child}_fixed", kind="fixed", parent=parent, child=child, origin=origin
    )


def _poses(positions: np.ndarray, quaternions: np.ndarray) -> np.ndarray:
    """[N, 4, 4] from positions [N, 3] and quaternions [N, 4] (w, x, y, z)."""
    out = np.tile(np.eye(4), (len(positions), 1, 1))
    out[:, :3, 3] = positions
    if len(positions):
        out[:, :3, :3] = Rotation.from_quat(quaternions, scalar_first=True).as_matrix()
    return out
