"""PairStream: training pairs without end, made as they are needed; any batch can be made again."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence

import numpy as np

from kin4d.errors import InputError
from kin4d.objects.augmentation import Augmentation
from kin4d.objects.pairs import PairBatch, make_pairs
from kin4d.objects.sources import Source
from kin4d.storage.splits import check_split, check_trainable


class PairStream:
    """An endless sequence of batches; batch i depends on the seed and i alone.

    Making an object costs more than a pair of it, so each serves `reuse` pairs. A pool of objects
    is gone round and round, and each of its slots takes a new object after `reuse` rounds, the
    slots at different times. Pairs of one object are therefore `pool` pairs apart, and a batch no
    larger than the pool never holds two.

    Iterating goes on from `index`, which may be set: that is all there is to resuming.
    ``stream[i]`` makes any batch, so a torch `DataLoader` can also take it.

    Args:
        sources: What to draw objects from.
        weights: How often each source is drawn, in any unit; equal by default.
        points: Points per pair.
        batch: Pairs per batch.
        seed: Of everything.
        split: "train", "dev", "test", "unseen" or None for all. With "train", sources whose terms
            forbid it are refused.
        augmentation: None is `Augmentation()`.
        reuse: Pairs made of one object.
        pool: Objects gone round; default: four batches.
        workers: Processes that make batches ahead; 0 makes them on demand.
        allow_restricted: Train on sources whose terms forbid passing the weights on.
    """

    def __init__(
        self,
        sources: Sequence[Source],
        *,
        weights: Sequence[float] | None = None,
        points: int = 512,
        batch: int = 32,
        seed: int = 0,
        split: str | None = "train",
        augmentation: Augmentation | None = None,
        reuse: int = 12,
        pool: int | None = None,
        workers: int = 0,
        allow_restricted: bool = False,
    ) -> None:
        check_split(split)
        if not sources:
            raise InputError("a stream needs a source", value=len(sources), allowed="one or more")
        if split == "train" and not allow_restricted:
            check_trainable(who for source in sources for who in source.identities)
        share = np.ones(len(sources)) if weights is None else np.asarray(weights, np.float64)
        if share.shape != (len(sources),) or not (share >= 0).all() or not share.sum() > 0:
            raise InputError("weights", value=weights, allowed="one >= 0 per source, not all 0")
        self.sources, self.split = tuple(sources), split
        self.points, self.batch, self.seed, self.reuse = points, batch, seed, reuse
        self.pool = pool or 4 * batch
        for name in ("points", "batch", "reuse", "pool"):
            if getattr(self, name) < 1:
                raise InputError(name, value=getattr(self, name), allowed=">= 1")
        self.augmentation = augmentation or Augmentation()
        self.workers, self.index = workers, 0
        self._share = np.cumsum(share / share.sum())
        self._share[-1] = 1.0  # whatever rounding says
        self._made: dict[int, tuple[int, PairBatch]] = {}

    def __getitem__(self, index: int) -> PairBatch:
        """Batch `index`."""
        if index < 0:
            raise InputError("batches are counted from 0", value=index)
        start = index * self.batch
        return PairBatch.concatenate([self._pair(n) for n in range(start, start + self.batch)])

    def __iter__(self) -> Iterator[PairBatch]:
        """Batches from `index` on, without end; `index` is always the next one."""
        if self.workers:
            from kin4d.objects.prefetch import prefetch

            for batch in prefetch(self, workers=self.workers, start=self.index):
                self.index += 1
                yield batch
        while True:
            batch = self[self.index]
            self.index += 1
            yield batch

    def _pair(self, number: int) -> PairBatch:
        """Pair `number` as a batch of one."""
        rounds, slot = divmod(number, self.pool)
        # Slots start at different visits, so that renewals are spread over the rounds.
        generation, visit = divmod(rounds + slot % self.reuse, self.reuse)
        made = self._made.get(slot)
        if made is None or made[0] != generation:
            made = self._made[slot] = (generation, self._object(slot, generation))
        return made[1].rows(slice(visit, visit + 1))

    def _object(self, slot: int, generation: int) -> PairBatch:
        text = f"{self.seed}/{slot}/{generation}"
        digest = hashlib.blake2b(text.encode(), digest_size=16).digest()
        rng = np.random.Generator(np.random.PCG64(int.from_bytes(digest, "little")))
        source = self.sources[int(np.searchsorted(self._share, rng.random(), side="right"))]
        return make_pairs(
            source.sample(rng, self.split),
            self.reuse,
            rng,
            points=self.points,
            augmentation=self.augmentation,
        )
