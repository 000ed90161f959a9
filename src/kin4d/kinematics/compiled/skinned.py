"""SkinnedKinematics: a body whose points blend a few rigid frames, compiled.

How frames move is fitted, see `features`: it is close to linear in the coordinates of a network,
while where points go is not. What follows from the frames is exact.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import torch

from kin4d.bodies.body import Body
from kin4d.bodies.skinning_frames import SkinningFrames
from kin4d.geometry.sampling import SurfaceSamples
from kin4d.kinematics.compiled.compiled_kinematics import CompiledKinematics, Configuration
from kin4d.kinematics.compiled.features import (
    coordinate_box,
    extreme_coordinates,
    fit_features,
    latin_samples,
)
from kin4d.kinematics.compiled.lumped_mass import lump_masses
from kin4d.kinematics.compiled.skinned_kernels import (
    SkinnedData,
    SkinnedPoints,
    apply_root,
    frame_motions,
    skin_points,
    skinned_embed,
)

_TESTS = 64  # states in which the error is measured


class SkinnedKinematics(CompiledKinematics):
    """Kinematics of a body with `frames`. Its embedding is lumps of mass (`lump_masses`), each
    times the root of its mass.

    Args:
        body: The body, without a floating root.
        frames: Rigid frames that its points blend.
        surface: Points on its rest surface.
        floating: Whether to add the root of `FloatingBase`.
        mass_scale: Factor on the masses.
        seed: Of the samples and features.
    """

    def __init__(
        self,
        body: Body,
        frames: SkinningFrames,
        surface: SurfaceSamples,
        *,
        floating: bool,
        mass_scale: float,
        seed: int = 0,
    ) -> None:
        k, first, rng = len(body.coordinates), 6 if floating else 0, np.random.default_rng(seed)
        self.mass, self.floating = body.mass.numpy() * mass_scale, floating
        lumps = lump_masses(frames.points, frames.point_weights, self.mass)
        self.width, self.size = first + k, 3 * len(lumps.mass)
        self._spread, self._root = lumps.spread, np.sqrt(lumps.mass)[:, None]
        middle, half = coordinate_box(body)
        states = np.concatenate([latin_samples(60 + 120 * k, k, rng), extreme_coordinates(k)])
        with torch.no_grad():
            rows = torch.from_numpy(middle + half * states).split(32)
            twists = torch.cat([frames.twists(some) for some in rows]).flatten(1).numpy()
        self.data = SkinnedData(
            first=first,
            features=fit_features(states, twists, (middle, half), rng),
            centres=np.ascontiguousarray(frames.centres),
            lumps=_followers(lumps.rest, lumps.weights),
            root_mass=np.sqrt(lumps.mass),
        )
        self._corners, self._shares = surface.corners, surface.barycentric[..., None]
        self._rest, self._weights = body.rest.vertices, frames.vertex_weights
        self.error = self._measure(body, middle + half * latin_samples(_TESTS, k, rng))

    def embed(self, q: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """y = sqrt(m) x [3L] of the lumps and its Jacobian [3L, k]."""
        y, jacobian = np.empty(self.size), np.empty((self.size, self.width))
        skinned_embed(self.data, q, y, jacobian, True)
        return y, jacobian

    def mass_points(self, configuration: Configuration) -> np.ndarray:
        """Mass points [P, 3] (m)."""
        return self._spread @ (configuration.y.reshape(-1, 3) / self._root)

    def velocities(self, configuration: Configuration, qd: np.ndarray) -> np.ndarray:
        """Velocities [P, 3] (m/s) of the mass points."""
        return self._spread @ ((configuration.jacobian @ qd).reshape(-1, 3) / self._root)

    def pull_back(self, force: np.ndarray) -> np.ndarray:
        """[n] covector of forces [P, 3] (N)."""
        return (self._spread.T @ force / self._root).ravel()

    def surface_points(self, configuration: Configuration) -> np.ndarray:
        """All chosen points on the surface [S, 3] (m)."""
        return self._skin(configuration.q, np.arange(len(self._corners)), with_jacobian=False)[0]

    def points_and_jacobians(
        self, configuration: Configuration, index: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        """Surface points [N, 3] (m) and their Jacobians [N, 3, k]."""
        return self._skin(configuration.q, index, with_jacobian=True)

    def _skin(self, q: np.ndarray, index: np.ndarray, *, with_jacobian: bool) -> tuple[Any, Any]:
        """Surface points `index` [N], each interpolated in its triangle: [N, 3] (m) and, if wanted,
        their derivatives [N, 3, k]."""
        used, at = np.unique(self._corners[index], return_inverse=True)
        corners = _followers(self._rest[used], self._weights[used])
        own = q[self.data.first :]
        inner, moving = skin_points(corners, *frame_motions(self.data, own, with_jacobian))
        vertices, slopes = apply_root(self.data, q, inner, moving)
        shares, at = self._shares[index], at.reshape(-1, 3)
        points = (shares * vertices[at]).sum(1)
        return points, (shares[..., None] * slopes[at]).sum(1) if with_jacobian else slopes

    def _measure(self, body: Body, q: np.ndarray) -> float:
        """Root mean square distance (m) of mass points from the body's at q [N, k]."""
        with torch.no_grad():
            true = body.points(torch.from_numpy(q)).numpy()
        gaps = []
        for row, points in zip(q, true, strict=True):
            lumps, _ = skin_points(self.data.lumps, *frame_motions(self.data, row, False))
            gaps.append(self._spread @ lumps - points)
        return float(np.sqrt(np.square(gaps).sum(-1).mean()))


def _followers(rest: np.ndarray, weights: np.ndarray) -> SkinnedPoints:
    return SkinnedPoints(np.ascontiguousarray(rest), np.ascontiguousarray(weights))
