"""A bar that bends, twists and stretches: a smooth body with four coordinates, to test with."""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor

from kin4d.geometry.mesh import Mesh


class BendingBar:
    """A `Body` that deforms freely; one metre long, clamped at its lower end."""

    name, skin = "bar", None
    coordinates = ("bend_x", "bend_y", "twist", "stretch")

    def __init__(self, *, subdivisions: int = 3) -> None:
        import trimesh

        solid = trimesh.creation.box(extents=(0.1, 0.1, 1.0))
        for _ in range(subdivisions):
            solid = solid.subdivide()
        self.rest = Mesh(vertices=solid.vertices, faces=solid.faces, name="bar")
        self.q0 = torch.zeros(4, dtype=torch.float64)
        self.limits = torch.tensor([[-1.5, 1.5], [-1.5, 1.5], [-1, 1], [-0.3, 0.3]]).double()
        chosen = np.random.default_rng(0).choice(len(solid.vertices), 200)
        self._surface = torch.from_numpy(solid.vertices.copy())
        self._heavy = self._surface[torch.from_numpy(chosen)]
        self.mass = torch.full((200,), 5 / 200, dtype=torch.float64)

    def points(self, q: Tensor) -> Tensor:
        return _bend(q, self._heavy)

    def vertices(self, q: Tensor) -> Tensor:
        return _bend(q, self._surface)

    def jacobian(self, q: Tensor) -> Tensor:
        return torch.func.jacfwd(self.points)(q)

    def skin_transforms(self, q: Tensor) -> Tensor:
        raise NotImplementedError("a bar has no skin")


def _bend(q: Tensor, points: Tensor) -> Tensor:
    x, y, z = points.unbind(-1)
    bend_x, bend_y, twist, stretch = q[..., None, :].unbind(-1)
    height = z + 0.5
    turn, along = twist * height, height * (1 + stretch)
    x, y = x * turn.cos() - y * turn.sin(), x * turn.sin() + y * turn.cos()
    first, second = bend_x * height, bend_y * height
    out_x = along * (first / 2).sin() * torch.sinc(first / (2 * torch.pi)) + x * first.cos()
    out_y = along * (second / 2).sin() * torch.sinc(second / (2 * torch.pi)) + y * second.cos()
    up = along * torch.sinc(first / torch.pi) * torch.sinc(second / torch.pi)
    return torch.stack([out_x, out_y, up - x * first.sin() - y * second.sin() - 0.5], -1)
