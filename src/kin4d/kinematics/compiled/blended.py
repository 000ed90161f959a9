"""BlendedKinematics: exact kinematics of a skin over a tree of joints, floating or not, compiled.

Every point is a weighted sum of points fixed to a few frames, so it is linear in the frames'
rotations and origins, and kinetic energy is a quadratic form of their velocities. The root of that
form has four rows for a bone, however many mass points there are.
"""

from __future__ import annotations

from typing import NamedTuple

import numba
import numpy as np
import torch

from kin4d.bodies.capabilities import BlendedTree
from kin4d.geometry.sampling import SurfaceSamples
from kin4d.kinematics.compiled.articulated import (
    ArticulatedData,
    ArticulatedKinematics,
    articulated_frames,
)
from kin4d.kinematics.compiled.compiled_kinematics import CompiledKinematics, Configuration

_NOTHING = 1e-13  # of the largest: smaller entries of the root are rounding


class BlendedPoints(NamedTuple):
    """N points: point i is the sum of R moment + share o over its terms, R and o the rotation and
    origin of the term's frame.

    Attributes:
        first: [N + 1] the first term of each point.
        frame: [T] of each term.
        share: [T].
        moment: [T, 3].
    """

    first: np.ndarray
    frame: np.ndarray
    share: np.ndarray
    moment: np.ndarray


class BlendedData(NamedTuple):
    """Constants of a body.

    Attributes:
        tree: Its joints.
        root: Rows of the root of kinetic energy, square root of kg times m.
        surface: Points on the surface, m.
    """

    tree: ArticulatedData
    root: BlendedPoints
    surface: BlendedPoints


class BlendedKinematics(CompiledKinematics):
    """Kinematics of a `BlendedTree`, or of `FloatingBase` around it."""

    def __init__(
        self, body: BlendedTree, surface: SurfaceSamples, *, floating: bool, mass_scale: float
    ) -> None:
        tree = ArticulatedKinematics(body.tree, surface, floating=floating, mass_scale=mass_scale)
        with torch.no_grad():
            rest = body.tree.link_poses(body.tree.q0).numpy()
        # From the world, at rest, to the frame that carries each link.
        to_frame = tree.link_offset @ np.linalg.inv(rest)

        def rows(samples: SurfaceSamples) -> np.ndarray:
            link, share, place = body.influences(samples)
            local = np.einsum("nkij,nkj->nki", to_frame[link][..., :3, :3], place)
            local = np.concatenate(
                [local + to_frame[link][..., :3, 3], np.ones_like(place[..., :1])], -1
            )
            out = np.zeros((len(samples), len(tree.data.parent) + 1, 4))
            at = (np.arange(len(samples))[:, None], tree.link_frame[link])
            np.add.at(out, at, share[..., None] * local)
            return out

        self.mass = body.mass.numpy() * mass_scale
        self._root_mass = np.sqrt(self.mass)[:, None]
        weighted = self._root_mass[..., None] * rows(body.mass_samples)
        # From the tips inwards, so that the triangular factor of a tree stays sparse.
        used = np.flatnonzero(weighted.any((0, 2)))[::-1]
        self._spread, factor = np.linalg.qr(weighted[:, used].reshape(len(self.mass), -1))
        factor[np.abs(factor) < _NOTHING * np.abs(factor).max(initial=0.0)] = 0.0
        root = np.zeros((len(factor), *weighted.shape[1:]))
        root[:, used] = factor.reshape(len(factor), -1, 4)
        self.floating, self.width, self.size = floating, tree.width, 3 * len(root)
        self.data = BlendedData(
            tree=tree.data,
            root=_blended_points(root),
            surface=_blended_points(rows(surface)),
        )

    def embed(self, q: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """y [n] and its Jacobian [n, k]."""
        y, jacobian = np.empty(self.size), np.empty((self.size, self.width))
        blended_embed(self.data, q, y, jacobian, True)
        return y, jacobian

    def mass_points(self, configuration: Configuration) -> np.ndarray:
        """Mass points [P, 3] (m)."""
        return self._spread @ configuration.y.reshape(-1, 3) / self._root_mass

    def velocities(self, configuration: Configuration, qd: np.ndarray) -> np.ndarray:
        """Velocities [P, 3] (m/s) of the mass points."""
        return self._spread @ (configuration.jacobian @ qd).reshape(-1, 3) / self._root_mass

    def pull_back(self, force: np.ndarray) -> np.ndarray:
        """[n] covector of forces [P, 3] (N)."""
        return (self._spread.T @ (force / self._root_mass)).ravel()

    def surface_points(self, configuration: Configuration) -> np.ndarray:
        """All chosen points on the surface [S, 3] (m)."""
        index = np.arange(len(self.data.surface.first) - 1)
        return blended_points(self.data.tree, self.data.surface, configuration.q, index, False)[0]

    def points_and_jacobians(
        self, configuration: Configuration, index: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        """Surface points [N, 3] (m) and their Jacobians [N, 3, k]."""
        return blended_points(self.data.tree, self.data.surface, configuration.q, index, True)


def _blended_points(rows: np.ndarray) -> BlendedPoints:
    """Of points linear in all frames: rows [N, F, 4], the moment and share of each frame."""
    point, frame = np.nonzero(rows.any(-1))
    terms = rows[point, frame]
    return BlendedPoints(
        first=np.searchsorted(point, np.arange(len(rows) + 1)),
        frame=frame,
        share=np.ascontiguousarray(terms[:, 3]),
        moment=np.ascontiguousarray(terms[:, :3]),
    )


@numba.njit(cache=True, error_model="numpy")
def _sum_frames(tree, frames, sums, p, out, rows, with_jacobian):
    """Write point p to `out` [3] and, if wanted, add its derivatives to `rows` [3, k]."""
    rotations, origins, axes, angular = frames
    out[:] = 0.0
    for term in range(sums.first[p], sums.first[p + 1]):
        frame, share = sums.frame[term], sums.share[term]
        rotation, moment = rotations[frame], sums.moment[term]
        x, y, z = share * origins[frame, 0], share * origins[frame, 1], share * origins[frame, 2]
        x += rotation[0, 0] * moment[0] + rotation[0, 1] * moment[1] + rotation[0, 2] * moment[2]
        y += rotation[1, 0] * moment[0] + rotation[1, 1] * moment[1] + rotation[1, 2] * moment[2]
        z += rotation[2, 0] * moment[0] + rotation[2, 1] * moment[1] + rotation[2, 2] * moment[2]
        out[0] += x
        out[1] += y
        out[2] += z
        if not with_jacobian:
            continue
        j = frame - 1
        while j >= 0:
            column = tree.columns[j]
            ax, ay, az = axes[j, 0], axes[j, 1], axes[j, 2]
            if tree.sliding[j]:
                rows[0, column] += share * ax
                rows[1, column] += share * ay
                rows[2, column] += share * az
            else:
                dx, dy, dz = (
                    x - share * origins[j + 1, 0],
                    y - share * origins[j + 1, 1],
                    z - share * origins[j + 1, 2],
                )
                rows[0, column] += ay * dz - az * dy
                rows[1, column] += az * dx - ax * dz
                rows[2, column] += ax * dy - ay * dx
            j = tree.parent[j] - 1
        if tree.first:
            dx, dy, dz = (
                x - share * origins[0, 0],
                y - share * origins[0, 1],
                z - share * origins[0, 2],
            )
            for c in range(3):
                rows[c, c] += share
                ax, ay, az = angular[0, c], angular[1, c], angular[2, c]
                rows[0, 3 + c] += ay * dz - az * dy
                rows[1, 3 + c] += az * dx - ax * dz
                rows[2, 3 + c] += ax * dy - ay * dx


@numba.njit(cache=True, error_model="numpy")
def blended_embed(data, q, y, jacobian, with_jacobian):
    """Write y [n] and, if wanted, its Jacobian [n, k]."""
    frames = articulated_frames(data.tree, q)
    if with_jacobian:
        jacobian[:] = 0.0
    for p in range(len(data.root.first) - 1):
        part = slice(3 * p, 3 * p + 3)
        _sum_frames(data.tree, frames, data.root, p, y[part], jacobian[part], with_jacobian)


@numba.njit(cache=True, error_model="numpy")
def blended_points(tree, points, q, index, with_jacobian):
    """Points `index` [N, 3] and their Jacobians [N, 3, k], zero unless wanted."""
    frames = articulated_frames(tree, q)
    out = np.zeros((len(index), 3))
    rows = np.zeros((len(index) if with_jacobian else 1, 3, len(q)))
    for i in range(len(index)):
        row = rows[i if with_jacobian else 0]
        _sum_frames(tree, frames, points, index[i], out[i], row, with_jacobian)
    return out, rows
