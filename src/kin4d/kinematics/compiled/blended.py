"""BlendedKinematics: exact kinematics of a skin over a tree of joints, floating or not, compiled.

Every point is a weighted sum of a few points, each fixed to one link.
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
    add_column,
    articulated_frames,
    transform_point,
)
from kin4d.kinematics.compiled.compiled_kinematics import Configuration, MassPointKinematics


class BlendedPoints(NamedTuple):
    """N points that blend K frames each.

    Attributes:
        frame: [N, K] frames, those with a share first.
        share: [N, K] of each.
        local: [N, K, 3] m, in the frames.
    """

    frame: np.ndarray
    share: np.ndarray
    local: np.ndarray


class BlendedData(NamedTuple):
    """Constants of a body.

    Attributes:
        tree: Its joints.
        points: The mass points.
        root_mass: [P] square root of kg.
        surface: Points on the surface.
    """

    tree: ArticulatedData
    points: BlendedPoints
    root_mass: np.ndarray
    surface: BlendedPoints


class BlendedKinematics(MassPointKinematics):
    """Kinematics of a `BlendedTree`, or of `FloatingBase` around it."""

    def __init__(
        self, body: BlendedTree, surface: SurfaceSamples, *, floating: bool, mass_scale: float
    ) -> None:
        tree = ArticulatedKinematics(body.tree, surface, floating=floating, mass_scale=mass_scale)
        with torch.no_grad():
            rest = body.tree.link_poses(body.tree.q0).numpy()
        # From the world, at rest, to the frame that carries each link.
        to_frame = tree.link_offset @ np.linalg.inv(rest)

        def blended(samples: SurfaceSamples) -> BlendedPoints:
            link, share, place = body.influences(samples)
            local = np.einsum("nkij,nkj->nki", to_frame[link][..., :3, :3], place)
            return BlendedPoints(
                np.ascontiguousarray(tree.link_frame[link]),
                np.ascontiguousarray(share),
                np.ascontiguousarray(local + to_frame[link][..., :3, 3]),
            )

        self.mass = body.mass.numpy() * mass_scale
        self.floating, self.width, self.size = floating, tree.width, 3 * len(self.mass)
        self.data = BlendedData(
            tree=tree.data,
            points=blended(body.mass_samples),
            root_mass=np.sqrt(self.mass),
            surface=blended(surface),
        )

    def embed(self, q: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """y = sqrt(m) x [3P] and its Jacobian [3P, k]."""
        y, jacobian = np.empty(self.size), np.empty((self.size, self.width))
        blended_embed(self.data, q, y, jacobian, True)
        return y, jacobian

    def surface_points(self, configuration: Configuration) -> np.ndarray:
        """All chosen points on the surface [S, 3] (m)."""
        index = np.arange(len(self.data.surface.share))
        return blended_points(self.data.tree, self.data.surface, configuration.q, index, False)[0]

    def points_and_jacobians(
        self, configuration: Configuration, index: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        """Surface points [N, 3] (m) and their Jacobians [N, 3, k]."""
        return blended_points(self.data.tree, self.data.surface, configuration.q, index, True)


@numba.njit(cache=True, error_model="numpy")
def _blend(tree, frames, points, p, scale, out, rows, with_jacobian):
    """Add `scale` times point p to `out` [3] and, if wanted, its derivatives to `rows` [3, k]."""
    one = np.empty(3)
    for i in range(points.frame.shape[1]):
        share = scale * points.share[p, i]
        if share == 0.0:
            break
        frame = points.frame[p, i]
        transform_point(frames[0][frame], frames[1][frame], points.local[p, i], one)
        for r in range(3):
            out[r] += share * one[r]
        if with_jacobian:
            add_column(tree, frames, frame, one[0], one[1], one[2], share, rows)


@numba.njit(cache=True, error_model="numpy")
def blended_embed(data, q, y, jacobian, with_jacobian):
    """Write sqrt(m) x [3P] and, if wanted, its Jacobian [3P, k]."""
    frames = articulated_frames(data.tree, q)
    y[:] = 0.0
    if with_jacobian:
        jacobian[:] = 0.0
    for p in range(len(data.root_mass)):
        part = slice(3 * p, 3 * p + 3)
        _blend(
            data.tree, frames, data.points, p, data.root_mass[p], y[part], jacobian[part],
            with_jacobian,
        )  # fmt: skip


@numba.njit(cache=True, error_model="numpy")
def blended_points(tree, points, q, index, with_jacobian):
    """Points `index` [N, 3] and their Jacobians [N, 3, k], zero unless wanted."""
    frames = articulated_frames(tree, q)
    out = np.zeros((len(index), 3))
    rows = np.zeros((len(index) if with_jacobian else 1, 3, len(q)))
    for i in range(len(index)):
        _blend(
            tree, frames, points, index[i], 1.0, out[i], rows[i if with_jacobian else 0],
            with_jacobian,
        )  # fmt: skip
    return out, rows
