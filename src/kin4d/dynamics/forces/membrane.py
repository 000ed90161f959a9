"""Membrane: in-plane elasticity of a thin sheet, for motions of any size."""

from __future__ import annotations

from copy import copy

import numba
import numpy as np

from kin4d.dynamics.forces.force import ActorConstants, Force, ForceContext, ForceTerms
from kin4d.errors import InputError


class Membrane(Force):
    """Elastic energy of a sheet that resists being stretched, and does not resist compression.

    A thin sheet that is pressed in its plane wrinkles instead, in folds finer than a body's
    coordinates can show, at next to no cost. That is tension field theory: of the energy of a
    material (Saint Venant-Kirchhoff's, in plane stress) what wrinkles leave (Pipkin, "The relaxed
    energy density for isotropic elastic membranes", 1986). It knows no bending.

    Args:
        young: Pa.
        thickness: m.
        poisson: Ratio of sideways contraction, 0 to below 0.5.
        damping: s, Rayleigh's: how much of the stiffness resists the rate of stretching.
    """

    needs_elements = needs_triangles = True

    def __init__(
        self, *, young: float, thickness: float, poisson: float = 0.3, damping: float = 0.0
    ) -> None:
        for name, value in (("young", young), ("thickness", thickness)):
            if not (np.isfinite(value) and value > 0):
                raise InputError(f"{name} of a membrane", value=value, allowed="> 0, SI units")
        if not 0 <= poisson < 0.5:
            raise InputError("poisson of a membrane", value=poisson, allowed="0 to below 0.5")
        if not (np.isfinite(damping) and damping >= 0):
            raise InputError("damping of a membrane", value=damping, allowed="seconds, >= 0")
        self.stiffness, self.poisson, self.damping = young * thickness, poisson, damping
        self._rest, self._weights = np.zeros((0, 2, 2)), np.zeros(0)

    def prepare(self, actor: ActorConstants) -> Membrane:
        """The membrane of one body, relative to its triangles at rest."""
        prepared = copy(self)
        corners, areas = actor.rest_triangles()
        prepared._rest, prepared._weights = _inverse_sides(corners), areas * self.stiffness
        return prepared

    def load(self, context: ForceContext) -> ForceTerms:
        """Force and stiffness of the stretch at this instant."""
        corners, jacobians = context.triangles
        energy, force, stiffness = _strain_energy(
            corners, jacobians, self._rest, self._weights, self.poisson
        )
        return ForceTerms(
            stiffness=stiffness,
            constant_force=force + stiffness @ context.q,
            damping=self.damping * stiffness if self.damping else None,
            energy=energy,
        )


def _inverse_sides(corners: np.ndarray) -> np.ndarray:
    """[N, 2, 2] inverse of two sides of triangles [N, 3, 3] in their plane."""
    first, second = corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0]
    length = np.linalg.norm(first, axis=-1)
    along = np.einsum("ni,ni->n", first, second) / length
    across = np.linalg.norm(np.cross(first, second), axis=-1) / length
    sides = np.stack([length, along, np.zeros_like(length), across], -1).reshape(-1, 2, 2)
    return np.linalg.inv(sides)


@numba.njit(cache=True, error_model="numpy")
def _strain_energy(corners, jacobians, rest, weights, poisson):
    """Energy (J), force [k] and stiffness [k, k] of triangles with corners [N, 3, 3] and their
    derivatives [N, 3, 3, k]; `rest` [N, 2, 2] from `_inverse_sides`, `weights` [N] N m.

    The stiffness leaves out second derivatives of corners by q, so it is never negative.
    """
    count, k = len(corners), jacobians.shape[3]
    energy, force, matrix = 0.0, np.zeros(k), np.zeros((k, k))
    slopes, strains = np.empty((6, k)), np.empty((3, k))
    axes = np.empty((2, 3))
    for n in range(count):
        for a in range(2):
            for i in range(3):
                axes[a, i] = (corners[n, 1, i] - corners[n, 0, i]) * rest[n, 0, a]
                axes[a, i] += (corners[n, 2, i] - corners[n, 0, i]) * rest[n, 1, a]
        xx, yy, xy = -0.5, -0.5, 0.0  # Green's strain
        for i in range(3):
            xx += 0.5 * axes[0, i] * axes[0, i]
            yy += 0.5 * axes[1, i] * axes[1, i]
            xy += 0.5 * axes[0, i] * axes[1, i]
        mean, half = 0.5 * (xx + yy), np.sqrt(0.25 * (xx - yy) ** 2 + xy * xy)
        most, least = mean + half, mean - half
        if most <= 0:
            continue  # slack
        weight = weights[n]
        # Direction of the largest strain, (c, s), as its double angle.
        c2, s2 = ((xx - yy) / (2 * half), xy / half) if half > 1e-12 else (1.0, 0.0)
        for a in range(2):
            for i in range(3):
                for j in range(k):
                    slopes[3 * a + i, j] = (jacobians[n, 1, i, j] - jacobians[n, 0, i, j]) * rest[
                        n, 0, a
                    ] + (jacobians[n, 2, i, j] - jacobians[n, 0, i, j]) * rest[n, 1, a]
        # Derivatives of the strain along that direction, across it, and of its shear.
        for j in range(k):
            dxx, dyy, dxy = 0.0, 0.0, 0.0
            for i in range(3):
                dxx += axes[0, i] * slopes[i, j]
                dyy += axes[1, i] * slopes[3 + i, j]
                dxy += 0.5 * (axes[0, i] * slopes[3 + i, j] + axes[1, i] * slopes[i, j])
            rotated = 0.5 * (dxx - dyy) * c2 + dxy * s2
            strains[0, j] = 0.5 * (dxx + dyy) + rotated
            strains[1, j] = 0.5 * (dxx + dyy) - rotated
            strains[2, j] = dxy * c2 - 0.5 * (dxx - dyy) * s2
        if least <= -poisson * most:  # wrinkled: tension in one direction only
            first, second, shear = weight * most, 0.0, 2 * weight * most / (most - least)
            along, across, both = weight, 0.0, 0.0
        else:
            along = weight / (1 - poisson * poisson)
            across, both, shear = along, poisson * along, 2 * along * (1 - poisson)
            first, second = along * most + both * least, across * least + both * most
        energy += 0.5 * (first * most + second * least)
        # The two tensions as a tensor over the flat axes.
        pxx = 0.5 * (first + second) + 0.5 * (first - second) * c2
        pyy, pxy = first + second - pxx, 0.5 * (first - second) * s2
        for i in range(k):
            force[i] -= first * strains[0, i] + second * strains[1, i]
            for j in range(i + 1):
                total = strains[0, i] * (along * strains[0, j] + both * strains[1, j])
                total += strains[1, i] * (both * strains[0, j] + across * strains[1, j])
                total += shear * strains[2, i] * strains[2, j]
                for r in range(3):
                    total += slopes[r, i] * (pxx * slopes[r, j] + pxy * slopes[3 + r, j])
                    total += slopes[3 + r, i] * (pxy * slopes[r, j] + pyy * slopes[3 + r, j])
                matrix[i, j] += total
    for i in range(k):
        for j in range(i):
            matrix[j, i] = matrix[i, j]
    return energy, force, matrix
