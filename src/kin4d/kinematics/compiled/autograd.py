"""AutogradKinematics: calls the body itself, for maps that no fit approximates. Slow."""

from __future__ import annotations

import numpy as np
import torch
from torch.nn.attention import SDPBackend, sdpa_kernel

from kin4d.bodies.body import Body
from kin4d.bodies.capabilities import surface_map
from kin4d.bodies.floating import FloatingBase
from kin4d.geometry.sampling import SurfaceSamples
from kin4d.kinematics.compiled.compiled_kinematics import CompiledKinematics


class AutogradKinematics(CompiledKinematics):
    """Calls `Body.points` and `Body.jacobian` for every step."""

    compiled = False

    def __init__(
        self, body: Body, places: SurfaceSamples, *, floating: bool, mass_scale: float
    ) -> None:
        self._body = FloatingBase(body) if floating else body
        self._probe = surface_map(self._body, places)
        self.floating, self.mass = floating, body.mass.numpy() * mass_scale
        self.width, self.size = len(self._body.coordinates), 3 * len(self.mass)
        self._root = np.sqrt(self.mass)[:, None]
        self.data = self

    def embed_into(self, q, y, jacobian, with_jacobian) -> None:
        """As the kernels do."""
        with torch.no_grad():
            y[:] = (self._root * self._body.points(torch.from_numpy(q)).numpy()).ravel()
            if with_jacobian:
                columns = self._body.jacobian(torch.from_numpy(q)).numpy()
                jacobian[:] = (self._root[:, :, None] * columns).reshape(jacobian.shape)

    def embed(self, q: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """y = sqrt(m) x [3P] and its Jacobian [3P, k]."""
        y, jacobian = np.empty(self.size), np.empty((self.size, self.width))
        self.embed_into(q, y, jacobian, True)
        return y, jacobian

    def points(self, q: np.ndarray, y: np.ndarray) -> np.ndarray:
        """Mass points [P, 3] (m)."""
        return y.reshape(-1, 3) / self._root

    def velocities(self, q: np.ndarray, jacobian: np.ndarray, qd: np.ndarray) -> np.ndarray:
        """Velocities [P, 3] (m/s) of the mass points."""
        return (jacobian @ qd).reshape(-1, 3) / self._root

    def lift(self, force: np.ndarray) -> np.ndarray:
        """[n] covector of forces [P, 3] (N)."""
        return (force / self._root).ravel()

    def places(self, q: np.ndarray) -> np.ndarray:
        """Places on the surface [S, 3] (m)."""
        with torch.no_grad():
            return self._probe(torch.from_numpy(q)).numpy()

    def followed(self, q: np.ndarray, index: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Some places [N, 3] (m) and their Jacobians [N, 3, k]."""
        # Forward-mode derivatives exist only for the plain attention kernel.
        with sdpa_kernel(SDPBackend.MATH):
            found = torch.func.jacfwd(lambda row: self._probe(row)[index])(torch.from_numpy(q))
        return self.places(q)[index], found.detach().numpy()
