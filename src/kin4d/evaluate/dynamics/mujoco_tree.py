"""MujocoTree: a tree of links in MuJoCo, with the same mass points, joints, limits and pushes.

The model holds no geometry: only bodies, whose inertia is that of the link's six mass points, and
hinges and sliders. MuJoCo gives the accelerations; they are integrated here by the classical
Runge-Kutta scheme with a small step, so that pushes act in every stage and the error is that of
neither engine's own stepper.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import torch

from kin4d.bodies.tree import TreeBody
from kin4d.errors import InputError
from kin4d.extras import require

STEP = 5e-4  # s
# Stiffness (1/s²) and damping (1/s) of a stop: so much of the latter that nothing bounces.
_STOP = "-2e4 -1e4"
_FOLLOW = "0.002 1"
_ROUNDING = (
    1e-10  # of the largest moment, added to all: flat links lie on the bound of what is legal
)


@dataclass(frozen=True, eq=False, kw_only=True)
class Push:
    """A constant force on one vertex for a while.

    Attributes:
        vertex: Of the body's rest mesh.
        force: [3] N, in world axes.
        start: s.
        end: s.
    """

    vertex: int
    force: np.ndarray
    start: float
    end: float


@dataclass(frozen=True, eq=False, kw_only=True)
class Trajectory:
    """What a reference found.

    Attributes:
        times: [T] s.
        values: [T, J] rad or m of all joints that move, in the body's order.
        vertices: [T, V, 3] m.
    """

    times: np.ndarray
    values: np.ndarray
    vertices: np.ndarray


class MujocoTree:
    """The truth about a `TreeBody`.

    Args:
        body: Links, joints and masses. Joints that follow others must do so in a straight line.
        gravity: [3] m/s².
        free: Whether the root flies freely instead of standing fast.
        limited: Whether joints stop at their limits, without bouncing.
    """

    def __init__(
        self,
        body: TreeBody,
        *,
        gravity: Sequence[float] = (0.0, 0.0, -9.81),
        free: bool = False,
        limited: bool = True,
    ) -> None:
        self._mujoco = require("mujoco", extra="sim", purpose="comparing with MuJoCo")
        self.body, self.free = body, free
        xml = _xml(body, gravity, free=free, limited=limited)
        self._model = self._mujoco.MjModel.from_xml_string(xml)
        self._data = self._mujoco.MjData(self._model)
        self._moving = [i for i, joint in enumerate(body.joints) if joint.kind != "fixed"]
        names = [body.joints[i].name for i in self._moving]
        self._places = np.array([self._model.joint(name).qposadr[0] for name in names], int)
        self._rates = np.array([self._model.joint(name).dofadr[0] for name in names], int)
        links = [self._model.body(f"link {link.name}").id for link in body.links]
        self._bodies = np.array(links, int)
        drawn = [(i, link.mesh.vertices) for i, link in enumerate(body.links) if link.mesh]
        self._vertex_link = np.repeat([i for i, _ in drawn], [len(v) for _, v in drawn])
        self._vertex_local = np.concatenate([vertices for _, vertices in drawn])

    def run(
        self,
        *,
        seconds: float,
        q: torch.Tensor | None = None,
        speed: torch.Tensor | None = None,
        pushes: Sequence[Push] = (),
        fps: float = 24.0,
        step: float = STEP,
    ) -> Trajectory:
        """Move for `seconds` from coordinates `q` [k] (rest if None) at `speed` [k] (0 if None)."""
        data, body = self._data, self.body
        self._mujoco.mj_resetData(self._model, data)
        start = body.q0 if q is None else q
        rate = torch.zeros_like(start) if speed is None else speed
        values, slope = torch.func.jvp(body.joint_values, (start,), (rate,))[:2]
        data.qpos[self._places] = values[self._moving].numpy()
        data.qvel[self._rates] = slope[self._moving].numpy()
        frames = round(seconds * fps) + 1
        inner = max(1, round(1 / (fps * step)))
        kept, found = [], []
        for frame in range(frames):
            for i in range(inner if frame else 0):
                self._step(((frame - 1) * inner + i) / (fps * inner), 1 / (fps * inner), pushes)
            self._mujoco.mj_kinematics(self._model, data)
            turns = data.xmat[self._bodies].reshape(-1, 3, 3)[self._vertex_link]
            shifts = data.xpos[self._bodies][self._vertex_link]
            kept.append(np.einsum("vij,vj->vi", turns, self._vertex_local) + shifts)
            found.append(data.qpos[self._places].copy())
        return Trajectory(
            times=np.arange(frames) / fps, values=np.stack(found), vertices=np.stack(kept)
        )

    def _step(self, time: float, length: float, pushes: Sequence[Push]) -> None:
        """Classical Runge-Kutta; rotations are moved on by MuJoCo, which knows how they are kept.

        A push that acts for part of a step acts in all of it, so much weaker.
        """
        acting = []
        for push in pushes:
            share = (min(push.end, time + length) - max(push.start, time)) / length
            if share > 0:
                acting.append(replace(push, force=share * np.asarray(push.force, np.float64)))
        data = self._data
        qpos, qvel = data.qpos.copy(), data.qvel.copy()
        speeds, accelerations = [], []
        for share in (0.0, 0.5, 0.5, 1.0):
            data.qpos[:], data.qvel[:] = qpos, qvel
            if speeds:
                self._mujoco.mj_integratePos(self._model, data.qpos, speeds[-1], share * length)
                data.qvel[:] += share * length * accelerations[-1]
            speeds.append(data.qvel.copy())
            accelerations.append(self._acceleration(acting))
        weights = np.array([1, 2, 2, 1]) / 6
        data.qpos[:] = qpos
        self._mujoco.mj_integratePos(self._model, data.qpos, weights @ np.array(speeds), length)
        data.qvel[:] = qvel + length * (weights @ np.array(accelerations))

    def _acceleration(self, pushes: Sequence[Push]) -> np.ndarray:
        mujoco, model, data = self._mujoco, self._model, self._data
        mujoco.mj_fwdPosition(model, data)
        data.qfrc_applied[:] = 0
        for push in pushes:
            at = self._bodies[self._vertex_link[push.vertex]]
            turn = data.xmat[at].reshape(3, 3)
            point = turn @ self._vertex_local[push.vertex] + data.xpos[at]
            mujoco.mj_applyFT(model, data, push.force, np.zeros(3), point, at, data.qfrc_applied)
        mujoco.mj_fwdVelocity(model, data)
        mujoco.mj_fwdActuation(model, data)
        mujoco.mj_fwdAcceleration(model, data)
        mujoco.mj_fwdConstraint(model, data)
        return data.qacc.copy()


def _xml(body: TreeBody, gravity: Sequence[float], *, free: bool, limited: bool) -> str:
    children: dict[str | None, list[str]] = {}
    for name in body.order:
        children.setdefault(body.parent_of(name), []).append(name)
    joints = {joint.child: joint for joint in body.joints}
    links = {link.name: link for link in body.links}

    def element(name: str) -> str:
        joint, inside = joints.get(name), ""
        place = body.root if joint is None else joint.origin
        if joint is None and free:
            inside = "<freejoint/>"
        if joint is not None and joint.kind != "fixed":
            kind = "hinge" if joint.kind == "revolute" else "slide"
            stops = ""
            if limited and joint.mimic is None and np.isfinite(joint.limits).any():
                low, high = np.clip(joint.limits, -1e6, 1e6)
                stops = f'limited="true" range="{_text((low, high))}"'
            inside = (
                f'<joint name="{joint.name}" type="{kind}" axis="{_text(joint.axis)}" {stops} '
                f'solreflimit="{_STOP}" solimplimit="0.9999 0.9999 0.001"/>'
            )
        inside += _inertial(links[name].inertial) + "".join(map(element, children.get(name, ())))
        # MuJoCo has a body called "world" already, as some robots do.
        return (
            f'<body name="link {name}" pos="{_text(place[:3, 3])}" '
            f'quat="{_text(_quaternion(place))}">{inside}</body>'
        )

    return f"""
<mujoco>
  <compiler angle="radian" autolimits="false" boundmass="1e-9" boundinertia="1e-12"/>
  <option gravity="{_text(gravity)}" timestep="{STEP}" iterations="100" tolerance="1e-14"/>
  <worldbody>{"".join(map(element, children[None]))}</worldbody>
  <equality>{"".join(map(_follow, body.joints))}</equality>
</mujoco>"""


def _inertial(inertial) -> str:
    if inertial is None:
        return ""
    points, masses = inertial.mass_points()
    center = (masses[:, None] * points).sum(0) / masses.sum()
    arms = points - center
    second = np.einsum("p,pi,pj->ij", masses, arms, arms)
    moments = np.trace(second) * np.eye(3) - second
    moments += max(_ROUNDING * np.trace(moments), 1e-14) * np.eye(3)
    full = moments[[0, 1, 2, 0, 0, 1], [0, 1, 2, 1, 2, 2]]
    return (
        f'<inertial pos="{_text(center)}" mass="{masses.sum():.17g}" fullinertia="{_text(full)}"/>'
    )


def _follow(joint) -> str:
    if joint.mimic is None or joint.kind == "fixed":
        return ""
    if not joint.mimic.is_linear:
        raise InputError(f"joint '{joint.name}' follows '{joint.mimic.leader}' in a curve")
    low, high = joint.mimic.domain
    slope = 2 * joint.mimic.coefficients[1] / (high - low)
    offset = joint.mimic.coefficients[0] - slope * (low + high) / 2
    return (
        f'<joint joint1="{joint.name}" joint2="{joint.mimic.leader}" '
        f'polycoef="{_text((offset, slope, 0, 0, 0))}" solref="{_FOLLOW}" '
        'solimp="0.9999 0.9999 0.001"/>'
    )


def _quaternion(pose: np.ndarray) -> np.ndarray:
    from scipy.spatial.transform import Rotation

    return Rotation.from_matrix(pose[:3, :3]).as_quat(scalar_first=True)


def _text(values) -> str:
    return " ".join(f"{float(value):.17g}" for value in values)
