"""Chain: the joints between a body's root and one of its links, compiled for single solves.

Inverse kinematics takes many tiny steps, one configuration each, where a tensor library spends
its time on overhead. These kernels work on plain arrays instead; fixed joints are folded away.
"""

from __future__ import annotations

from typing import NamedTuple

import numba
import numpy as np

from kin4d.bodies.capabilities import EndEffector, KinematicTree
from kin4d.errors import InputError


class Chain(NamedTuple):
    """m moving joints from root to link, driven by n of the body's coordinates.

    Attributes:
        origins: [m, 3, 4] joint frames in the frame before them, metres; the first in the world.
        axes: [m, 3] unit axes in the joint frames.
        sliding: [m] bool, prismatic rather than revolute.
        columns: [m] which of the n coordinates drives each joint.
        scales: [m] joint value per unit of its coordinate (1 unless it mimics).
        offsets: [m] joint value at coordinate zero (rad or m).
        tool: [3, 4] the link's frame in the last joint's moving frame.
        coordinates: [n] positions of the chain's coordinates in the body's q.
        lower: [n] limits (rad or m), -inf where there is none.
        upper: [n] limits (rad or m), inf where there is none.
        periodic: [n] bool, whether a full turn of the coordinate leaves the link where it is.
    """

    origins: np.ndarray
    axes: np.ndarray
    sliding: np.ndarray
    columns: np.ndarray
    scales: np.ndarray
    offsets: np.ndarray
    tool: np.ndarray
    coordinates: np.ndarray
    lower: np.ndarray
    upper: np.ndarray
    periodic: np.ndarray


def chain_to(body: KinematicTree, link: str | None = None) -> Chain:
    """The chain that moves `link`, by default the robot's end effector."""
    if not isinstance(body, KinematicTree):
        raise InputError("a chain runs along a tree of joints", value=type(body).__name__)
    link = link_or_default(body, link)
    frame, origins, moving = body.root, [], []
    for i in body.joints_above(link):
        frame = frame @ body.joints[i].origin
        if body.joints[i].kind != "fixed":
            origins.append(frame[:3])
            moving.append(i)
            frame = np.eye(4)
    if not moving:
        raise InputError(
            f"no joint of '{body.name}' moves link '{link}'",
            allowed=", ".join(joint.child for joint in body.joints if joint.kind != "fixed"),
        )
    scales, offsets = _linear_couplings(body, moving)
    coordinates, columns = np.unique(body.drive.column[moving], return_inverse=True)
    limits = body.limits.numpy()[coordinates]
    sliding = np.array([body.joints[i].kind == "prismatic" for i in moving])
    whole = ~sliding & (np.mod(scales, 1) == 0)
    return Chain(
        origins=np.array(origins),
        axes=np.array([body.joints[i].axis for i in moving]),
        sliding=sliding,
        columns=columns,
        scales=scales,
        offsets=offsets,
        tool=np.array(frame[:3]),
        coordinates=coordinates,
        lower=limits[:, 0].copy(),
        upper=limits[:, 1].copy(),
        periodic=np.array([whole[columns == i].all() for i in range(len(coordinates))]),
    )


def _linear_couplings(body: KinematicTree, moving: list[int]) -> tuple[np.ndarray, np.ndarray]:
    """[m] joint values per unit of their coordinates, and [m] joint values at zero."""
    drive = body.drive
    for i in moving:
        slope, *higher = drive.coefficients[i, 1:]
        if any(higher) or not slope:
            how = "follows another in a curve" if any(higher) else "follows one that cannot move"
            raise InputError(
                f"cannot solve through joint '{body.joints[i].name}': it {how}",
                hint="choose a link nearer to the root",
            )
    constants, slopes = drive.coefficients[moving, :2].T
    return slopes * drive.scale[moving], constants + slopes * drive.shift[moving]


def link_or_default(body: KinematicTree, link: str | None) -> str:
    """`link` if the body has it; the robot's end effector if it is None."""
    link = link or (body.end_effector if isinstance(body, EndEffector) else None)
    if link is None:
        raise InputError(
            f"'{body.name}' has no end effector: say which link to move",
            allowed=", ".join(link.name for link in body.links),
        )
    return body.links[body.link_index(link)].name


@numba.njit(cache=True, error_model="numpy")
def chain_fk(chain, q, pose, jacobian):
    """Write the link's world pose [3, 4] and geometric Jacobian [6, n] at q [n] (world axes)."""
    rotation, rotated = np.eye(3), np.empty((3, 3))
    position = np.zeros(3)
    m = len(chain.axes)
    pivots, axes = np.empty((m, 3)), np.empty((m, 3))
    for i in range(m):
        origin, axis = chain.origins[i], chain.axes[i]
        _advance(rotation, position, origin, rotated)
        for r in range(3):
            pivots[i, r] = position[r]
            axes[i, r] = rotated[r, 0] * axis[0] + rotated[r, 1] * axis[1] + rotated[r, 2] * axis[2]
        value = chain.scales[i] * q[chain.columns[i]] + chain.offsets[i]
        if chain.sliding[i]:
            for r in range(3):
                position[r] += axes[i, r] * value
                for c in range(3):
                    rotation[r, c] = rotated[r, c]
        else:
            # Rodrigues' formula: a row v of `rotated` becomes v cos + (v x axis) sin + axis part.
            sine, cosine = np.sin(value), np.cos(value)
            for r in range(3):
                x, y, z = rotated[r, 0], rotated[r, 1], rotated[r, 2]
                along = (1 - cosine) * axes[i, r]
                rotation[r, 0] = x * cosine + (y * axis[2] - z * axis[1]) * sine + along * axis[0]
                rotation[r, 1] = y * cosine + (z * axis[0] - x * axis[2]) * sine + along * axis[1]
                rotation[r, 2] = z * cosine + (x * axis[1] - y * axis[0]) * sine + along * axis[2]
    _advance(rotation, position, chain.tool, rotated)
    for r in range(3):
        pose[r, 3] = position[r]
        for c in range(3):
            pose[r, c] = rotated[r, c]
    jacobian[:] = 0.0
    for i in range(m):
        column, scale = chain.columns[i], chain.scales[i]
        if chain.sliding[i]:
            for r in range(3):
                jacobian[r, column] += scale * axes[i, r]
        else:
            ax, ay, az = axes[i, 0], axes[i, 1], axes[i, 2]
            px, py, pz = (
                position[0] - pivots[i, 0],
                position[1] - pivots[i, 1],
                position[2] - pivots[i, 2],
            )
            jacobian[0, column] += scale * (ay * pz - az * py)
            jacobian[1, column] += scale * (az * px - ax * pz)
            jacobian[2, column] += scale * (ax * py - ay * px)
            for r in range(3):
                jacobian[3 + r, column] += scale * axes[i, r]


@numba.njit(cache=True, error_model="numpy")
def _advance(rotation, position, step, rotated):
    """Compose (rotation, position) with `step` [3, 4]: position in place, rotation in `rotated`."""
    for r in range(3):
        x, y, z = rotation[r, 0], rotation[r, 1], rotation[r, 2]
        position[r] += x * step[0, 3] + y * step[1, 3] + z * step[2, 3]
        for c in range(3):
            rotated[r, c] = x * step[0, c] + y * step[1, c] + z * step[2, c]


@numba.njit(cache=True, error_model="numpy")
def pose_error(pose, target, error):
    """Write what takes `pose` to `target` (both [3, 4]): metres, then a rotation vector (rad)."""
    for r in range(3):
        error[r] = target[r, 3] - pose[r, 3]
    relative = np.zeros((3, 3))
    for r in range(3):
        for c in range(3):
            for i in range(3):
                relative[r, c] += target[r, i] * pose[c, i]
    # Its quaternion: the largest of the four components is well away from zero.
    trace = relative[0, 0] + relative[1, 1] + relative[2, 2]
    x, y, z = (
        relative[2, 1] - relative[1, 2],
        relative[0, 2] - relative[2, 0],
        relative[1, 0] - relative[0, 1],
    )
    w = 1.0 + trace
    if trace < 0:
        i = 0
        if relative[1, 1] > relative[i, i]:
            i = 1
        if relative[2, 2] > relative[i, i]:
            i = 2
        v = np.empty(3)
        for r in range(3):
            v[r] = relative[r, i] + relative[i, r]
        v[i] = 1.0 + 2.0 * relative[i, i] - trace
        w = (x, y, z)[i]
        sign = -1.0 if w < 0 else 1.0
        x, y, z, w = sign * v[0], sign * v[1], sign * v[2], sign * w
    length = np.sqrt(x * x + y * y + z * z)
    factor = 2.0 * np.arctan2(length, w) / length if length > 1e-12 else 2.0 / w
    error[3], error[4], error[5] = factor * x, factor * y, factor * z
