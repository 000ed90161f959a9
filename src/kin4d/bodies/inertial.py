"""Inertial: a rigid link's mass, centre and inertia, as six mass points that reproduce them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from kin4d.errors import InputError
from kin4d.geometry.mesh import Mesh


@dataclass(frozen=True, eq=False)
class Inertial:
    """Mass properties in a link's frame.

    Attributes:
        mass: Kilograms, > 0.
        center: [3] m, centre of mass.
        inertia: [3, 3] kg m^2 about the centre of mass.
    """

    mass: float
    center: np.ndarray
    inertia: np.ndarray

    def __post_init__(self) -> None:
        center = np.asarray(self.center, np.float64)
        inertia = np.asarray(self.inertia, np.float64)
        if not (np.isfinite(self.mass) and self.mass > 0):
            raise InputError("mass must be positive", value=self.mass, allowed="kilograms, > 0")
        if center.shape != (3,) or not np.isfinite(center).all():
            raise InputError("centre of mass must be three finite metres", value=center.tolist())
        if inertia.shape != (3, 3) or not np.isfinite(inertia).all():
            raise InputError("inertia must be a finite 3x3 matrix", value=inertia.tolist())
        object.__setattr__(self, "center", center)
        object.__setattr__(self, "inertia", 0.5 * (inertia + inertia.T))

    @classmethod
    def of_mesh(cls, mesh: Mesh, *, density: float = 500.0, thickness: float = 2e-3) -> Inertial:
        """Mass properties of a solid (`density`, kg/m^3) or, if the mesh is open, of a shell.

        A shell of `thickness` (m) has its mass spread over the area, so the result does not depend
        on how the surface is cut into triangles.
        """
        if not (np.isfinite(density) and density > 0):
            raise InputError("density must be positive", value=density, allowed="kg/m^3, > 0")
        import trimesh

        solid = trimesh.Trimesh(mesh.vertices, mesh.faces, process=True)
        if solid.is_watertight and solid.is_winding_consistent:
            properties = solid.mass_properties
            if abs(properties.volume) > 0:
                sign = np.sign(properties.volume)
                return cls(
                    float(sign * properties.mass * density),
                    properties.center_mass,
                    sign * properties.inertia * density,
                )
        return cls.of_shell(mesh, mesh.face_areas * density * thickness)

    @classmethod
    def of_shell(cls, mesh: Mesh, weights: np.ndarray) -> Inertial:
        """Mass properties of a thin surface whose triangles weigh `weights` [F] (kg), integrated
        exactly."""
        corners = mesh.vertices[mesh.faces]
        mass = float(weights.sum())
        center = (weights[:, None] * corners.mean(1)).sum(0) / mass
        corners = corners - center
        # Mean of x x^T over a triangle: 1 / 12 * (sum_i v_i v_i^T + s s^T), s the corner sum.
        total = corners.sum(1)
        second = np.einsum("f,fci,fcj->ij", weights / 12, corners, corners)
        second = second + np.einsum("f,fi,fj->ij", weights / 12, total, total)
        return cls(mass, center, np.trace(second) * np.eye(3) - second)

    def physical(self, *, margin: float = 1e-6) -> Inertial:
        """The nearest inertia that simulators take for that of a real object.

        Flat and thin links lie on the bound of what is possible, where rounding decides: every
        second moment gets at least `margin` of their sum.
        """
        second = 0.5 * np.trace(self.inertia) * np.eye(3) - self.inertia
        moments, axes = np.linalg.eigh(second)
        least = margin * max(float(np.maximum(moments, 0).sum()), 1e-12 * self.mass)
        second = (axes * np.maximum(moments, least)) @ axes.T
        return Inertial(self.mass, self.center, np.trace(second) * np.eye(3) - second)

    def mass_points(self) -> tuple[np.ndarray, np.ndarray]:
        """Six points [6, 3] (m) and masses [6] (kg) with this mass, centre and inertia.

        They stand in pairs along the principal axes of the second moment S = tr(I)/2 - I, at
        sqrt(3 s_i / m) from the centre. Inertias no real object has (S with a negative eigenvalue)
        are brought to the nearest physical one.
        """
        second = 0.5 * np.trace(self.inertia) * np.eye(3) - self.inertia
        moments, axes = np.linalg.eigh(second)
        reach = np.sqrt(3 * np.maximum(moments, 0) / self.mass)
        offsets = (axes * reach).T
        points = self.center + np.concatenate([offsets, -offsets])
        return points, np.full(6, self.mass / 6)
