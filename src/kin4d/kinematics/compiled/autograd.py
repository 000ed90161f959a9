"""AutogradKinematics: calls the body itself, where no fit is close enough. Slow."""

from __future__ import annotations

import numpy as np
import torch
from torch.nn.attention import SDPBackend, sdpa_kernel

from kin4d.bodies.body import Body
from kin4d.bodies.capabilities import surface_map
from kin4d.bodies.floating import FloatingBase
from kin4d.geometry.sampling import SurfaceSamples
from kin4d.kinematics.compiled.compiled_kinematics import CompiledKinematics, Configuration


class AutogradKinematics(CompiledKinematics):
    """Calls `Body.points` and `Body.jacobian` for every step."""

    compiled = False

    def __init__(
        self, body: Body, surface: SurfaceSamples, *, floating: bool, mass_scale: float
    ) -> None:
        self._body = FloatingBase(body) if floating else body
        self._surface = surface_map(self._body, surface)
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

    def mass_points(self, configuration: Configuration) -> np.ndarray:
        """Mass points [P, 3] (m)."""
        return configuration.y.reshape(-1, 3) / self._root

    def velocities(self, configuration: Configuration, qd: np.ndarray) -> np.ndarray:
        """Velocities [P, 3] (m/s) of the mass points."""
        return (configuration.jacobian @ qd).reshape(-1, 3) / self._root

    def pull_back(self, force: np.ndarray) -> np.ndarray:
        """[n] covector of forces [P, 3] (N)."""
        return (force / self._root).ravel()

    def surface_points(self, configuration: Configuration) -> np.ndarray:
        """All chosen points on the surface [S, 3] (m)."""
        with torch.no_grad():
            return self._surface(torch.from_numpy(configuration.q)).numpy()

    def points_and_jacobians(
        self, configuration: Configuration, index: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        """Surface points [N, 3] (m) and their Jacobians [N, 3, k]."""
        # Forward-mode derivatives exist only for the plain attention kernel.
        with sdpa_kernel(SDPBackend.MATH):
            jacobians = torch.func.jacfwd(lambda q: self._surface(q)[index])(
                torch.from_numpy(configuration.q)
            )
        return configuration.surface_points[index], jacobians.detach().numpy()
