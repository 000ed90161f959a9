"""Near misses: pairs of nearly equal episodes. Does each prediction end as its own truth?"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from kin4d.benchmarks.world.part_tracker import PartTracker
from kin4d.benchmarks.world.regions import moving_parts
from kin4d.episodes.episode import Episode
from kin4d.geometry.pointmap import PointmapVideo

APART = 3.0
"""px between a part's last positions in hit and miss, below which the two end alike."""


@dataclass(frozen=True, eq=False)
class NearMissPair:
    """A hit and the miss it nearly was, and the part whose last position differs."""

    hit: Episode
    miss: Episode
    part: int


def pair_numbers(
    lines: Sequence[Mapping[str, Any]], numbers: Sequence[int]
) -> list[tuple[int, int]]:
    """Hit and miss of each pair, as numbers of a store's manifest lines."""
    found: dict[tuple, dict[str, int]] = {}
    for number in numbers:
        line = lines[number]
        key = (line["task"], line["robot"], line["seed"])
        found.setdefault(key, {})[(line.get("meta") or {}).get("kind", "")] = number
    return [
        (one["near_hit"], one["near_miss"])
        for one in found.values()
        if {"near_hit", "near_miss"} <= set(one)
    ]


def decisive_pair(hit: Episode, miss: Episode) -> NearMissPair | None:
    """The pair, or None if no part that is seen ends elsewhere in it."""
    best, chosen = APART, None
    for part in sorted({*moving_parts(hit), *moving_parts(miss)}):
        tracker = PartTracker([hit, miss], part)
        apart = float(np.linalg.norm(tracker.paths[0][-1] - tracker.paths[1][-1]))
        if apart > best:
            best, chosen = apart, part
    return None if chosen is None else NearMissPair(hit, miss, chosen)


def grasps(episode: Episode) -> bool:
    """Whether the gripper is commanded to close."""
    gripper = None if episode.actions is None else episode.actions.gripper
    return gripper is not None and bool((gripper < 0.5 * gripper[0]).any())


def outcomes(pair: NearMissPair, predicted: Sequence[PointmapVideo]) -> tuple[bool, bool]:
    """Whether hit and miss, as predicted, end nearer to their own truth than to the other's.

    The part is looked for with the looks of both.
    """
    tracker = PartTracker([pair.hit, pair.miss], pair.part)
    last = len(pair.hit) - 1
    right = []
    for number, video in enumerate(predicted):
        end = tracker.find(video, last).centre
        far = [float(np.linalg.norm(end - path[-1])) for path in tracker.paths]
        right.append(far[number] < far[1 - number])
    return right[0], right[1]
