"""A body in thirty lines: CONTRIBUTING shows this code."""

from __future__ import annotations

import torch
from torch import Tensor

from kin4d import Mesh
from kin4d.bodies.body import autograd_jacobian, require_coordinates


class TwistingColumn:
    """A column on z = 0 that twists about the z axis (rad/m) and stretches along it (ratio)."""

    coordinates = ("twist", "stretch")
    skin = None  # the surface deforms freely

    def __init__(self, mesh: Mesh, *, mass: float = 1.0) -> None:
        self.rest, count = mesh, len(mesh.vertices)
        self.q0 = torch.zeros(2, dtype=torch.float64)
        self.limits = torch.tensor([[-3.0, 3.0], [-0.3, 0.5]], dtype=torch.float64)
        self.mass = torch.full((count,), mass / count, dtype=torch.float64)
        self._vertices = torch.tensor(mesh.vertices)

    def vertices(self, q: Tensor) -> Tensor:
        require_coordinates(q, 2)
        x, y, z = self._vertices.to(q).T
        angle = q[..., :1] * z
        cos, sin = angle.cos(), angle.sin()
        return torch.stack([cos * x - sin * y, sin * x + cos * y, z * (1 + q[..., 1:])], -1)

    points = vertices  # a point mass at every vertex

    def jacobian(self, q: Tensor) -> Tensor:
        require_coordinates(q, 2)
        return autograd_jacobian(self.points, q)

    def skin_transforms(self, q: Tensor) -> Tensor:
        raise NotImplementedError("there is no skin")
