"""Pairs: one object in two states, as corresponding points and the motions between them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields

import numpy as np

from kin4d.objects.augmentation import Augmentation
from kin4d.objects.object_sample import ObjectSample, PointMotions, SurfacePoints
from kin4d.storage.sample_id import SampleId


@dataclass(frozen=True, eq=False, kw_only=True)
class PairBatch:
    """B pairs of N points in the frame of their first state's box.

    That box, the axis-aligned one of `points0`, is centred on the origin and its longest side is 1
    (times the augmentation's scale). A point x of the box was at x / scale + centre, m, after the
    augmentation's rotation.

    Attributes:
        points0: [B, N, 3] float32 in the first state.
        normals0: [B, N, 3] float32 unit.
        points1: [B, N, 3] float32 the same points in the second state, in the same frame.
        dq: [B, N, 8] float32 unit dual quaternions with w >= 0; applied to `points0` they give
            `points1`.
        component: [B, N] int32, 0 to C - 1 in each pair.
        part: [B, N] int32 rigid part, -1 where unknown.
        centre: [B, 3] float64 m.
        scale: [B] float64 1/m.
        exact: [B] bool: whether `dq` is the true motion of rigid parts, or fitted locally.
        identities: B of them.
    """

    points0: np.ndarray
    normals0: np.ndarray
    points1: np.ndarray
    dq: np.ndarray
    component: np.ndarray
    part: np.ndarray
    centre: np.ndarray
    scale: np.ndarray
    exact: np.ndarray
    identities: tuple[SampleId, ...]

    def __len__(self) -> int:
        return len(self.points0)

    def arrays(self) -> dict[str, np.ndarray]:
        """All arrays by name."""
        return {f.name: getattr(self, f.name) for f in fields(self) if f.name != "identities"}

    def rows(self, rows: slice) -> PairBatch:
        """Some of the pairs."""
        arrays = {name: array[rows] for name, array in self.arrays().items()}
        return PairBatch(**arrays, identities=self.identities[rows])

    @classmethod
    def concatenate(cls, several: Sequence[PairBatch]) -> PairBatch:
        """All pairs of several, in order."""
        names = several[0].arrays()
        arrays = {name: np.concatenate([getattr(p, name) for p in several]) for name in names}
        return cls(**arrays, identities=tuple(key for p in several for key in p.identities))


def make_pairs(
    sample: ObjectSample,
    count: int,
    rng: np.random.Generator,
    *,
    points: int = 512,
    augmentation: Augmentation | None = None,
) -> PairBatch:
    """`count` pairs of random states of one object.

    Args:
        sample: The object.
        count: How many.
        rng: Everything random comes from here.
        points: N.
        augmentation: None is `Augmentation()`; see also `Augmentation.none`.
    """
    vary = augmentation or Augmentation()
    proportions, mirror = vary.proportions(rng)
    if mirror or vary.stretch > 0:
        sample = sample.rescaled(proportions, mirror=mirror)
    rotation = vary.rotations(rng, count)
    before, after = sample.state_pairs(rng, count)
    surface_points = sample.surface(points, rng, draws=count, unevenness=vary.unevenness)
    for row in np.flatnonzero(rng.random(count) < vary.one_sided):
        _keep_facing(sample, surface_points, int(row), before[row], rotation[row], rng)

    points0, normals0 = sample.transform_points(surface_points, before)
    points0, normals0 = points0 @ rotation.mT, normals0 @ rotation.mT
    low, high = points0.min(1), points0.max(1)
    centre = 0.5 * (low + high)
    scale = rng.uniform(*vary.scale, count) / (high - low).max(1)
    points0 = (points0 - centre[:, None]) * scale[:, None, None]
    if vary.noise > 0:
        points0 += vary.noise * rng.standard_normal(points0.shape)
    motions = sample.motions(surface_points, before, after)
    rotations, translations = _in_box(motions, rotation, centre, scale)
    each = (np.arange(count)[:, None], motions.index)
    points1 = np.einsum("nsij,nsj->nsi", rotations[each], points0) + translations[each]
    fused = rng.random(count) < vary.fuse
    component = np.stack(
        [
            _components(ids, part, rng if fuse else None)
            for ids, part, fuse in zip(
                surface_points.component, surface_points.part, fused, strict=True
            )
        ]
    )
    dq = _dual_quaternions(rotations, translations)[each]
    return PairBatch(
        points0=points0.astype(np.float32),
        normals0=normals0.astype(np.float32),
        points1=points1.astype(np.float32),
        dq=dq.astype(np.float32),
        component=component.astype(np.int32),
        part=surface_points.part.astype(np.int32),
        centre=centre,
        scale=scale,
        exact=np.full(count, motions.exact),
        identities=(sample.identity,) * count,
    )


def _keep_facing(
    sample: ObjectSample,
    surface_points: SurfacePoints,
    row: int,
    state: np.ndarray,
    rotation: np.ndarray,
    rng: np.random.Generator,
) -> None:
    """Replace one draw by points that face a random viewpoint, as far as there are enough."""
    count = surface_points.face.shape[1]
    azimuth, height = rng.uniform(-np.pi, np.pi), rng.uniform(-0.2, 0.9)
    flat = np.sqrt(1 - height**2)
    view = np.array([flat * np.cos(azimuth), flat * np.sin(azimuth), height])
    more = sample.surface(3 * count, rng)
    _, normals = sample.transform_points(more, np.asarray(state)[None])
    hidden = normals[0] @ (rotation.T @ view) <= 0
    surface_points.put(row, more, np.argsort(hidden, kind="stable")[:count])


def _in_box(
    motions: PointMotions, rotation: np.ndarray, centre: np.ndarray, scale: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Rotations [n, M, 3, 3] and translations [n, M, 3] as seen from inside the box."""
    a = rotation[:, None]
    rotations = a @ motions.matrices[..., :3, :3] @ a.mT
    translations = motions.matrices[..., :3, 3] @ rotation.mT
    c = centre[:, None, :, None]
    return rotations, (translations + (rotations @ c - c)[..., 0]) * scale[:, None, None]


def _dual_quaternions(rotations: np.ndarray, translations: np.ndarray) -> np.ndarray:
    """[n, M, 8] with w >= 0."""
    import torch

    from kin4d.geometry.dual_quaternion import dq_from_parts
    from kin4d.geometry.transforms import matrix_to_quaternion

    quaternion = matrix_to_quaternion(torch.from_numpy(rotations))
    dq = dq_from_parts(quaternion, torch.from_numpy(np.ascontiguousarray(translations))).numpy()
    return np.where(dq[..., :1] < 0, -dq, dq)


def _components(ids: np.ndarray, part: np.ndarray, rng: np.random.Generator | None) -> np.ndarray:
    """[N] component ids counted from 0; with `rng`, some parts are joined to others by one."""
    ids = np.unique(ids, return_inverse=True)[1]
    if rng is None:
        return ids
    for one in np.unique(part):
        inside, outside = np.flatnonzero(part == one), np.flatnonzero(part != one)
        if len(outside) and rng.random() < 0.5:
            ids[ids == ids[rng.choice(inside)]] = ids[rng.choice(outside)]
    return np.unique(ids, return_inverse=True)[1]
