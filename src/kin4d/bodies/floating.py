"""FloatingBase: adds a free root of six degrees of freedom to any body."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import torch
from torch import Tensor

from kin4d.bodies.body import Body, require_coordinates
from kin4d.bodies.capabilities import Placeable, WideSearch, surface_map
from kin4d.errors import InputError
from kin4d.geometry.mesh import Mesh
from kin4d.geometry.sampling import SurfaceSamples
from kin4d.geometry.skin import Skin
from kin4d.geometry.transforms import apply_rigid, rigid, rotvec_to_matrix

_ROOT = ("x", "y", "z", "rx", "ry", "rz")


class FloatingBase:
    """A `Body` whose first six coordinates move another body as a whole.

    q = (translation [3] m, rotation vector [3] rad about the world origin, the body's own q).
    Zero root coordinates leave the body where it is.
    """

    def __init__(self, body: Body) -> None:
        self.body = body
        self.coordinates = _ROOT + body.coordinates
        self.q0 = torch.cat([torch.zeros(6, dtype=torch.float64), body.q0])
        free = torch.tensor([[-torch.inf, torch.inf]], dtype=torch.float64).expand(6, 2)
        self.limits = torch.cat([free, body.limits])
        wide = body.search_limits if isinstance(body, WideSearch) else body.limits
        self.search_limits = torch.cat([free, wide])

    @property
    def rest(self) -> Mesh:
        """The surface at `q0`."""
        return self.body.rest

    @property
    def mass(self) -> Tensor:
        """[P] kilograms of the mass points."""
        return self.body.mass

    @property
    def skin(self) -> Skin | None:
        """The body's own skin: the root moves its joints."""
        return self.body.skin

    def placed(self, pose: np.ndarray) -> FloatingBase:
        """The same body with its rest moved by the rigid transform `pose` [4, 4]."""
        if not isinstance(self.body, Placeable):
            raise InputError(
                f"'{self.rest.name}' cannot be moved to a pose", hint="move its mesh before"
            )
        return FloatingBase(self.body.placed(pose))

    def probe(self, samples: SurfaceSamples) -> Callable[[Tensor], Tensor]:
        """The map q [..., k] -> points on the surface [..., N, 3] (m)."""
        inner = surface_map(self.body, samples)

        def move(q: Tensor) -> Tensor:
            pose = self.root_pose(q)
            return inner(q[..., 6:]) @ pose[..., :3, :3].mT + pose[..., None, :3, 3]

        return move

    def root_pose(self, q: Tensor) -> Tensor:
        """[..., 4, 4] motion of the whole body."""
        require_coordinates(q, len(self.coordinates))
        return rigid(rotvec_to_matrix(q[..., 3:6]), q[..., :3])

    def points(self, q: Tensor) -> Tensor:
        """Mass points [..., P, 3] (m)."""
        return apply_rigid(self.root_pose(q), self.body.points(q[..., 6:]))

    def vertices(self, q: Tensor) -> Tensor:
        """Surface vertices [..., V, 3] (m)."""
        return apply_rigid(self.root_pose(q), self.body.vertices(q[..., 6:]))

    def skin_transforms(self, q: Tensor) -> Tensor:
        """Motions of the skin's joints from the rest pose, [..., J, 4, 4]."""
        return self.root_pose(q)[..., None, :, :] @ self.body.skin_transforms(q[..., 6:])

    def jacobian(self, q: Tensor) -> Tensor:
        """d points / dq, [..., P, 3, 6 + k]."""
        require_coordinates(q, len(self.coordinates))
        local, rotvec = self.body.points(q[..., 6:]), q[..., 3:6].contiguous()
        rotation = rotvec_to_matrix(rotvec)
        axes = torch.eye(3, dtype=q.dtype, device=q.device)
        along = [
            torch.func.jvp(rotvec_to_matrix, (rotvec,), (axis.expand_as(rotvec),))[1]
            for axis in axes
        ]
        derivative = torch.stack(along, -1)
        moving = axes.expand(*local.shape[:-1], 3, 3)
        root = torch.einsum("...ijr,...pj->...pir", derivative, local)
        inner = torch.einsum("...ij,...pjk->...pik", rotation, self.body.jacobian(q[..., 6:]))
        return torch.cat([moving, root, inner], -1)
