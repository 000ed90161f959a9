"""SkeletonSample: centre lines of a shape and its true joints, of made and animated creatures."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from kin4d.bodies.creature.build import CreatureConfig, CreatureShape
from kin4d.errors import Kin4dError
from kin4d.geometry.curve_skeleton import CurveSkeleton, SkeletonConfig
from kin4d.geometry.mesh import Mesh
from kin4d.objects.animated_rig import load_rig, posed_rig
from kin4d.objects.creatures import KINDS, make_creature
from kin4d.progress import track

_CELLS = (48, 96)  # of made surfaces
_VOXELS = (12_000, 36_000)


@dataclass(frozen=True, eq=False, kw_only=True)
class SkeletonSample:
    """What the network of joints learns from.

    Attributes:
        name: Of the file or the creature.
        skeleton: Centre lines, from the shape alone.
        size: m, bounding-box diagonal.
        joints: [J, 3] m, where true joints are that turn visibly.
    """

    name: str
    skeleton: CurveSkeleton
    size: float
    joints: np.ndarray


def made_samples(count: int, *, seed: int) -> Iterator[SkeletonSample]:
    """Samples of made creatures, all kinds in turn."""
    kinds = list(KINDS)
    for number in track(range(count), "making creatures"):
        rng = np.random.default_rng([seed, number])
        kind = kinds[number % len(kinds)]
        creature = make_creature(kind, int(rng.integers(2**31)), cells=int(rng.integers(*_CELLS)))
        yield _sample(f"{kind}_{number}", creature.body.rest, creature.joints, rng)


def file_samples(files: list[Path], variants: int, *, seed: int) -> Iterator[SkeletonSample]:
    """Samples of animated files: as stored, then posed as in frames of their clips.

    Args:
        files: glTF files with skins; those that cannot be read are left out.
        variants: Of each file, the stored one included.
        seed: Of the frames.
    """
    for path in track(files, "reading animated files"):
        rng = np.random.default_rng([seed, *path.stem.encode()])
        try:
            mesh, rig = Mesh.load(path), load_rig(path)
        except Kin4dError:
            continue
        visible = rig.visible()
        yield _sample(path.stem, mesh, rig.positions[visible], None)
        for _ in range(variants - 1):
            vertices, positions = posed_rig(path, rng)
            yield _sample(path.stem, mesh.replace_vertices(vertices), positions[visible], rng)


def _sample(
    name: str, mesh: Mesh, joints: np.ndarray, rng: np.random.Generator | None
) -> SkeletonSample:
    """A sample whose lines are drawn as usual, or more or less finely at random."""
    config = CreatureConfig()
    if rng is not None:
        lines = SkeletonConfig(min_length=rng.uniform(0.05, 0.09), min_ratio=rng.uniform(1.0, 1.4))
        config = CreatureConfig(voxels=int(rng.integers(*_VOXELS)), skeleton=lines)
    shape = CreatureShape.of(mesh, config)
    return SkeletonSample(
        name=name, skeleton=shape.skeleton, size=mesh.bbox_diagonal, joints=joints
    )
