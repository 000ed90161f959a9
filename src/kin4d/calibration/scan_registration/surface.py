"""Surfaces as points with normals, for registering a scan: what of them shows, and what is near."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from numba import njit
from scipy import ndimage
from scipy.spatial import KDTree
from torch import Tensor

from kin4d.bodies.articulated_base import ArticulatedBodyBase
from kin4d.geometry.mesh import Mesh
from kin4d.geometry.sampling import sample_surface


@dataclass(frozen=True, eq=False)
class ScanSamples:
    """N points spread evenly over a surface.

    Attributes:
        points: [N, 3] m (or scan units).
        normals: [N, 3] unit.
        area: [N] m^2 that each stands for.
        link: [N] int64, the link each is fixed to; its frame is theirs. Zero for a scan.
    """

    points: np.ndarray
    normals: np.ndarray
    area: np.ndarray
    link: np.ndarray

    def __getitem__(self, keep: np.ndarray) -> ScanSamples:
        return ScanSamples(self.points[keep], self.normals[keep], self.area[keep], self.link[keep])

    def posed(self, poses: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Points and normals [N, 3] with the links at `poses` [L, 4, 4]."""
        matrix = poses[self.link]
        rotation = matrix[:, :3, :3]
        points = np.einsum("nij,nj->ni", rotation, self.points) + matrix[:, :3, 3]
        return points, np.einsum("nij,nj->ni", rotation, self.normals)


def sample_scan(mesh: Mesh, count: int, *, seed: int, link: int = 0) -> ScanSamples:
    """`count` points of `mesh`, spread evenly by area."""
    surface_points = sample_surface(mesh, count, seed=seed)
    return ScanSamples(
        points=surface_points.points(mesh.vertices),
        normals=surface_points.normals(mesh.vertices),
        area=np.full(count, mesh.face_areas.sum() / count),
        link=np.full(count, link),
    )


def sample_links(body: ArticulatedBodyBase, count: int, *, seed: int) -> ScanSamples:
    """About `count` points of all links' surfaces, in proportion to area, at least 200 a link."""
    total = body.rest.face_areas.sum()
    parts = [
        sample_scan(mesh, max(200, round(count * mesh.face_areas.sum() / total)), seed=seed, link=i)
        for i, link in enumerate(body.links)
        if (mesh := link.mesh) is not None
    ]
    fields = ("points", "normals", "area", "link")
    return ScanSamples(
        *(np.concatenate([getattr(part, name) for part in parts]) for name in fields)
    )


def exposure(points: np.ndarray, normals: np.ndarray, area: float) -> np.ndarray:
    """[N] which side of a surface shows: 1 where the normal points, -1 the other, 0 if neither.

    Seen from many directions: in each pixel the foremost sample hides what lies clearly behind its
    tangent plane. A sample shows if it is seen in some of the views that look at it squarely.

    Args:
        points: [N, 3] m, spread evenly.
        normals: [N, 3] unit.
        area: Of the surface, m^2.
    """
    pixel = np.sqrt(6 * area / len(points))  # Six samples a pixel: few are without one.
    facing_count, front, back = np.zeros((3, len(points)))
    for view in _directions(40):
        frame = np.linalg.svd(view[None])[2][1:]
        cells = np.floor(points @ frame.T / pixel).astype(np.int64)
        cells -= cells.min(0)
        cell = cells @ (1, cells[:, 0].max() + 1)
        facing = normals @ view
        foremost = np.zeros(cell.max() + 1, np.int64)
        order = np.argsort(points @ view)
        foremost[cell[order]] = order
        first = foremost[cell]
        above = ((points - points[first]) * normals[first]).sum(-1) * np.sign(facing[first])
        square = np.abs(facing) > 0.6
        seen = square & (above > -0.35 * pixel)
        facing_count += square
        front += seen & (facing > 0)
        back += seen & (facing < 0)
    return np.where(front + back > 0.09 * facing_count, np.where(front >= back, 1, -1), 0)


def _directions(count: int) -> np.ndarray:
    """[count, 3] unit vectors spread evenly (a Fibonacci lattice)."""
    step = np.arange(count) + 0.5
    height, azimuth = 1 - 2 * step / count, step * np.pi * (1 + np.sqrt(5))
    ring = np.sqrt(1 - height**2)
    return np.stack([ring * np.cos(azimuth), ring * np.sin(azimuth), height], -1)


def exposed_links(
    body: ArticulatedBodyBase, samples: ScanSamples, rng: np.random.Generator
) -> ScanSamples:
    """The samples that usually show, in random poses; `area` is weighted by how often they do.

    Normals point outward, so a link exported inside out does no harm.
    """
    low, high = finite_limits(body).T
    votes = []
    for _ in range(4):
        q = torch.from_numpy(low + (high - low) * rng.random(len(low)))
        points, normals = samples.posed(body.link_poses(q).numpy())
        votes.append(exposure(points, normals, samples.area.sum()))
    votes = np.array(votes)
    often = np.abs(votes).mean(0)
    sign = np.where(votes.sum(0) < 0, -1.0, 1.0)
    outward = ScanSamples(
        samples.points, samples.normals * sign[:, None], samples.area * often, samples.link
    )
    return outward[often > 0.3]


def finite_limits(body: ArticulatedBodyBase) -> np.ndarray:
    """[k, 2] bounds worth searching: 2 pi where a joint has no limits or wider ones."""
    limits = body.limits.numpy()
    return np.where(limits[:, 1:] - limits[:, :1] > 2 * np.pi, (-np.pi, np.pi), limits)


class NearField:
    """The nearest of a scan's samples to any point, looked up in a grid.

    Attributes:
        points: [M, 3] float32.
        normals: [M, 3] float32, unit.
    """

    def __init__(self, points: np.ndarray, normals: np.ndarray, *, cells: int = 96) -> None:
        self.points = torch.from_numpy(points).float()
        self.normals = torch.from_numpy(normals).float()
        margin = 0.06 * np.ptp(points, axis=0).max()
        low = points.min(0) - margin
        self._cell = float((np.ptp(points, axis=0).max() + 2 * margin) / cells)
        index = ((points - low) / self._cell).astype(int)
        shape = index.max(0) + 1 + int(margin / self._cell)
        sample = np.full(shape, -1, np.int32)
        sample[tuple(index.T)] = np.arange(len(points))
        nearest = ndimage.distance_transform_edt(
            sample < 0, return_distances=False, return_indices=True
        )
        self._nearest = sample[tuple(np.asarray(nearest))]
        self._low = low.astype(np.float32)
        self._samples = np.concatenate([points, normals], -1).astype(np.float32)

    def nearest(self, points: Tensor) -> Tensor:
        """Indices [...] of the samples nearest to [..., 3], right to about a cell."""
        flat = np.ascontiguousarray(points.reshape(-1, 3).numpy(), np.float32)
        found = _nearest(flat, self._nearest, self._low, self._cell)
        return torch.from_numpy(found).reshape(points.shape[:-1])

    def misfit(
        self,
        transforms: Tensor,
        link: Tensor,
        points: Tensor,
        normals: Tensor,
        weight: Tensor,
        *,
        reach: float,
    ) -> Tensor:
        """[B] how much of a body, by `weight` [N], does not lie on the scan.

        A sample counts by its squared distance to the scan over `reach`, and in full if it is
        farther away or faces elsewhere.

        Args:
            transforms: [B, L, 4, 4] links to scan; uniform scaling allowed.
            link: [N] int64, the link of each sample.
            points: [N, 3] and `normals` [N, 3] of the samples in their links' frames.
        """
        local = torch.cat([points, normals, weight[:, None]], -1).numpy().astype(np.float32)
        matrices = np.ascontiguousarray(transforms.numpy(), np.float32)
        return torch.from_numpy(
            _misfit(
                matrices,
                link.numpy(),
                local,
                self._samples,
                self._nearest,
                self._low,
                self._cell,
                np.float32(reach),
            )
        )


@njit(cache=True, error_model="numpy")
def _cell_of(x, y, z, nearest, low, cell):
    i = min(max(int((x - low[0]) / cell), 0), nearest.shape[0] - 1)
    j = min(max(int((y - low[1]) / cell), 0), nearest.shape[1] - 1)
    k = min(max(int((z - low[2]) / cell), 0), nearest.shape[2] - 1)
    return nearest[i, j, k]


@njit(cache=True, error_model="numpy")
def _nearest(points, nearest, low, cell):
    out = np.empty(len(points), np.int64)
    for i in range(len(points)):
        out[i] = _cell_of(points[i, 0], points[i, 1], points[i, 2], nearest, low, cell)
    return out


@njit(cache=True, error_model="numpy")
def _misfit(transforms, link, local, samples, nearest, low, cell, reach):
    out = np.empty(len(transforms), np.float32)
    for b in range(len(transforms)):
        total = np.float32(0)
        for i in range(len(local)):
            m, p = transforms[b, link[i]], local[i]
            x = m[0, 0] * p[0] + m[0, 1] * p[1] + m[0, 2] * p[2] + m[0, 3]
            y = m[1, 0] * p[0] + m[1, 1] * p[1] + m[1, 2] * p[2] + m[1, 3]
            z = m[2, 0] * p[0] + m[2, 1] * p[1] + m[2, 2] * p[2] + m[2, 3]
            s = samples[_cell_of(x, y, z, nearest, low, cell)]
            gap = ((x - s[0]) ** 2 + (y - s[1]) ** 2 + (z - s[2]) ** 2) / (reach * reach)
            facing = (
                (m[0, 0] * p[3] + m[0, 1] * p[4] + m[0, 2] * p[5]) * s[3]
                + (m[1, 0] * p[3] + m[1, 1] * p[4] + m[1, 2] * p[5]) * s[4]
                + (m[2, 0] * p[3] + m[2, 1] * p[4] + m[2, 2] * p[5]) * s[5]
            )
            total += p[6] * (min(gap, np.float32(1)) if facing > 0.3 else np.float32(1))
        out[b] = total
    return out


def smooth_normals(points: np.ndarray, normals: np.ndarray, *, neighbours: int = 10) -> np.ndarray:
    """Unit normals averaged over the nearest samples: a scan's own are as rough as its noise."""
    near = KDTree(points).query(points, neighbours)[1]
    mean = normals[near].mean(1)
    return mean / np.maximum(np.linalg.norm(mean, axis=-1, keepdims=True), 1e-12)
