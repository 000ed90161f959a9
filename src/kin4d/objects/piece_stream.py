"""PieceStream: batches of piece scenes without end; any batch can be made again."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from kin4d.errors import InputError, Kin4dError
from kin4d.neurok.piece_batch import JointTargets, PieceBatch
from kin4d.objects.articulated_sample import ArticulatedSample
from kin4d.objects.piece_augmentation import NO_AUGMENTATION, PieceAugmentation, random_scene
from kin4d.objects.piece_batches import collate
from kin4d.objects.piece_composition import attached, without_some_parts
from kin4d.objects.piece_object import PieceObject
from kin4d.objects.piece_scene import PieceScene
from kin4d.objects.sources import FileSource, ProceduralSource
from kin4d.storage.splits import UNSEEN_CATEGORIES, check_trainable, split_of

_CHUNK = 4  # batches sorted by piece count together, so that little is padding


@dataclass(frozen=True, eq=False)
class PiecePool:
    """Objects of one source, cut into pieces, and how often they are drawn.

    Attributes:
        name: Of the source.
        objects: All of them.
        share: Of the draws.
    """

    name: str
    objects: Sequence[PieceObject]
    share: float

    @classmethod
    def procedural(
        cls, source: ProceduralSource, split: str, *, each: int, share: float = 1.0
    ) -> PiecePool:
        """The first `each` objects of a split of every category."""
        objects = []
        for category in source.categories:
            if (category in UNSEEN_CATEGORIES) != (split == "unseen"):
                continue
            found = 0
            for seed in range(40 * each):
                if split_of(source.identity(category, seed)) == split:
                    objects.append(_cut(source.make(category, seed), seed))
                    found += 1
                if found == each:
                    break
        return cls(source.name, objects, share)

    @classmethod
    def files(cls, source: FileSource, split: str | None, *, share: float = 1.0) -> PiecePool:
        """All objects of a split; those that cannot be read are left out with a notice."""
        if split == "train":
            check_trainable(source.identities)
        objects = []
        for index, identity in enumerate(source.identities):
            if split is not None and split_of(identity) != split:
                continue
            try:
                objects.append(_cut(source.load(index), index))
            except Kin4dError as problem:
                print(f"left out: {problem}", file=sys.stderr)
        if not objects:
            raise InputError(f"source '{source.name}' has nothing in split '{split}'")
        return cls(source.name, objects, share)


class PieceStream:
    """An endless sequence of batches; batch i depends on the seed and i alone.

    Args:
        pools: What to draw from.
        batch: Shapes per batch.
        seed: Of everything.
        vary: Augmentation.
    """

    def __init__(
        self,
        pools: Sequence[PiecePool],
        *,
        batch: int = 32,
        seed: int = 0,
        vary: PieceAugmentation = NO_AUGMENTATION,
    ) -> None:
        self.pools, self.batch, self.seed, self.vary = pools, batch, seed, vary
        share = np.array([pool.share for pool in pools])
        self._share = share / share.sum()
        self._chunk: tuple[int, list[PieceScene]] | None = None

    def __getitem__(self, index: int) -> tuple[PieceBatch, JointTargets]:
        """Batch `index`."""
        chunk, row = divmod(index, _CHUNK)
        if self._chunk is None or self._chunk[0] != chunk:
            rng = np.random.default_rng([self.seed, chunk])
            scenes = [self._scene(rng) for _ in range(_CHUNK * self.batch)]
            scenes.sort(key=lambda scene: len(scene.link))
            # Small and large shapes take turns.
            order = rng.permutation(_CHUNK)
            rows = [scenes[i * self.batch : (i + 1) * self.batch] for i in order]
            self._chunk = chunk, [scene for row in rows for scene in row]
        start = row * self.batch
        return collate(self._chunk[1][start : start + self.batch])

    def from_step(self, step: int) -> Iterator[tuple[PieceBatch, JointTargets]]:
        """Batches from a step on."""
        while True:
            yield self[step]
            step += 1

    def _scene(self, rng: np.random.Generator) -> PieceScene:
        obj = self._object(rng)
        if rng.random() < self.vary.compose:
            obj = attached(obj, self._object(rng), rng)
        return random_scene(obj, rng, self.vary)

    def _object(self, rng: np.random.Generator) -> PieceObject:
        pool = self.pools[int(rng.choice(len(self.pools), p=self._share))]
        obj = pool.objects[int(rng.integers(len(pool.objects)))]
        return without_some_parts(obj, rng) if rng.random() < self.vary.remove else obj


def _cut(sample: object, seed: int) -> PieceObject:
    if not isinstance(sample, ArticulatedSample):
        raise InputError("pieces are cut from articulated objects", value=type(sample).__name__)
    return PieceObject.of(sample.object, np.random.default_rng(seed))
