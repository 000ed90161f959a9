"""PcaBody: the linear baseline, a mesh that moves by principal components of known states."""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor

from kin4d.bodies.body import require_coordinates
from kin4d.errors import InputError
from kin4d.geometry.mesh import Mesh
from kin4d.geometry.sampling import sample_masses, sample_surface

_POINTS = 256


class PcaBody:
    """A `Body` whose vertices are the rest's plus a linear map of q.

    Args:
        mesh: At rest, q = 0.
        states: [N, V, 3] m: vertices in other states.
        count: How many components.
        mass: kg, spread evenly over the surface; or [F], of each triangle.
    """

    skin = None

    def __init__(
        self, mesh: Mesh, states: np.ndarray, *, count: int, mass: float | np.ndarray
    ) -> None:
        self.rest, self.name = mesh, mesh.name
        moves = (states - mesh.vertices).reshape(len(states), -1)
        _, size, rows = np.linalg.svd(moves, full_matrices=False)
        count = max(1, min(count, int((size > 1e-2 * size[0]).sum())))
        scale = np.sqrt(len(mesh.vertices))
        self._vertices = torch.from_numpy(mesh.vertices.copy())
        self._basis = torch.from_numpy((rows[:count] * scale).reshape(count, -1, 3))
        values = moves @ rows[:count].T / scale
        self.coordinates = tuple(f"component{i + 1}" for i in range(count))
        self.q0 = torch.zeros(count, dtype=torch.float64)
        low, high = np.minimum(values.min(0), -1e-3), np.maximum(values.max(0), 1e-3)
        self.limits = torch.from_numpy(np.stack([low, high], -1))
        samples = sample_surface(mesh, _POINTS, seed=0)
        self.mass = torch.from_numpy(sample_masses(mesh, samples.face, mass))
        self._points = samples.points(self._vertices)
        self._point_basis = samples.points(self._basis)

    def points(self, q: Tensor) -> Tensor:
        """Mass points [..., P, 3] (m)."""
        require_coordinates(q, len(self.coordinates))
        return self._points.to(q) + torch.einsum("kpi,...k->...pi", self._point_basis.to(q), q)

    def vertices(self, q: Tensor) -> Tensor:
        """Surface vertices [..., V, 3] (m)."""
        require_coordinates(q, len(self.coordinates))
        return self._vertices.to(q) + torch.einsum("kpi,...k->...pi", self._basis.to(q), q)

    def jacobian(self, q: Tensor) -> Tensor:
        """d points / dq, [..., P, 3, k]."""
        require_coordinates(q, len(self.coordinates))
        columns = self._point_basis.to(q).movedim(0, -1)
        return columns.expand(*q.shape[:-1], *columns.shape)

    def skin_transforms(self, q: Tensor) -> Tensor:
        """It has no skin."""
        raise InputError("a body of modes has no skin: its surface deforms freely")
