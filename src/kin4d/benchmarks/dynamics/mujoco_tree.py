"""MujocoTree: a tree of links in MuJoCo, with the same mass points, joints, limits and pushes.

The model holds no geometry: only bodies, whose inertia is that of the link's six mass points, and
hinges and sliders. MuJoCo gives mass matrices and inertial forces; joints that follow others are
eliminated exactly. The motion is integrated by `stopped.follow_motion` to many digits, with hard
stops: MuJoCo's own steps and its soft limits are less exact than what is to be measured.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch

from kin4d.benchmarks.dynamics.impact_reference import integrate_with_impacts
from kin4d.bodies.articulated import ArticulatedBody
from kin4d.errors import InputError
from kin4d.extras import require

_ROUNDING = (
    1e-10  # of the largest moment, added to all: flat links lie on the bound of what is legal
)


@dataclass(frozen=True, eq=False, kw_only=True)
class MujocoPush:
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
class MujocoTrajectory:
    """What a reference found.

    Attributes:
        times: [T] s.
        values: [T, J] rad or m of all joints that move, in the body's order.
        vertices: [T, V, 3] m.
        impacts: How often joints hit their stops.
    """

    times: np.ndarray
    values: np.ndarray
    vertices: np.ndarray
    impacts: int


class MujocoTree:
    """The truth about a `ArticulatedBody`.

    Args:
        body: Links, joints and masses. Joints that follow others must do so in a straight line.
        gravity: [3] m/s².
        limited: Whether joints stop at their limits, without bouncing.
    """

    def __init__(
        self,
        body: ArticulatedBody,
        *,
        gravity: Sequence[float] = (0.0, 0.0, -9.81),
        limited: bool = True,
    ) -> None:
        self._mujoco = require("mujoco", extra="sim", purpose="comparing with MuJoCo")
        self.body = body
        self._model = self._mujoco.MjModel.from_xml_string(_xml(body, gravity))
        self._data = self._mujoco.MjData(self._model)
        moving = [i for i, joint in enumerate(body.joints) if joint.kind != "fixed"]
        for i in moving:
            mimic = body.joints[i].mimic
            if mimic is not None and not mimic.is_linear:
                name = body.joints[i].name
                raise InputError(f"joint '{name}' follows '{mimic.leader}' in a curve")
        names = [body.joints[i].name for i in moving]
        self._addresses = np.array([self._model.joint(name).qposadr[0] for name in names], int)
        self._rates = np.array([self._model.joint(name).dofadr[0] for name in names], int)
        # All joints are affine in the coordinates: values = slope q + offset.
        slope = torch.func.jacfwd(body.joint_values)(body.q0)[moving]
        offset = body.joint_values(body.q0)[moving] - slope @ body.q0
        self._slope, self._offset = slope.numpy(), offset.numpy()
        self._motions = np.zeros((len(body.coordinates), self._model.nv))  # of all joints, by each
        self._motions[:, self._rates] = self._slope.T
        limits = body.limits.numpy()
        self._limits = limits if limited else np.full_like(limits, np.inf) * [-1, 1]
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
        pushes: Sequence[MujocoPush] = (),
        fps: float = 24.0,
    ) -> MujocoTrajectory:
        """Move for `seconds` from coordinates `q` [k] (rest if None) at `speed` [k] (0 if None)."""
        start = (self.body.q0 if q is None else q).numpy()
        rate = np.zeros_like(start) if speed is None else speed.numpy()
        times = np.arange(round(seconds * fps) + 1) / fps
        edges = sorted({edge for push in pushes for edge in (push.start, push.end)})

        def forces(now: float, q: np.ndarray, qd: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
            return self._forces(q, qd, [push for push in pushes if push.start <= now < push.end])

        found, impacts = integrate_with_impacts(
            forces, self._limits, start, rate, times, edges=edges
        )
        return MujocoTrajectory(
            times=times,
            values=found @ self._slope.T + self._offset,
            vertices=np.stack([self._vertices(row) for row in found]),
            impacts=impacts,
        )

    def _pose(self, q: np.ndarray) -> None:
        self._data.qpos[self._addresses] = self._slope @ q + self._offset

    def _vertices(self, q: np.ndarray) -> np.ndarray:
        self._pose(q)
        self._mujoco.mj_kinematics(self._model, self._data)
        rotations = self._data.xmat[self._bodies].reshape(-1, 3, 3)[self._vertex_link]
        positions = self._data.xpos[self._bodies][self._vertex_link]
        return np.einsum("vij,vj->vi", rotations, self._vertex_local) + positions

    def _forces(self, q: np.ndarray, qd: np.ndarray, pushes: Sequence[MujocoPush]):
        """Mass matrix [k, k] and generalised force [k], inertial ones included."""
        mujoco, model, data = self._mujoco, self._model, self._data
        self._pose(q)
        data.qvel[:] = qd @ self._motions
        mujoco.mj_fwdPosition(model, data)
        mujoco.mj_fwdVelocity(model, data)
        force = np.zeros(model.nv)
        for push in pushes:
            at = self._bodies[self._vertex_link[push.vertex]]
            point = data.xmat[at].reshape(3, 3) @ self._vertex_local[push.vertex] + data.xpos[at]
            mujoco.mj_applyFT(model, data, push.force, np.zeros(3), point, at, force)
        momenta = np.empty_like(self._motions)
        for momentum, motion in zip(momenta, self._motions, strict=True):
            mujoco.mj_mulM(model, data, momentum, motion)
        return self._motions @ momenta.T, self._motions @ (force - data.qfrc_bias)


def _xml(body: ArticulatedBody, gravity: Sequence[float]) -> str:
    children: dict[str | None, list[str]] = {}
    for name in body.order:
        children.setdefault(body.parent_of(name), []).append(name)
    joints = {joint.child: joint for joint in body.joints}
    links = {link.name: link for link in body.links}

    def element(name: str) -> str:
        joint, inside = joints.get(name), ""
        place = body.root if joint is None else joint.origin
        if joint is not None and joint.kind != "fixed":
            kind = "hinge" if joint.kind == "revolute" else "slide"
            inside = f'<joint name="{joint.name}" type="{kind}" axis="{_text(joint.axis)}"/>'
        inside += _inertial(links[name].inertial) + "".join(map(element, children.get(name, ())))
        # MuJoCo has a body called "world" already, as some robots do.
        return (
            f'<body name="link {name}" pos="{_text(place[:3, 3])}" '
            f'quat="{_text(_quaternion(place))}">{inside}</body>'
        )

    return f"""
<mujoco>
  <compiler angle="radian" autolimits="false" boundmass="1e-9" boundinertia="1e-12"/>
  <option gravity="{_text(gravity)}"/>
  <worldbody>{"".join(map(element, children[None]))}</worldbody>
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


def _quaternion(pose: np.ndarray) -> np.ndarray:
    from scipy.spatial.transform import Rotation

    return Rotation.from_matrix(pose[:3, :3]).as_quat(scalar_first=True)


def _text(values) -> str:
    return " ".join(f"{float(value):.17g}" for value in values)
