"""Splits: which objects are for training and which are held out for evaluation.

An object's split follows from its identity alone, by a hash: no list is kept, none can go stale,
and an object made anywhere at any time is in the split it always was in.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from typing import Literal, get_args

from kin4d.errors import InputError
from kin4d.storage.sample_id import SampleId

Split = Literal["train", "dev", "test", "unseen"]
SPLITS: tuple[str, ...] = get_args(Split)

UNSEEN_CATEGORIES = frozenset({"cooler", "gate", "globe", "kettle", "monitor", "pliers"})
"""Never trained on, from any source: three have near relatives that are (chests, doors, scissors),
three have not."""

SHARES = {"train": 0.90, "dev": 0.05, "test": 0.05}
"""Of the instances in all other categories."""

CATEGORY_SHARES = {"articraft": {"train": 0.85, "dev": 0.05, "test": 0.10}}
"""Sources of many categories with few instances each: their categories are divided instead."""

TRAINABLE_LICENCES = frozenset({"Apache-2.0", "MIT", "BSD-3-Clause", "CC0-1.0", "CC-BY-4.0"})
"""Terms under which weights trained on an object may be passed on, with credit where it is due."""


def split_of(identity: SampleId) -> Split:
    """The split of a sample: by its category if that is unseen, else by its instance."""
    if identity.category in UNSEEN_CATEGORIES:
        return "unseen"
    # A source may carry its version ("mujoco 3.3.1"): the same seed must not change sides with it.
    maker = identity.source.split()[0]
    shares = CATEGORY_SHARES.get(maker, SHARES)
    instance = identity.category if maker in CATEGORY_SHARES else identity.instance
    fraction = hash_fraction(f"{maker}/{identity.category}/{instance}")
    if fraction < shares["train"]:
        return "train"
    return "dev" if fraction < shares["train"] + shares["dev"] else "test"


def hash_fraction(text: str) -> float:
    """A number in [0, 1) that follows from `text` alone, everywhere and always."""
    digest = hashlib.blake2b(text.encode(), digest_size=8).digest()
    return int.from_bytes(digest, "big") / 2**64


def check_split(split: str | None) -> None:
    """Raise `InputError` unless `split` is one of `SPLITS` or None, for all of them."""
    if split is not None and split not in SPLITS:
        raise InputError("there is no such split", value=split, allowed=", ".join(SPLITS))


def check_trainable(identities: Iterable[SampleId]) -> None:
    """Raise `InputError` if the terms of any of these forbid passing on weights trained on it."""
    for identity in identities:
        if not is_trainable(identity.licence):
            raise InputError(
                f"'{identity.source}' may not be trained on: its terms are",
                value=identity.licence,
                allowed=", ".join(sorted(TRAINABLE_LICENCES)),
                hint="use it to evaluate; or allow it explicitly, and keep the weights to yourself",
            )


def is_trainable(licence: str) -> bool:
    """Whether every licence named ("CC0-1.0 and CC-BY-4.0") is one of `TRAINABLE_LICENCES`."""
    names = licence.replace(",", " ").replace("+", " ").replace("AND", " ").replace("and", " ")
    return bool(names.split()) and all(name in TRAINABLE_LICENCES for name in names.split())
