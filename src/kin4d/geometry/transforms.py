"""Rotations and rigid transforms in torch: batched, differentiable, exact at zero.

Rotation matrices are [..., 3, 3], rigid transforms [..., 4, 4], quaternions [..., 4] in w, x, y, z
order, rotation vectors [..., 3] in radians (axis times angle).
"""

from __future__ import annotations

import torch
from torch import Tensor


def hat(vector: Tensor) -> Tensor:
    """[..., 3, 3] skew matrix: ``hat(a) @ b == cross(a, b)``."""
    x, y, z = vector.unbind(-1)
    zero = torch.zeros_like(x)
    rows = (zero, -z, y, z, zero, -x, -y, x, zero)
    return torch.stack(rows, -1).unflatten(-1, (3, 3))


def rotvec_to_matrix(rotvec: Tensor) -> Tensor:
    """Rodrigues' formula: [..., 3] to [..., 3, 3]."""
    sinc, cosc, _ = _sine_series(rotvec.square().sum(-1))
    skew = hat(rotvec)
    eye = torch.eye(3, dtype=rotvec.dtype, device=rotvec.device)
    return eye + sinc[..., None, None] * skew + cosc[..., None, None] * (skew @ skew)


def matrix_to_rotvec(matrix: Tensor) -> Tensor:
    """[..., 3, 3] to the rotation vector of angle at most pi, [..., 3]."""
    return quaternion_to_rotvec(matrix_to_quaternion(matrix))


def quaternion_to_matrix(quaternion: Tensor) -> Tensor:
    """Unit quaternion [..., 4] (w, x, y, z) to [..., 3, 3]."""
    w, vector = quaternion[..., :1, None], quaternion[..., 1:]
    skew = hat(vector)
    eye = torch.eye(3, dtype=quaternion.dtype, device=quaternion.device)
    return eye + 2 * (w * skew + skew @ skew)


def matrix_to_quaternion(matrix: Tensor) -> Tensor:
    """[..., 3, 3] to the unit quaternion with w >= 0, [..., 4]."""
    m = matrix
    trace = m.diagonal(dim1=-2, dim2=-1).sum(-1)
    xx, yy, zz = m[..., 0, 0], m[..., 1, 1], m[..., 2, 2]
    # The four columns of 4 * q q^T, one of which is always well away from zero.
    wx, wy, wz = (
        m[..., 2, 1] - m[..., 1, 2],
        m[..., 0, 2] - m[..., 2, 0],
        m[..., 1, 0] - m[..., 0, 1],
    )
    xy, xz, yz = (
        m[..., 1, 0] + m[..., 0, 1],
        m[..., 0, 2] + m[..., 2, 0],
        m[..., 2, 1] + m[..., 1, 2],
    )
    squares = torch.stack(
        [1 + trace, 1 + 2 * xx - trace, 1 + 2 * yy - trace, 1 + 2 * zz - trace], -1
    )
    columns = torch.stack(
        [
            torch.stack([squares[..., 0], wx, wy, wz], -1),
            torch.stack([wx, squares[..., 1], xy, xz], -1),
            torch.stack([wy, xy, squares[..., 2], yz], -1),
            torch.stack([wz, xz, yz, squares[..., 3]], -1),
        ],
        -2,
    )
    best = squares.argmax(-1)[..., None, None].expand(*squares.shape[:-1], 1, 4)
    column = columns.gather(-2, best).squeeze(-2)
    unit = column / column.norm(dim=-1, keepdim=True)
    return torch.where(unit[..., :1] < 0, -unit, unit)


def rotvec_to_quaternion(rotvec: Tensor) -> Tensor:
    """[..., 3] to the unit quaternion [..., 4]."""
    half = rotvec / 2
    squared = half.square().sum(-1)
    sinc, cosc, _ = _sine_series(squared)
    return torch.cat([(1 - squared * cosc)[..., None], sinc[..., None] * half], -1)


def quaternion_to_rotvec(quaternion: Tensor) -> Tensor:
    """Unit quaternion [..., 4] to the rotation vector of angle at most pi, [..., 3]."""
    quaternion = torch.where(quaternion[..., :1] < 0, -quaternion, quaternion)
    w, vector = quaternion[..., 0], quaternion[..., 1:]
    squared = vector.square().sum(-1)
    small = squared < _tiny(squared)
    norm = torch.where(small, torch.ones_like(squared), squared).sqrt()
    # atan2(s, w) / s = (1 - t/3 + t^2/5 - t^3/7 ...) / w with t = (s/w)^2, small where used.
    cosine = torch.where(small, w, torch.ones_like(w))
    t = torch.where(small, squared, torch.zeros_like(squared)) / cosine.square()
    series = (1 - t / 3 + t.square() / 5 - t**3 / 7) / cosine
    factor = torch.where(small, series, torch.atan2(norm, w) / norm)
    return 2 * factor[..., None] * vector


def quaternion_multiply(a: Tensor, b: Tensor) -> Tensor:
    """Hamilton product of [..., 4] and [..., 4]."""
    aw, av, bw, bv = a[..., :1], a[..., 1:], b[..., :1], b[..., 1:]
    return torch.cat(
        [
            aw * bw - (av * bv).sum(-1, keepdim=True),
            aw * bv + bw * av + torch.linalg.cross(av, bv),
        ],
        -1,
    )


def quaternion_conjugate(quaternion: Tensor) -> Tensor:
    """[..., 4]: the inverse rotation of a unit quaternion."""
    return torch.cat([quaternion[..., :1], -quaternion[..., 1:]], -1)


def quaternion_rotate(quaternion: Tensor, points: Tensor) -> Tensor:
    """Rotate [..., 3] points by unit quaternions [..., 4]."""
    w, vector = quaternion[..., :1], quaternion[..., 1:]
    vector, points = torch.broadcast_tensors(vector, points)
    twice = 2 * torch.linalg.cross(vector, points)
    return points + w * twice + torch.linalg.cross(vector, twice)


def rigid(rotation: Tensor, translation: Tensor) -> Tensor:
    """[..., 4, 4] from [..., 3, 3] and [..., 3]."""
    top = torch.cat([rotation, translation[..., None]], -1)
    bottom = torch.zeros_like(top[..., :1, :])
    bottom[..., 3] = 1
    return torch.cat([top, bottom], -2)


def rigid_inverse(transform: Tensor) -> Tensor:
    """Inverse of a rigid [..., 4, 4], exact by transposition."""
    rotation = transform[..., :3, :3].mT
    return rigid(rotation, -(rotation @ transform[..., :3, 3:]).squeeze(-1))


def apply_rigid(transform: Tensor, points: Tensor) -> Tensor:
    """Move points [..., N, 3] by [..., 4, 4]."""
    return points @ transform[..., :3, :3].mT + transform[..., None, :3, 3]


def rotvec_jacobian(rotvec: Tensor) -> Tensor:
    """[..., 3, 3]: how fast the body turns, in world axes, per change of a rotation vector."""
    _, cosc, tri = _sine_series(rotvec.square().sum(-1))
    skew = hat(rotvec)
    eye = torch.eye(3, dtype=rotvec.dtype, device=rotvec.device)
    return eye + cosc[..., None, None] * skew + tri[..., None, None] * (skew @ skew)


def se3_exp(twist: Tensor) -> Tensor:
    """Twist [..., 6] (translation part v, then rotation vector w) to [..., 4, 4]."""
    v, w = twist[..., :3], twist[..., 3:]
    return rigid(rotvec_to_matrix(w), (rotvec_jacobian(w) @ v[..., None]).squeeze(-1))


def se3_log(transform: Tensor) -> Tensor:
    """Inverse of `se3_exp`, with rotation angle at most pi: [..., 4, 4] to [..., 6]."""
    w = matrix_to_rotvec(transform[..., :3, :3])
    squared = w.square().sum(-1)
    sinc, cosc, _ = _sine_series(squared)
    small = squared < _tiny(squared)
    safe = torch.where(small, torch.ones_like(squared), squared)
    # (1 - sinc / (2 cosc)) / angle^2 -> 1/12 + angle^2 / 720 as angle -> 0.
    exact = (1 - sinc / (2 * torch.where(small, torch.ones_like(cosc), cosc))) / safe
    factor = torch.where(small, 1 / 12 + squared / 720, exact)
    skew = hat(w)
    eye = torch.eye(3, dtype=transform.dtype, device=transform.device)
    inverse = eye - 0.5 * skew + factor[..., None, None] * (skew @ skew)
    return torch.cat([(inverse @ transform[..., :3, 3:]).squeeze(-1), w], -1)


def _tiny(like: Tensor) -> float:
    """Squared angle below which series are exact to rounding."""
    return 1e-3 if like.dtype == torch.float32 else 1e-5


def _sine_series(squared: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """sin(a)/a, (1-cos a)/a^2 and (a-sin a)/a^3 of a squared angle, smooth through zero."""
    small = squared < _tiny(squared)
    s = torch.where(small, squared, torch.zeros_like(squared))
    series = (
        1 - s / 6 * (1 - s / 20 * (1 - s / 42)),
        0.5 - s / 24 * (1 - s / 30 * (1 - s / 56)),
        1 / 6 - s / 120 * (1 - s / 42 * (1 - s / 72)),
    )
    safe = torch.where(small, torch.ones_like(squared), squared)
    angle = safe.sqrt()
    exact = (
        angle.sin() / angle,
        # 2 sin^2(a/2) keeps the digits that 1 - cos(a) loses.
        2 * (angle / 2).sin().square() / safe,
        (angle - angle.sin()) / (safe * angle),
    )
    sinc, cosc, tri = (torch.where(small, a, b) for a, b in zip(series, exact, strict=True))
    return sinc, cosc, tri
