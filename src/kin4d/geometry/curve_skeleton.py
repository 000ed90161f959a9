"""CurveSkeleton: the tree of centre lines of a solid, from its thickest point to its ends.

Ends are points that are far from the skeleton so far, measured inside the solid (the branches of
its Reeb graph), and the way there keeps to the middle, where the solid is deep (TEASAR, Sato et al.
2000). Where the solid is mirrored by a plane, so is its skeleton.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.ndimage import gaussian_filter1d

from kin4d.geometry.mirror_plane import MirrorPlane
from kin4d.geometry.solid_voxels import SolidVoxels

_CENTRING = 2.5  # power of the depth by which ways through shallow places cost more
_SMOOTHING = 3.0  # voxels along a centre line


@dataclass(frozen=True, kw_only=True)
class SkeletonConfig:
    """Which ends of a solid become branches.

    Attributes:
        min_length: Of a branch beyond the ball around the skeleton it leaves, in units of the
            solid's extent.
        min_ratio: The same, in radii of the largest ball on its way: bumps and corners are no
            branches.
        max_branches: At most, the longest first.
    """

    min_length: float = 0.07
    min_ratio: float = 1.2
    max_branches: int = 24


@dataclass(frozen=True, eq=False, kw_only=True)
class CurveSkeleton:
    """N nodes in a tree, parents before children.

    Attributes:
        points: [N, 3] m.
        radius: [N] m, about how far the surface is.
        parent: [N] int64, -1 for the root, which is the first.
        mirror: [N] int64, the node's mirror image; itself in the plane or without one.
        plane: The plane of symmetry, or None.
    """

    points: np.ndarray
    radius: np.ndarray
    parent: np.ndarray
    mirror: np.ndarray
    plane: MirrorPlane | None

    def __len__(self) -> int:
        return len(self.points)

    def chains(self) -> list[np.ndarray]:
        """The nodes of each unbranched stretch, from the root, a fork or an end to the next.

        A stretch begins with the node it leaves; stretches come before those that leave them.
        """
        children = np.bincount(self.parent[1:], minlength=len(self))
        found: list[np.ndarray] = []
        ends = np.flatnonzero((children != 1) & (np.arange(len(self)) > 0))
        for end in ends:
            chain = [int(end)]
            while True:
                chain.append(int(self.parent[chain[-1]]))
                if chain[-1] == 0 or children[chain[-1]] != 1:
                    break
            found.append(np.array(chain[::-1]))
        return sorted(found, key=lambda chain: int(chain[1]))


def curve_skeleton(
    solid: SolidVoxels, plane: MirrorPlane | None, config: SkeletonConfig
) -> CurveSkeleton:
    """The skeleton of a solid that `plane`, if any, mirrors onto itself."""
    extent = float(np.ptp(solid.centres, axis=0).max())
    growth = _Growth(solid, plane)
    for _ in range(config.max_branches):
        excess = growth.distance - growth.reach
        tip = int(np.argmax(excess))
        path = growth.path_to(tip)
        # Not that of where it leaves alone: the corners of a cubic head are near its thin neck too.
        ball = max(growth.radius_at(path[0]), float(solid.depth[path].max()))
        if excess[tip] < config.min_length * extent:
            break
        if excess[tip] < config.min_ratio * ball:
            growth.dismiss(path)
            continue
        growth.add(path)
    return growth.skeleton()


class _Growth:
    """A skeleton that grows branch by branch."""

    def __init__(self, solid: SolidVoxels, plane: MirrorPlane | None) -> None:
        self.solid, self.plane = solid, plane
        rows = np.repeat(np.arange(len(solid)), np.diff(solid.graph.indptr))
        deep = (solid.depth[rows] + solid.depth[solid.graph.indices]) / (2 * solid.step)
        cost = solid.graph.data / deep**_CENTRING
        root = self._root()
        self.points = [solid.centres[root]]
        self.radius = [float(solid.depth[root])]
        self.parent, self.mirror = [-1], [0]
        if plane is not None:
            self.points[0] = plane.project(self.points[0])
        _, _, self._before = solid.distances(np.array([root]), cost=cost)
        self._node = np.full(len(solid), -1)  # the skeleton's node at each voxel
        self._node[root] = 0
        self.distance = np.full(len(solid), np.inf)  # from the skeleton's balls, plus `reach`
        self.reach = float(solid.depth.max())
        self._measure(np.array([root]))

    def _root(self) -> int:
        """A voxel that is deep and central, in the plane if there is one."""
        solid = self.solid
        score = solid.depth.copy()
        score -= 0.3 * np.linalg.norm(solid.centres - solid.centres.mean(0), axis=1)
        if self.plane is not None:
            score[np.abs(self.plane.height(solid.centres)) > solid.step] = -np.inf
        return int(np.argmax(score))

    def path_to(self, tip: int) -> np.ndarray:
        """Voxels from the skeleton to `tip`, the first one of the skeleton's."""
        path = [tip]
        while self._node[path[-1]] < 0:
            path.append(int(self._before[path[-1]]))
        return np.array(path[::-1])

    def radius_at(self, voxel: int) -> float:
        """m, of the skeleton at one of its voxels."""
        return self.radius[self._node[voxel]]

    def dismiss(self, path: np.ndarray) -> None:
        """Take a path for part of what is there already, so that its end is no branch."""
        self._measure(path)

    def add(self, path: np.ndarray) -> None:
        """Grow along a path of voxels; off the plane of symmetry, along its mirror image too."""
        solid, plane, start = self.solid, self.plane, int(self._node[path[0]])
        line = _smoothed(solid.centres[path], self.points[start])
        radius = solid.depth[path]
        if plane is None:
            self._node[path[1:]] = self._extend(start, line[1:], radius[1:])
            self._measure(path)
            return
        off = np.abs(plane.height(line)) > 2 * solid.step
        # In the plane as long as it goes on there; a path never returns to it for good.
        middle = len(path) if not off[-1] else int(np.flatnonzero(~off).max(initial=0)) + 1
        if self.mirror[start] != start:
            middle = 1
        inner = self._extend(start, plane.project(line[1:middle]), radius[1:middle])
        self._node[path[1:middle]] = inner
        if middle < len(path):
            fork = int(inner[-1]) if len(inner) else start
            outer = self._extend(fork, line[middle:], radius[middle:])
            image = plane.reflect(line[middle:])
            voxels = solid.nearest(image)
            gap = np.linalg.norm(solid.centres[voxels] - image, axis=1)
            if np.quantile(gap, 0.9) > 2 * solid.step:  # this side only
                self._node[path[middle:]] = outer
                self._measure(path)
                return
            twin = self._extend(self.mirror[fork], image, radius[middle:])
            for one, other in zip(outer, twin, strict=True):
                self.mirror[one], self.mirror[other] = int(other), int(one)
            self._node[path[middle:]] = outer
            free = self._node[voxels] < 0
            self._node[voxels[free]] = twin[free]
            self._measure(voxels)
        self._measure(path)

    def _extend(self, start: int, points: np.ndarray, radius: np.ndarray) -> np.ndarray:
        """New nodes in a row after node `start`; their numbers."""
        first = len(self.points)
        numbers = np.arange(first, first + len(points))
        self.points += list(points)
        self.radius += [float(r) for r in radius]
        self.parent += [start, *numbers[:-1].tolist()][: len(points)]
        self.mirror += numbers.tolist()
        return numbers

    def _measure(self, voxels: np.ndarray) -> None:
        """Distances from balls around new voxels of the skeleton."""
        near, _, _ = self.solid.distances(voxels, start=self.reach - self.solid.depth[voxels])
        self.distance = np.minimum(self.distance, near)

    def skeleton(self) -> CurveSkeleton:
        return CurveSkeleton(
            points=np.array(self.points),
            radius=np.array(self.radius),
            parent=np.array(self.parent),
            mirror=np.array(self.mirror),
            plane=self.plane,
        )


def _smoothed(line: np.ndarray, start: np.ndarray) -> np.ndarray:
    """A line [N, 3] of voxel centres as a smooth one between the same ends, from `start`."""
    line = line.copy()
    line[0] = start
    if len(line) < 4:
        return line
    smooth = gaussian_filter1d(line, _SMOOTHING, axis=0, mode="nearest")
    # Ends stay where they are; what the filter moves them by fades out inwards.
    near = np.arange(len(line)) / _SMOOTHING
    fade = np.exp(-0.5 * near**2)[:, None]
    return smooth + fade * (line[0] - smooth[0]) + fade[::-1] * (line[-1] - smooth[-1])
