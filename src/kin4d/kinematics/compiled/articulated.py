"""ArticulatedKinematics: exact kinematics of rigid links in a tree, floating or not, compiled."""

from __future__ import annotations

from typing import NamedTuple

import numba
import numpy as np
import torch

from kin4d.bodies.capabilities import KinematicTree
from kin4d.geometry.sampling import SurfaceSamples
from kin4d.kinematics.compiled.compiled_kinematics import Configuration, MassPointKinematics
from kin4d.kinematics.compiled.rotation import root_pose


class ArticulatedData(NamedTuple):
    """M moving joints, parents before children; frame 0 is the root's, joint j moves frame j + 1.

    Attributes:
        first: 6 if a floating root comes before the joints' coordinates, else 0.
        parent: [M] frame each joint stands on.
        steps: [M, 3, 4] joint frames in those frames, metres.
        axes: [M, 3] unit axes in the joint frames.
        sliding: [M] bool, prismatic rather than revolute.
        columns: [M] coordinate that drives each joint.
        scale: [M] as in `JointCoupling`.
        shift: [M] as in `JointCoupling`.
        coefficients: [M, c] as in `JointCoupling`.
        frame: [P] frame each mass point is fixed to.
        local: [P, 3] mass points in their frames, metres.
        root_mass: [P] square root of kg.
        surface_frame: [S] frame each surface point is fixed to.
        surface_local: [S, 3] surface points in their frames, metres.
    """

    first: int
    parent: np.ndarray
    steps: np.ndarray
    axes: np.ndarray
    sliding: np.ndarray
    columns: np.ndarray
    scale: np.ndarray
    shift: np.ndarray
    coefficients: np.ndarray
    frame: np.ndarray
    local: np.ndarray
    root_mass: np.ndarray
    surface_frame: np.ndarray
    surface_local: np.ndarray


class ArticulatedKinematics(MassPointKinematics):
    """Kinematics of an `ArticulatedBody`, or of `FloatingBase` around it.

    Attributes:
        link_frame: [L] the frame that carries each link.
        link_offset: [L, 4, 4] the link's frame in it.
    """

    def __init__(
        self, body: KinematicTree, surface: SurfaceSamples, *, floating: bool, mass_scale: float
    ) -> None:
        first = 6 if floating else 0
        moving, parent, steps, self.link_frame, self.link_offset = fold_fixed_joints(body)
        rows = np.array(moving, np.int64)
        frame, local, mass = _mass_points(body, self.link_frame, self.link_offset)
        surface_frame, surface_local = self._fix(body, surface)
        joints = [body.joints[j] for j in moving]
        self.mass = mass * mass_scale
        self.floating, self.width = floating, first + len(body.coordinates)
        self.size = 3 * len(mass)
        self.data = ArticulatedData(
            first=first,
            parent=np.array(parent, np.int64),
            steps=np.array(steps).reshape(-1, 3, 4),
            axes=np.array([joint.axis for joint in joints]).reshape(-1, 3),
            sliding=np.array([joint.kind == "prismatic" for joint in joints], bool),
            columns=body.drive.column[rows] + first,
            scale=body.drive.scale[rows],
            shift=body.drive.shift[rows],
            coefficients=body.drive.coefficients[rows],
            frame=frame,
            local=local,
            root_mass=np.sqrt(self.mass),
            surface_frame=surface_frame,
            surface_local=surface_local,
        )

    def _fix(self, body: KinematicTree, surface: SurfaceSamples) -> tuple[np.ndarray, np.ndarray]:
        """Frames [S] and local coordinates [S, 3] of points on the rest surface."""
        link = body.skin.joints[surface.corners[:, 0], 0]
        with torch.no_grad():
            rest = body.link_poses(body.q0).numpy()
        world = surface.points(body.rest.vertices) - rest[link, :3, 3]
        in_link = np.einsum("nji,nj->ni", rest[link, :3, :3], world)
        offset = self.link_offset[link]
        local = np.einsum("nij,nj->ni", offset[:, :3, :3], in_link) + offset[:, :3, 3]
        return self.link_frame[link], np.ascontiguousarray(local)

    def embed(self, q: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """y = sqrt(m) x [3P] and its Jacobian [3P, k]."""
        y, jacobian = np.empty(self.size), np.empty((self.size, self.width))
        articulated_embed(self.data, q, y, jacobian, True)
        return y, jacobian

    def surface_points(self, configuration: Configuration) -> np.ndarray:
        """All chosen points on the surface [S, 3] (m)."""
        return articulated_surface_points(self.data, configuration.q)

    def points_and_jacobians(
        self, configuration: Configuration, index: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        """Surface points [N, 3] (m) and their Jacobians [N, 3, k]."""
        return articulated_points_and_jacobians(self.data, configuration.q, index)

    def frames(self, q: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Rotations [M + 1, 3, 3] and origins [M + 1, 3] (m) of all frames."""
        return articulated_frames(self.data, q)[:2]

    def carried_jacobians(self, q: np.ndarray, frame: np.ndarray, x: np.ndarray) -> np.ndarray:
        """dx/dq [N, 3, k] of world points x [N, 3] that move with frames [N]."""
        return articulated_jacobians(self.data, q, frame, x)


def fold_fixed_joints(body: KinematicTree):
    """Fixed joints folded into offsets.

    Returns:
        Moving joints, the frames they stand on, the joint frames in those; and per link the frame
        that carries it [L] and its offset there [L, 4, 4].
    """
    index = {link.name: i for i, link in enumerate(body.links)}
    frame = np.zeros(len(body.links), np.int64)
    offset = np.empty((len(body.links), 4, 4))
    moving, parent, steps = [], [], []
    for name in body.order:
        link, above = index[name], body.joints_above(name)
        if not above:
            offset[link] = body.root
            continue
        joint = body.joints[above[-1]]
        base = index[joint.parent]
        start = offset[base] @ joint.origin
        if joint.kind == "fixed":
            frame[link], offset[link] = frame[base], start
            continue
        moving.append(above[-1])
        parent.append(frame[base])
        steps.append(start[:3])
        frame[link], offset[link] = len(moving), np.eye(4)
    return moving, parent, steps, frame, offset


def _mass_points(body: KinematicTree, link_frame: np.ndarray, link_offset: np.ndarray):
    frame, local, mass = [], [], []
    for i, link in enumerate(body.links):
        if link.inertial is None:
            continue
        points, weights = link.inertial.mass_points()
        frame.append(np.full(len(weights), link_frame[i]))
        local.append(points @ link_offset[i, :3, :3].T + link_offset[i, :3, 3])
        mass.append(weights)
    if not mass:
        return np.zeros(0, np.int64), np.zeros((0, 3)), np.zeros(0)
    return np.concatenate(frame), np.concatenate(local), np.concatenate(mass)


@numba.njit(cache=True, error_model="numpy")
def articulated_frames(data, q):
    """Rotations [M + 1, 3, 3] and origins [M + 1, 3] of the frames, and what moves them:
    world axes [M, 3] times dvalue/dq of the joints, and `angular` [3, 3] of the root."""
    m = len(data.parent)
    rotations, origins = np.empty((m + 1, 3, 3)), np.empty((m + 1, 3))
    axes, angular, rotated = np.empty((m, 3)), np.empty((3, 3)), np.empty((3, 3))
    if data.first:
        root_pose(q, rotations[0], angular)
        origins[0] = q[:3]
    else:
        rotations[0] = np.eye(3)
        origins[0] = 0.0
    for j in range(m):
        base, step, axis = data.parent[j], data.steps[j], data.axes[j]
        for r in range(3):
            x, y, z = rotations[base, r, 0], rotations[base, r, 1], rotations[base, r, 2]
            origins[j + 1, r] = origins[base, r] + x * step[0, 3] + y * step[1, 3] + z * step[2, 3]
            for c in range(3):
                rotated[r, c] = x * step[0, c] + y * step[1, c] + z * step[2, c]
            axes[j, r] = rotated[r, 0] * axis[0] + rotated[r, 1] * axis[1] + rotated[r, 2] * axis[2]
        s = data.scale[j] * q[data.columns[j]] + data.shift[j]
        value, slope = _chebyshev(data.coefficients[j], s)
        slope *= data.scale[j]
        if data.sliding[j]:
            for r in range(3):
                origins[j + 1, r] += axes[j, r] * value
                for c in range(3):
                    rotations[j + 1, r, c] = rotated[r, c]
        else:
            # Rodrigues' formula: a row v of `rotated` becomes v cos + (v x axis) sin + axis part.
            sine, cosine = np.sin(value), np.cos(value)
            out = rotations[j + 1]
            for r in range(3):
                x, y, z = rotated[r, 0], rotated[r, 1], rotated[r, 2]
                along = (1 - cosine) * axes[j, r]
                out[r, 0] = x * cosine + (y * axis[2] - z * axis[1]) * sine + along * axis[0]
                out[r, 1] = y * cosine + (z * axis[0] - x * axis[2]) * sine + along * axis[1]
                out[r, 2] = z * cosine + (x * axis[1] - y * axis[0]) * sine + along * axis[2]
        for r in range(3):
            axes[j, r] *= slope
    return rotations, origins, axes, angular


@numba.njit(cache=True, error_model="numpy")
def _chebyshev(coefficients, s):
    """sum_i c_i T_i(s) and its derivative, by the recurrences of T and of U = T' / i."""
    low, high = 1.0, s
    under, over = 1.0, 2.0 * s
    value, slope = coefficients[0] + coefficients[1] * s, coefficients[1]
    for i in range(2, len(coefficients)):
        low, high = high, 2.0 * s * high - low
        value += coefficients[i] * high
        slope += coefficients[i] * i * over
        under, over = over, 2.0 * s * over - under
    return value, slope


@numba.njit(cache=True, error_model="numpy")
def add_column(data, frames, frame, px, py, pz, weight, out):
    """Add weight * dp/dq [3, k] of a world point p that moves with a frame to `out` [3, k]."""
    _, origins, axes, angular = frames
    j = frame - 1
    while j >= 0:
        column = data.columns[j]
        ax, ay, az = axes[j, 0] * weight, axes[j, 1] * weight, axes[j, 2] * weight
        if data.sliding[j]:
            out[0, column] += ax
            out[1, column] += ay
            out[2, column] += az
        else:
            # The joint's own origin lies on its axis, wherever the joint stands.
            dx, dy, dz = px - origins[j + 1, 0], py - origins[j + 1, 1], pz - origins[j + 1, 2]
            out[0, column] += ay * dz - az * dy
            out[1, column] += az * dx - ax * dz
            out[2, column] += ax * dy - ay * dx
        j = data.parent[j] - 1
    if data.first:
        dx, dy, dz = px - origins[0, 0], py - origins[0, 1], pz - origins[0, 2]
        for c in range(3):
            out[c, c] += weight
            ax, ay, az = angular[0, c] * weight, angular[1, c] * weight, angular[2, c] * weight
            out[0, 3 + c] += ay * dz - az * dy
            out[1, 3 + c] += az * dx - ax * dz
            out[2, 3 + c] += ax * dy - ay * dx


@numba.njit(cache=True, error_model="numpy")
def transform_point(rotation, origin, local, out):
    """Write a point `local` [3] of a frame in the world to `out` [3]."""
    for r in range(3):
        out[r] = (
            origin[r]
            + rotation[r, 0] * local[0]
            + rotation[r, 1] * local[1]
            + rotation[r, 2] * local[2]
        )


@numba.njit(cache=True, error_model="numpy")
def articulated_embed(data, q, y, jacobian, with_jacobian):
    """Write sqrt(m) x [3P] and, if wanted, its Jacobian [3P, k]."""
    frames = articulated_frames(data, q)
    rotations, origins = frames[0], frames[1]
    point = np.empty(3)
    if with_jacobian:
        jacobian[:] = 0.0
    for p in range(len(data.frame)):
        frame, root_mass = data.frame[p], data.root_mass[p]
        transform_point(rotations[frame], origins[frame], data.local[p], point)
        for r in range(3):
            y[3 * p + r] = root_mass * point[r]
        if with_jacobian:
            rows = jacobian[3 * p : 3 * p + 3]
            add_column(data, frames, frame, point[0], point[1], point[2], root_mass, rows)


@numba.njit(cache=True, error_model="numpy")
def articulated_surface_points(data, q):
    """[S, 3] world positions of the surface points."""
    rotations, origins, _, _ = articulated_frames(data, q)
    out = np.empty((len(data.surface_frame), 3))
    for p in range(len(out)):
        frame = data.surface_frame[p]
        transform_point(rotations[frame], origins[frame], data.surface_local[p], out[p])
    return out


@numba.njit(cache=True, error_model="numpy")
def articulated_points_and_jacobians(data, q, index):
    """The surface points `index` [N, 3] and their Jacobians [N, 3, k]."""
    frames = articulated_frames(data, q)
    out, points = np.zeros((len(index), 3, len(q))), np.empty((len(index), 3))
    for i in range(len(index)):
        frame, point = data.surface_frame[index[i]], points[i]
        transform_point(frames[0][frame], frames[1][frame], data.surface_local[index[i]], point)
        add_column(data, frames, frame, point[0], point[1], point[2], 1.0, out[i])
    return points, out


@numba.njit(cache=True, error_model="numpy")
def articulated_jacobians(data, q, frame, x):
    """[N, 3, k] of world points x [N, 3] moving with frames [N]."""
    frames = articulated_frames(data, q)
    out = np.zeros((len(frame), 3, len(q)))
    for i in range(len(frame)):
        add_column(data, frames, frame[i], x[i, 0], x[i, 1], x[i, 2], 1.0, out[i])
    return out
