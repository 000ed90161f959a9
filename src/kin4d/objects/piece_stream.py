"""PieceStream: batches of piece scenes without end; any batch can be made again."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

import numpy as np

from kin4d.errors import InputError, Kin4dError
from kin4d.neurok.piece_batch import JointTargets, PieceBatch
from kin4d.objects.articulated_sample import ArticulatedSample
from kin4d.objects.fused_object import fused_object
from kin4d.objects.piece_augmentation import (
    FUSED_AUGMENTATION,
    NO_AUGMENTATION,
    PieceAugmentation,
    random_scene,
)
from kin4d.objects.piece_batches import collate
from kin4d.objects.piece_cache import cached_piece_objects
from kin4d.objects.piece_composition import attached, without_some_parts
from kin4d.objects.piece_object import PieceObject
from kin4d.objects.piece_scene import PieceScene
from kin4d.objects.sources import FileSource, ProceduralSource
from kin4d.storage.splits import UNSEEN_CATEGORIES, check_trainable, split_of

_CHUNK = 8  # batches sorted by piece count together, so that little is padding


@dataclass(frozen=True, eq=False)
class PiecePool:
    """Objects of one source, cut into pieces, and how often they are drawn.

    Attributes:
        name: Of the source.
        objects: All of them.
        share: Of the draws.
        vary: Augmentation; None for that of the stream.
    """

    name: str
    objects: Sequence[PieceObject]
    share: float
    vary: PieceAugmentation | None = None

    @classmethod
    def procedural(
        cls,
        source: ProceduralSource,
        split: str,
        *,
        each: int,
        share: float = 1.0,
        fused: bool = False,
        cache: Path | None = None,
    ) -> PiecePool:
        """The first `each` objects of a split of every category, as they are or `fused`; see
        `cached_piece_objects`."""
        categories = [
            one for one in source.categories if (one in UNSEEN_CATEGORIES) == (split == "unseen")
        ]

        def cut() -> list[PieceObject]:
            return [
                _cut(source.make(category, seed), seed, fused=fused)
                for category in categories
                for seed in _seeds(source, category, split, each)
            ]

        what = {"source": source.name, "categories": categories, "split": split, "each": each}
        what |= {"fused": True} if fused else {}
        return cls._of(source.name, cached_piece_objects(cache, what, cut), share, fused=fused)

    @classmethod
    def files(
        cls,
        source: FileSource,
        split: str | None,
        *,
        share: float = 1.0,
        fused: bool = False,
        cache: Path | None = None,
    ) -> PiecePool:
        """All objects of a split, as they are or `fused`; those that cannot be read are left out
        with a notice."""
        if split == "train":
            check_trainable(source.identities)
        chosen = [
            (index, who.name)
            for index, who in enumerate(source.identities)
            if split is None or split_of(who) == split
        ]

        def cut() -> list[PieceObject]:
            objects = []
            for index, _ in chosen:
                try:
                    objects.append(_cut(source.load(index), index, fused=fused))
                except Kin4dError as problem:
                    print(f"left out: {problem}", file=sys.stderr)
            return objects

        what = {"source": source.name, "objects": chosen} | ({"fused": True} if fused else {})
        objects = cached_piece_objects(cache, what, cut)
        if not objects:
            raise InputError(f"source '{source.name}' has nothing in split '{split}'")
        return cls._of(source.name, objects, share, fused=fused)

    @classmethod
    def _of(
        cls, name: str, objects: Sequence[PieceObject], share: float, *, fused: bool
    ) -> PiecePool:
        if fused:
            return cls(f"fused {name}", objects, share, FUSED_AUGMENTATION)
        return cls(name, objects, share)


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
        # What is attached to others is posed with them.
        posable = share * [pool.vary is None or pool.vary.posed for pool in pools]
        self._posable = posable / max(posable.sum(), 1e-30)
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
        pool = self.pools[int(rng.choice(len(self.pools), p=self._share))]
        vary = pool.vary or self.vary
        obj = self._object(pool, rng, vary)
        if rng.random() < vary.compose:
            other = self.pools[int(rng.choice(len(self.pools), p=self._posable))]
            obj = attached(obj, self._object(other, rng, vary), rng)
        return random_scene(obj, rng, vary)

    def _object(
        self, pool: PiecePool, rng: np.random.Generator, vary: PieceAugmentation
    ) -> PieceObject:
        obj = pool.objects[int(rng.integers(len(pool.objects)))]
        return without_some_parts(obj, rng) if rng.random() < vary.remove else obj


def _seeds(source: ProceduralSource, category: str, split: str, count: int) -> list[int]:
    """The first seeds of a category that are in a split."""
    seeds = range(40 * count)
    found = (seed for seed in seeds if split_of(source.identity(category, seed)) == split)
    return list(islice(found, count))


def _cut(sample: object, seed: int, *, fused: bool) -> PieceObject:
    if not isinstance(sample, ArticulatedSample):
        raise InputError("pieces are cut from articulated objects", value=type(sample).__name__)
    rng = np.random.default_rng(seed)
    return fused_object(sample, rng) if fused else PieceObject.of(sample.object, rng)
