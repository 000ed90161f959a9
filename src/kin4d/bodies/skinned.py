"""SkinnedBody: a tree of joints in one skin, whose vertices blend the motions of several bones."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import torch
from scipy.spatial import KDTree
from torch import Tensor

from kin4d.bodies.body import require_coordinates
from kin4d.bodies.loose_joints import loosen
from kin4d.bodies.segmented import SegmentedBody
from kin4d.bodies.skin_distortion import SkinDistortion
from kin4d.errors import InputError
from kin4d.geometry.lattice import signed_volume
from kin4d.geometry.sampling import (
    SurfaceSamples,
    farthest_points,
    sample_masses,
    sample_surface,
)
from kin4d.geometry.skin import Skin
from kin4d.geometry.transforms import apply_rigid

_INFLUENCES = 4  # bones that a vertex follows
_SPREAD = 0.45  # standard deviation of random coordinates, of the way to their limits
_FINE = 16  # surface samples for each mass point
_LEAST = 1e-4  # of a vertex: smaller shares are none
_VOLUME = 0.12  # by which the enclosed volume of random states may change
_HOLLOW = 0.01  # of the bounding box: surfaces that enclose less volume have none to keep


class SkinnedBody:
    """A `Body` whose surface bends where the parts of a `SegmentedBody` meet.

    Vertices move by linear blend skinning. Where weights are continuous over the surface, so is
    every motion: nothing tears.

    Args:
        tree: Parts on joints: the skeleton. Parts without vertices are steps of joints with
            several coordinates.
        weights: [V, L] how much each vertex follows each part; rows sum to one. The four largest
            count, and a vertex's fade out before others take their place.
        search_limits: [k, 2] coordinates that a fit searches; the limits by default.
        max_distortion: Share of edges that random states stretch or crush by more than half.
        mass_points: How many; those on bones that would have none are added.
        seed: Of the mass points.

    Attributes:
        tree: As given: the same joints with parts that stay rigid.
        mass_samples: Where on the surface the mass points are.
    """

    def __init__(
        self,
        tree: SegmentedBody,
        weights: np.ndarray,
        *,
        search_limits: Tensor | None = None,
        max_distortion: float = 0.01,
        mass_points: int = 256,
        seed: int = 0,
    ) -> None:
        weights = np.asarray(weights, np.float64)
        if weights.shape != (len(tree.rest.vertices), len(tree.links)):
            raise InputError(
                "skinning weights",
                value=weights.shape,
                allowed=f"({len(tree.rest.vertices)}, {len(tree.links)})",
            )
        self.tree, self._weights = tree, weights
        self._options = {"max_distortion": max_distortion, "mass_points": mass_points, "seed": seed}
        self.rest, self.name = tree.rest, tree.name
        self.coordinates, self.q0, self.limits = tree.coordinates, tree.q0, tree.limits
        self.search_limits = tree.limits if search_limits is None else search_limits
        used, joints, self._shares = _largest_shares(weights)
        self._used = torch.from_numpy(used)
        names = tuple(tree.links[i].name for i in used)
        parents, pivots = _skeleton(tree, used)
        self.skin = Skin(
            joints=joints, weights=self._shares, names=names, parents=parents, pivots=pivots
        )
        self.mass_samples, mass = self._lump_masses(mass_points, seed)
        self.mass = torch.from_numpy(mass)
        self._points = self.probe(self.mass_samples)
        self._distortion = SkinDistortion.of(self.rest)
        self._max_distortion = max_distortion

    def skin_transforms(self, q: Tensor) -> Tensor:
        """Motions of the bones from the rest pose, [..., J, 4, 4]."""
        require_coordinates(q, len(self.coordinates))
        return self.tree.skin_transforms(q)[..., self._used, :, :]

    def vertices(self, q: Tensor) -> Tensor:
        """Surface vertices [..., V, 3] (m)."""
        return self._blend(q, self.rest.vertices, self.skin.joints, self._shares)

    def points(self, q: Tensor) -> Tensor:
        """Mass points [..., P, 3] (m)."""
        return self._points(q)

    def jacobian(self, q: Tensor) -> Tensor:
        """d points / dq, [..., P, 3, k]."""
        require_coordinates(q, len(self.coordinates))
        bones, shares, rest = map(torch.from_numpy, self.influences(self.mass_samples))
        frames = torch.linalg.inv(self.tree.link_poses(self.tree.q0))[bones]
        local = apply_rigid(frames.flatten(0, 1), rest.reshape(-1, 1, 3)).squeeze(1)
        slopes = self.tree.point_jacobian(q, bones.flatten(), local)
        slopes = slopes.unflatten(-3, tuple(bones.shape))
        return (shares.to(q)[:, :, None, None] * slopes).sum(-3)

    def probe(self, samples: SurfaceSamples) -> Callable[[Tensor], Tensor]:
        """The map q [..., k] -> points on the surface [..., N, 3] (m)."""
        used, at = np.unique(samples.corners, return_inverse=True)
        corners = torch.from_numpy(at.reshape(-1, 3))
        shares = torch.from_numpy(samples.barycentric)[..., None]
        rest, joints, weights = (
            part[used] for part in (self.rest.vertices, self.skin.joints, self._shares)
        )

        def move(q: Tensor) -> Tensor:
            moved = self._blend(q, rest, joints, weights)
            return (moved[..., corners, :] * shares.to(q)).sum(-2)

        return move

    def influences(self, samples: SurfaceSamples) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Links [N, K] that carry points of the surface, those with a share first, their shares
        [N, K], and positions [N, K, 3] (m) at rest of what they carry.

        A point is the sum of these positions, moved with their links, by their shares.
        """
        corners, rows = samples.corners, np.arange(len(samples))
        share = np.zeros((len(samples), len(self.skin.names)))
        moment = np.zeros((*share.shape, 3))
        for corner in range(3):
            for slot in range(_INFLUENCES):
                vertex = corners[:, corner]
                bone = self.skin.joints[vertex, slot]
                part = self._shares[vertex, slot] * samples.barycentric[:, corner]
                share[rows, bone] += part
                moment[rows, bone] += part[:, None] * self.rest.vertices[vertex]
        most = int((share > 0).sum(1).max(initial=1))
        bone = np.argsort(-share, axis=1, kind="stable")[:, :most]
        part = np.take_along_axis(share, bone, 1)
        place = np.take_along_axis(moment, bone[..., None], 1)
        place = place / np.where(part > 0, part, 1.0)[..., None]
        return self._used.numpy()[bone], part, place

    def sample(self, count: int, *, seed: int = 0) -> Tensor:
        """[count, k] random states, normal about rest and within the limits; those that stretch or
        crush the skin too much, or change its volume, are taken back towards rest until they do
        not."""
        generator = torch.Generator().manual_seed(seed)
        noise = torch.randn(count, len(self.q0), generator=generator, dtype=torch.float64)
        low, high = self.limits.T - self.q0
        offset = (_SPREAD * torch.where(noise < 0, -low, high) * noise).clamp(low, high)
        for row in offset:
            for _ in range(12):
                if self._is_plausible(self.vertices(self.q0 + row).numpy()):
                    break
                row *= 0.85
        return self.q0 + offset

    def _is_plausible(self, vertices: np.ndarray) -> bool:
        """Whether few edges are distorted at vertices [V, 3] (m), and the volume is about kept."""
        if self._distortion.share(vertices) > self._max_distortion:
            return False
        rest = signed_volume(self.rest)
        if abs(rest) < _HOLLOW * np.ptp(self.rest.bounds, axis=0).prod():
            return True
        now = signed_volume(self.rest.replace_vertices(vertices))
        return abs(now / rest - 1) <= _VOLUME

    def placed(self, pose: np.ndarray) -> SkinnedBody:
        """The same body moved by the rigid transform `pose` [4, 4]."""
        return SkinnedBody(
            self.tree.placed(pose), self._weights, search_limits=self.search_limits, **self._options
        )

    def loosened(self, most: float) -> tuple[SkinnedBody, np.ndarray]:
        """The same body whose joints also slide by up to `most` (m) along each axis, and which [k]
        of its coordinates these are."""
        tree, weights, limits, slides = loosen(self.tree, self._weights, self.search_limits, most)
        return SkinnedBody(tree, weights, search_limits=limits, **self._options), slides

    def _lump_masses(self, count: int, seed: int) -> tuple[SurfaceSamples, np.ndarray]:
        """Mass points spread over the surface, some on every bone, and the mass [P] (kg) nearest
        to each."""
        fine = sample_surface(self.rest, _FINE * count, seed=seed)
        places = fine.points(self.rest.vertices)
        masses = sample_masses(self.rest, fine.face, self.tree.face_masses)
        link, share, _ = self.influences(fine)
        on_link = np.zeros((len(fine), len(self.tree.links)))
        np.put_along_axis(on_link, link, share, 1)
        chosen = np.union1d(
            farthest_points(places, count, seed=seed), on_link[:, self._used.numpy()].argmax(0)
        )
        nearest = np.asarray(KDTree(places[chosen]).query(places)[1])
        samples = SurfaceSamples(
            face=fine.face[chosen], corners=fine.corners[chosen],
            barycentric=fine.barycentric[chosen],
        )  # fmt: skip
        return samples, np.bincount(nearest, masses, len(chosen))

    def _blend(
        self, q: Tensor, rest: np.ndarray, joints: np.ndarray, weights: np.ndarray
    ) -> Tensor:
        moves = self.skin_transforms(q)[..., :3, :]
        blended = torch.zeros(*q.shape[:-1], len(rest), 3, 4, dtype=q.dtype, device=q.device)
        for joint, share in zip(joints.T, weights.T, strict=True):
            chosen = moves[..., torch.from_numpy(joint.copy()), :, :]
            blended = blended + torch.from_numpy(share.copy()).to(q)[:, None, None] * chosen
        place = torch.tensor(rest, dtype=q.dtype, device=q.device)
        return (blended[..., :3] @ place[:, :, None]).squeeze(-1) + blended[..., 3]


def _skeleton(tree: SegmentedBody, used: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Of the links `used` [J]: the nearest used one above each [J], -1 for none, and where their
    joints are at rest [J, 3] (m)."""
    number = {tree.links[link].name: i for i, link in enumerate(used.tolist())}
    parents = np.full(len(used), -1)
    for name, i in number.items():
        for joint in reversed(tree.joints_above(name)):
            if (above := tree.joints[joint].parent) in number:
                parents[i] = number[above]
                break
    with torch.no_grad():
        pivots = tree.link_poses(tree.q0)[..., :3, 3].numpy()[used]
    return parents, pivots


def fade_weights(weights: np.ndarray) -> np.ndarray:
    """Weights [V, L] with at most four in a row, that vary as continuously as those given."""
    if weights.shape[1] > _INFLUENCES:
        # Less what the fifth has, so that none appears or goes at once.
        fifth = -np.partition(-weights, _INFLUENCES, axis=1)[:, _INFLUENCES]
        weights = np.maximum(weights - fifth[:, None], 0.0)
    weights = np.maximum(weights - _LEAST * (weights < 1), 0.0)
    return weights / weights.sum(1, keepdims=True)


def _largest_shares(weights: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The largest of weights [V, L]: links with any, numbers [V, K] among these, shares [V, K]."""
    faded = fade_weights(weights)
    used = np.flatnonzero(faded.any(0))
    faded = faded[:, used]
    joints = np.argsort(-faded, axis=1, kind="stable")[:, :_INFLUENCES]
    shares = np.take_along_axis(faded, joints, axis=1)
    pad = ((0, 0), (0, _INFLUENCES - joints.shape[1]))
    return used, np.pad(joints, pad), np.pad(shares, pad)
