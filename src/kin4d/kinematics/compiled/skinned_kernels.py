"""Kernels of `SkinnedKinematics`: twists of frames, points that blend them, and a floating root.

A twist (v, a) about a centre moves by the dual quaternion exp((a + e v) / 2), e e = 0: its dual
part is the derivative of its real part exp(a / 2) along v, so that both need only C = cos(|a| / 2)
and S = sin(|a| / 2) / |a|, as functions of |a|^2. A blend (R, D) of them moves x to
(R x R* + 2 vec(D R*)) / |R|^2: what normalising would do to D does not show in a vector part.
"""

from __future__ import annotations

from typing import NamedTuple

import numba
import numpy as np

from kin4d.kinematics.compiled.features import QuadraticFeatures, coefficients
from kin4d.kinematics.compiled.rotation import LOOSE, root_or_world, write_root_transform


class SkinnedPoints(NamedTuple):
    """N points that follow T frames.

    Attributes:
        rest: [N, 3] m.
        weights: [N, T].
    """

    rest: np.ndarray
    weights: np.ndarray


class SkinnedData(NamedTuple):
    """Constants of a body.

    Attributes:
        first: 6 if a floating root comes before the body's coordinates, else 0.
        features: Twists [6 T] of the frames, translation first.
        centres: [T, 3] m, their origins.
        lumps: Points that have the mass.
        root_mass: [L] square root of kg.
    """

    first: int
    features: QuadraticFeatures
    centres: np.ndarray
    lumps: SkinnedPoints
    root_mass: np.ndarray


@numba.njit(cache=True, error_model="numpy")
def _half_turn(squared):
    """C, S and the first two derivatives of S, at a squared angle."""
    if squared < 1e-4:
        return (
            1.0 - squared / 8 + squared**2 / 384,
            0.5 - squared / 48 + squared**2 / 3840,
            -1.0 / 48 + squared / 1920 - squared**2 / 215040,
            1.0 / 1920 - squared / 107520,
        )
    angle = np.sqrt(squared)
    c, s = np.cos(0.5 * angle), np.sin(0.5 * angle) / angle
    first = (0.25 * c - 0.5 * s) / squared
    return c, s, first, -(s / 16 + 1.5 * first) / squared


@numba.njit(cache=True, error_model="numpy")
def _write_motion(twist, centre, motion, slope):
    """Write the dual quaternion [8] of a twist [6] about a centre, and its derivative [8, 6]."""
    v, a = twist[:3], twist[3:]
    along = a[0] * v[0] + a[1] * v[1] + a[2] * v[2]
    c, s, s1, s2 = _half_turn(a[0] * a[0] + a[1] * a[1] + a[2] * a[2])
    motion[0], motion[4] = c, -0.5 * s * along
    slope[:] = 0.0
    for i in range(3):
        motion[1 + i] = s * a[i]
        motion[5 + i] = s * v[i] + 2 * s1 * along * a[i]
        slope[0, 3 + i] = -0.5 * s * a[i]
        slope[4, 3 + i] = -0.5 * s * v[i] - s1 * along * a[i]
        for j in range(3):
            slope[1 + i, 3 + j] = 2 * s1 * a[i] * a[j]
            slope[5 + i, 3 + j] = (
                2 * s1 * (v[i] * a[j] + a[i] * v[j]) + 4 * s2 * along * a[i] * a[j]
            )
        slope[1 + i, 3 + i] += s
        slope[5 + i, 3 + i] += 2 * s1 * along
    for i in range(
        4
    ):  # The dual part is linear in the translation, as the real one is in small rotations.
        for j in range(3):
            slope[4 + i, j] = slope[i, 3 + j]
    for i in range(3):  # About the centre instead of the origin: D + centre x vec(R).
        j, k = (i + 1) % 3, (i + 2) % 3
        motion[5 + i] += centre[j] * motion[1 + k] - centre[k] * motion[1 + j]
        for col in range(3, 6):
            slope[5 + i, col] += centre[j] * slope[1 + k, col] - centre[k] * slope[1 + j, col]


@numba.njit(cache=True, error_model="numpy")
def frame_motions(data, own, with_jacobian):
    """Dual quaternions [T, 8] of the frames and, if wanted, derivatives [T, 8 k] of them, at the
    body's own coordinates."""
    count, k = len(data.centres), len(own)
    twists, twist_slopes = coefficients(data.features, own, with_jacobian)
    motions, slope = np.empty((count, 8)), np.empty((8, 6))
    moving = np.empty((count if with_jacobian else 0, 8 * k))
    for t in range(count):
        _write_motion(twists[6 * t : 6 * t + 6], data.centres[t], motions[t], slope)
        if with_jacobian:
            moving[t] = (slope @ twist_slopes[6 * t : 6 * t + 6]).reshape(8 * k)
    return motions, moving


@numba.njit(cache=True, error_model="numpy", fastmath=LOOSE)
def skin_points(followers, motions, moving):
    """Points [N, 3] and, unless `moving` is empty, their derivatives [N, 3, k]."""
    count, known = len(followers.rest), len(moving) > 0
    k = moving.shape[1] // 8
    blends = followers.weights @ motions
    blended = followers.weights @ moving if known else np.empty((0, 0))
    out, jacobian = np.empty((count, 3)), np.empty((count if known else 0, 3, k))
    slope = np.empty((3, 8))
    for n in range(count):
        x, y, z = followers.rest[n]
        still = 1.0
        for t in range(len(motions)):
            still -= followers.weights[n, t]
        w, a, b, c = blends[n, 0] + still, blends[n, 1], blends[n, 2], blends[n, 3]
        e, f, g, h = blends[n, 4], blends[n, 5], blends[n, 6], blends[n, 7]
        size, dot = w * w + a * a + b * b + c * c, a * x + b * y + c * z
        flat = w * w - a * a - b * b - c * c
        u = flat * x + 2 * (dot * a + w * (b * z - c * y + f) - e * a + b * h - c * g)
        v = flat * y + 2 * (dot * b + w * (c * x - a * z + g) - e * b + c * f - a * h)
        s = flat * z + 2 * (dot * c + w * (a * y - b * x + h) - e * c + a * g - b * f)
        u, v, s = u / size, v / size, s / size
        out[n, 0], out[n, 1], out[n, 2] = u, v, s
        if not known:
            continue
        scale = 2.0 / size
        slope[0, 0] = scale * (w * x + b * z - c * y + f - w * u)
        slope[1, 0] = scale * (w * y + c * x - a * z + g - w * v)
        slope[2, 0] = scale * (w * z + a * y - b * x + h - w * s)
        slope[0, 1] = scale * (dot - e - a * u)
        slope[1, 1] = scale * (b * x - a * y - w * z - h - a * v)
        slope[2, 1] = scale * (c * x - a * z + w * y + g - a * s)
        slope[0, 2] = scale * (a * y - b * x + w * z + h - b * u)
        slope[1, 2] = scale * (dot - e - b * v)
        slope[2, 2] = scale * (c * y - b * z - w * x - f - b * s)
        slope[0, 3] = scale * (a * z - c * x - w * y - g - c * u)
        slope[1, 3] = scale * (b * z - c * y + w * x + f - c * v)
        slope[2, 3] = scale * (dot - e - c * s)
        slope[0, 4], slope[1, 4], slope[2, 4] = -scale * a, -scale * b, -scale * c
        slope[0, 5], slope[1, 5], slope[2, 5] = scale * w, scale * c, -scale * b
        slope[0, 6], slope[1, 6], slope[2, 6] = -scale * c, scale * w, scale * a
        slope[0, 7], slope[1, 7], slope[2, 7] = scale * b, -scale * a, scale * w
        for r in range(3):
            for i in range(k):
                jacobian[n, r, i] = 0.0
            for m in range(8):
                weight = slope[r, m]
                for i in range(k):
                    jacobian[n, r, i] += weight * blended[n, m * k + i]
    return out, jacobian


@numba.njit(cache=True, error_model="numpy")
def apply_root(data, q, inner, moving):
    """Points [N, 3] and derivatives [N, 3, k] (or none), as the floating root carries them."""
    if data.first == 0:
        return inner, moving
    rotation, angular, origin = root_or_world(data.first, q)
    out, jacobian = inner @ rotation.T, np.empty((len(moving), 3, len(q)))
    for n in range(len(moving)):
        x, y, z = out[n]
        write_root_transform(jacobian[n], 1.0, x, y, z, moving[n], rotation, angular)
    return out + origin, jacobian


@numba.njit(cache=True, error_model="numpy")
def skinned_embed(data, q, y, jacobian, with_jacobian):
    """Write sqrt(m) x [3L] of the lumps and, if wanted, its Jacobian [3L, k]."""
    motions, motion_slopes = frame_motions(data, q[data.first :], with_jacobian)
    points, moving = apply_root(data, q, *skin_points(data.lumps, motions, motion_slopes))
    for n in range(len(points)):
        weight = data.root_mass[n]
        for r in range(3):
            y[3 * n + r] = weight * points[n, r]
            if with_jacobian:
                for i in range(len(q)):
                    jacobian[3 * n + r, i] = weight * moving[n, r, i]
