"""Splits of episodes: which may be trained on, and which are held out for evaluation.

As with objects (`kin4d.storage.splits`), an episode's split follows from what it is, by a hash of
its source, task and seed; so the same seed of two tasks may be on different sides. Episodes with an
arm, a task, an object or a background that is held out are never trained on, whatever their seed.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal, get_args

from kin4d.errors import InputError
from kin4d.storage.splits import hash_fraction

EpisodeSplit = Literal[
    "train", "val", "test", "unseen_arm", "unseen_task", "unseen_object", "unseen_background"
]
EPISODE_SPLITS: tuple[str, ...] = get_args(EpisodeSplit)

HELD_OUT = {
    "arm": frozenset({"ur5"}),
    "task": frozenset({"stack"}),
    "object": frozenset({"bottle", "refrigerator", "storage_chest"}),
}
"""By name: never trained on. The arm is an episode's `robot`; objects are in its `factors`."""

BACKGROUND_SHARE = 0.16
"""Of the names of backgrounds: never trained on. Five of the 48 rooms of our own tasks."""

SHARES = {"val": 0.02, "test": 0.02}
"""Of all other episodes; the rest is for training."""


def episode_split(line: Mapping[str, Any]) -> EpisodeSplit:
    """The split of an episode.

    Args:
        line: Its line in a store's manifest, or what says the same of an episode not made yet:
            "robot", "task", "factors", "source", and "seed" or "name".
    """
    factors = line.get("factors") or {}
    if line["robot"] in HELD_OUT["arm"]:
        return "unseen_arm"
    if line["task"] in HELD_OUT["task"]:
        return "unseen_task"
    if factors.get("object") in HELD_OUT["object"]:
        return "unseen_object"
    background = factors.get("background")
    if background is not None and hash_fraction(f"background/{background}") < BACKGROUND_SHARE:
        return "unseen_background"
    seed = line.get("seed")
    who = line["name"] if seed is None else seed
    fraction = hash_fraction(f"{line['source']}/{line['task']}/{who}")
    if fraction < SHARES["val"]:
        return "val"
    return "test" if fraction < SHARES["val"] + SHARES["test"] else "train"


def check_episode_split(split: str | None) -> None:
    """Raise `InputError` unless `split` is one of `EPISODE_SPLITS` or None, for all of them."""
    if split is not None and split not in EPISODE_SPLITS:
        allowed = ", ".join(EPISODE_SPLITS)
        raise InputError("there is no such split", value=split, allowed=allowed)
