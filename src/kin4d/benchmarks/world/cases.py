"""Cases: which episodes are evaluated. None of them, nor anything like them, was trained on."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path

import numpy as np

from kin4d.benchmarks.world.near_misses import NearMissPair, decisive_pair, pair_numbers
from kin4d.episodes.episode import Episode
from kin4d.episodes.splits import HELD_OUT
from kin4d.episodes.store import EpisodeStore
from kin4d.tasks.generate import EpisodeDatasetSpec, generate_episodes
from kin4d.tasks.task import TASKS

SETS = ("test", "unseen_arm", "unseen_background", "unseen_object")
"""Splits that are evaluated, each a set of its own."""

_SEED = 910  # seeds of scenes from this million on: no training store has them


@dataclass(frozen=True, eq=False)
class Cases:
    """Episodes of one or two stores.

    Attributes:
        stores: What they are read from.
        made: Which of the stores were made for the moment.
        chosen: By set: which store, and which number in it.
    """

    stores: tuple[EpisodeStore, ...]
    made: tuple[bool, ...]
    chosen: dict[str, list[tuple[int, int]]]

    def episode(self, where: tuple[int, int]) -> Episode:
        """One of them."""
        store, number = where
        return self.stores[store].episode(number)

    def training(self, count: int) -> list[Episode]:
        """Some that may be learned from."""
        store = self.stores[0]
        return [store.episode(number) for number in store.numbers("train")[:count]]

    def pairs(self, count: int, *, seed: int) -> Iterator[NearMissPair]:
        """At most so many pairs of hit and miss that end differently, from all sets, in turns."""
        found = 0
        for store, made in zip(self.stores, self.made, strict=True):
            among = [number for some in _sets(store, made=made).values() for number in some]
            pairs = pair_numbers(store.lines, among)
            for index in np.random.default_rng([seed, 1]).permutation(len(pairs)):
                if found == count:
                    return
                hit, miss = (store.episode(one) for one in pairs[index])
                pair = decisive_pair(hit, miss)
                if pair is not None:
                    found += 1
                    yield pair


@contextmanager
def open_cases(episodes: Path | None, *, each: int, seed: int) -> Iterator[Cases]:
    """Cases of a store, or of one that is made for the moment.

    An arm that was never trained on is met in episodes made for it if the store has none.

    Args:
        episodes: A store's folder; None makes episodes with seeds that no training store has.
        each: At most so many of every set.
        seed: Of the choice, and of scenes that are made.
    """
    with tempfile.TemporaryDirectory() as folder:
        stores = [] if episodes is None else [EpisodeStore.open(episodes)]
        if not stores:
            stores.append(_made(Path(folder) / "seen", ("kin4d_arm",), 10 * max(each, 2), seed))
        if not stores[0].numbers("unseen_arm") and _has_robots():
            arms = tuple(sorted(HELD_OUT["arm"]))
            stores.append(_made(Path(folder) / "arm", arms, each, seed))
        chosen: dict[str, list[tuple[int, int]]] = {}
        made = tuple(number > 0 or episodes is None for number in range(len(stores)))
        for number, store in enumerate(stores):
            for name, numbers in _sets(store, made=made[number]).items():
                order = np.random.default_rng([seed, 0]).permutation(len(numbers))
                some = [(number, numbers[index]) for index in sorted(order[:each])]
                chosen.setdefault(name, []).extend(some)
        chosen = {name: some[:each] for name, some in chosen.items() if some}
        yield Cases(tuple(stores), made, chosen)


def _sets(store: EpisodeStore, *, made: bool) -> dict[str, list[int]]:
    """Numbers by set. In a store made here every seed is unseen, whatever its split says."""
    found = {name: store.numbers(name) for name in SETS}
    if made:
        found["test"] = sorted([*found["test"], *store.numbers("train"), *store.numbers("val")])
    return found


def _made(path: Path, arms: Sequence[str], count: int, seed: int) -> EpisodeStore:
    # One task's block of ten after another: few episodes should still be of many tasks.
    tasks = np.random.default_rng([seed, 2]).permutation(list(TASKS))
    plan = EpisodeDatasetSpec(
        tasks=tuple(str(task) for task in tasks),
        arms=tuple(arms),
        count=count,
        seed=_SEED + seed,
        per_shard=10,
    )
    return generate_episodes(plan, path)


def _has_robots() -> bool:
    try:
        metadata.distribution("example-robot-data")
    except metadata.PackageNotFoundError:
        return False
    return True
