"""Sources of object samples: procedural (endless, by seed) or files (a fixed list)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from typing import Protocol

import numpy as np

from kin4d.errors import InputError, Kin4dError
from kin4d.objects.object_sample import ObjectSample
from kin4d.storage.sample_id import SampleId
from kin4d.storage.splits import UNSEEN_CATEGORIES, check_split, split_of

SEEDS = 2**31
"""Seeds run from 0 to this, exclusive."""

_TRIES = 5


class Source(Protocol):
    """What pair streams sample objects from."""

    @property
    def name(self) -> str:
        """Name to show."""
        ...

    @property
    def identities(self) -> Sequence[SampleId]:
        """All of its samples if it is finite, else one example."""
        ...

    def sample(self, rng: np.random.Generator, split: str | None) -> ObjectSample:
        """A random sample of a split; of any split if None."""
        ...


@dataclass(frozen=True, eq=False, kw_only=True)
class ProceduralSource:
    """Objects made from a category and a seed.

    Attributes:
        name: Source in every identity.
        licence: Terms of everything it makes.
        categories: What it can make.
        make: Category and seed to sample; deterministic.
    """

    name: str
    licence: str
    categories: tuple[str, ...]
    make: Callable[[str, int], ObjectSample]

    @property
    def identities(self) -> Sequence[SampleId]:
        """One example."""
        return (self.identity(self.categories[0], 0),)

    def identity(self, category: str, seed: int) -> SampleId:
        """The id of the object that would be made."""
        return SampleId(
            source=self.name, category=category, name=str(seed), licence=self.licence, seed=seed
        )

    def only(self, categories: Sequence[str]) -> ProceduralSource:
        """The same source kept to some of its categories."""
        unknown = sorted(set(categories) - set(self.categories))
        if unknown or not categories:
            raise InputError(
                f"source '{self.name}' has no such category",
                value=unknown[0] if unknown else None,
                allowed=", ".join(self.categories),
            )
        return replace(self, categories=tuple(categories))

    def choose(self, rng: np.random.Generator, split: str | None) -> tuple[str, int]:
        """A random category and seed of a split; of any split if None."""
        check_split(split)
        categories = [
            category
            for category in self.categories
            if split is None or (category in UNSEEN_CATEGORIES) == (split == "unseen")
        ]
        if not categories:
            raise InputError(f"no category of source '{self.name}' is in split '{split}'")
        category = categories[int(rng.integers(len(categories)))]
        while True:
            seed = int(rng.integers(SEEDS))
            if split is None or split_of(self.identity(category, seed)) == split:
                return category, seed

    def sample(self, rng: np.random.Generator, split: str | None) -> ObjectSample:
        """A random sample of a split; of any split if None.

        Another is tried if one cannot be made, as when a simulation blows up.
        """
        for _ in range(_TRIES - 1):
            try:
                return self.make(*self.choose(rng, split))
            except Kin4dError:
                continue
        return self.make(*self.choose(rng, split))


@dataclass(frozen=True, eq=False)
class FileSource:
    """Samples that exist already: a folder or a store.

    Attributes:
        name: Name to show.
        identities: All of them.
        load: Position in that list to sample.
    """

    name: str
    identities: Sequence[SampleId]
    load: Callable[[int], ObjectSample]

    def sample(self, rng: np.random.Generator, split: str | None) -> ObjectSample:
        """A random sample of a split; of any split if None."""
        check_split(split)
        members = [i for i, own in enumerate(self._splits) if split in (None, own)]
        if not members:
            raise InputError(f"source '{self.name}' has nothing in split '{split}'")
        return self.load(members[int(rng.integers(len(members)))])

    @cached_property
    def _splits(self) -> list[str]:
        return [split_of(who) for who in self.identities]


def articulated_source(categories: Sequence[str] | None = None) -> ProceduralSource:
    """Procedural articulated objects of some categories, all by default."""
    source = _articulated()
    return source if categories is None else source.only(categories)


@lru_cache(maxsize=1)
def _articulated() -> ProceduralSource:
    from kin4d.objects.procedural.categories import CATEGORIES

    return ProceduralSource(
        name="articulated",
        licence="Apache-2.0",
        categories=tuple(CATEGORIES),
        make=make_articulated,
    )


def make_articulated(category: str, seed: int) -> ObjectSample:
    """The procedural articulated object of a category and a seed."""
    from kin4d.objects.articulated_sample import ArticulatedSample
    from kin4d.objects.procedural.categories import make_object

    return ArticulatedSample(_articulated().identity(category, seed), make_object(category, seed))
