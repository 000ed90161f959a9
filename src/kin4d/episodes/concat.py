"""Joined stores: episodes of several stores, numbered one store after the other."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from itertools import accumulate
from pathlib import Path
from typing import Protocol

from kin4d.episodes.episode import Episode
from kin4d.episodes.store import EpisodeStore
from kin4d.errors import InputError


class EpisodeSource(Protocol):
    """What training asks of a store."""

    def __len__(self) -> int: ...

    def numbers(self, split: str | None = None) -> list[int]:
        """Of the episodes of a split, or of all."""
        ...

    def episode(self, index: int) -> Episode:
        """Episode number `index`."""
        ...


class ConcatStore:
    """Several stores as one."""

    def __init__(self, stores: Sequence[EpisodeStore]) -> None:
        self._stores = stores
        self._first = [0, *accumulate(len(store) for store in stores)]

    def __len__(self) -> int:
        return self._first[-1]

    def numbers(self, split: str | None = None) -> list[int]:
        """Of the episodes of a split, or of all."""
        pairs = zip(self._first[:-1], self._stores, strict=True)
        return [first + number for first, store in pairs for number in store.numbers(split)]

    def episode(self, index: int) -> Episode:
        """Episode number `index`."""
        which = bisect_right(self._first, index) - 1
        return self._stores[which].episode(index - self._first[which])


def open_episodes(paths: Sequence[str | Path]) -> EpisodeSource:
    """The store, or the stores, of some folders."""
    if not paths:
        raise InputError("no store of episodes named", allowed="one or more folders")
    stores = [EpisodeStore.open(path) for path in paths]
    return stores[0] if len(stores) == 1 else ConcatStore(stores)
