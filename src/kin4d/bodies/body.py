"""Body: the one idea of this library. A body is a kinematic map from coordinates to geometry."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol, runtime_checkable

import numpy as np
import torch
from torch import Tensor

from kin4d.errors import InputError
from kin4d.geometry.clip import Clip
from kin4d.geometry.mesh import Mesh
from kin4d.geometry.skin import Skin, SkinAnimation


@runtime_checkable
class Body(Protocol):
    """q -> x(q): everything downstream (mechanics, rendering, export) sees only this.

    Maps are batched over leading dims of q, differentiable, and run in q's dtype.
    """

    @property
    def rest(self) -> Mesh:
        """The surface at `q0`."""
        ...

    @property
    def coordinates(self) -> tuple[str, ...]:
        """Names of the k coordinates."""
        ...

    @property
    def q0(self) -> Tensor:
        """[k] float64 rest coordinates (rad, m or dimensionless)."""
        ...

    @property
    def limits(self) -> Tensor:
        """[k, 2] float64 lower and upper bounds; infinite where there is none."""
        ...

    @property
    def mass(self) -> Tensor:
        """[P] float64 kilograms of the mass points."""
        ...

    @property
    def skin(self) -> Skin | None:
        """How rigid joints carry the vertices, or None if the surface deforms freely."""
        ...

    def points(self, q: Tensor) -> Tensor:
        """Mass points [..., P, 3] (m) at q [..., k]."""
        ...

    def vertices(self, q: Tensor) -> Tensor:
        """Surface vertices [..., V, 3] (m) at q [..., k]."""
        ...

    def jacobian(self, q: Tensor) -> Tensor:
        """d points / dq: [..., P, 3, k]."""
        ...

    def skin_transforms(self, q: Tensor) -> Tensor:
        """Motions of the skin's joints from the rest pose, [..., J, 4, 4]."""
        ...


def require_coordinates(q: Tensor, width: int) -> None:
    """Raise `InputError` unless q is a floating-point tensor [..., width].

    Looks at no values, so that it costs nothing and runs under `torch.func` transforms.
    """
    if not isinstance(q, Tensor) or not q.is_floating_point():
        kind = q.dtype if isinstance(q, Tensor) else type(q).__name__
        raise InputError(
            "coordinates are not a floating-point tensor", value=str(kind), allowed="torch.float64"
        )
    if q.ndim < 1 or q.shape[-1] != width:
        raise InputError(
            "coordinates have the wrong width", value=tuple(q.shape), allowed=f"[..., {width}]"
        )


def check_coordinates(body: Body, q: Tensor | np.ndarray) -> Tensor:
    """`q` as a tensor [..., k] of `body`, or an `InputError` that says what is wrong with it."""
    try:
        q = torch.as_tensor(q)
    except (TypeError, ValueError, RuntimeError) as error:
        raise InputError(f"coordinates are not numbers: {error}") from None
    if not q.is_floating_point():
        q = q.to(torch.float64)
    k = len(body.coordinates)
    if q.ndim < 1 or q.shape[-1] != k:
        raise InputError(
            "coordinates have the wrong width",
            value=tuple(q.shape),
            allowed=f"[..., {k}] for {', '.join(body.coordinates) or 'a body that cannot move'}",
        )
    if not torch.isfinite(q).all():
        raise InputError("coordinates hold NaN or infinite values")
    return q


def autograd_jacobian(function: Callable[[Tensor], Tensor], q: Tensor) -> Tensor:
    """d function / dq [..., *shape, k] of a batched map q [..., k] -> [..., *shape]."""
    if not q.numel():
        return q.new_zeros(*function(q).shape, q.shape[-1])
    flat = q.reshape(-1, q.shape[-1]).contiguous()
    columns = torch.func.vmap(torch.func.jacfwd(function))(flat)
    return columns.reshape(*q.shape[:-1], *columns.shape[1:])


def bake(body: Body, q: Tensor | np.ndarray, *, fps: float = 24.0) -> Clip:
    """The Clip of `body` moving through coordinates `q` [T, k]."""
    with torch.no_grad():
        q = check_coordinates(body, q).to(torch.float64)
        if q.ndim != 2 or len(q) == 0:
            raise InputError("a motion is [T >= 1, k] coordinates", value=tuple(q.shape))
        rest = body.rest
        if body.skin is None:
            vertices = torch.stack([body.vertices(row).float() for row in q]).numpy()
            return Clip(mesh=rest, vertices=vertices, fps=fps, q=q.numpy())
        skin = SkinAnimation(
            joints=body.skin.joints,
            weights=body.skin.weights,
            names=body.skin.names,
            parents=body.skin.parents,
            pivots=body.skin.pivots,
            transforms=body.skin_transforms(q).numpy(),
        )
        frames = np.empty((len(q), len(rest.vertices), 3), np.float32)
        for frame, transforms in zip(frames, skin.transforms, strict=True):
            frame[:] = skin.apply(transforms, rest.vertices)
        return Clip(mesh=rest, vertices=frames, fps=fps, q=q.numpy(), skin=skin)


def sweep_joints(body: Body, *, frames: int = 48, reach: float = 1.0) -> Tensor:
    """[k * frames, k] float64: each coordinate in turn to both its limits and back to rest.

    Coordinates without limits go `reach` (rad or m) in both directions.
    """
    if frames < 1:
        raise InputError("a sweep needs frames", value=frames, allowed="frames >= 1")
    rest, limits = body.q0, body.limits
    phase = torch.linspace(0, 2 * torch.pi, frames, dtype=torch.float64).sin()
    span = torch.where(torch.isfinite(limits), limits, rest[:, None] + limits.sign() * reach)
    rows = rest.repeat(len(rest), frames, 1)
    for i in range(len(rest)):
        up, down = span[i, 1] - rest[i], rest[i] - span[i, 0]
        rows[i, :, i] = rest[i] + torch.where(phase > 0, phase * up, phase * down)
    return rows.flatten(0, 1)
