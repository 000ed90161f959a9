"""Causality: other actions, the same first frame. The right parts must change.

The scene of one episode is simulated anew with the actions of another (same arm), so what would
have happened is known exactly. Mostly the robot now misses what it moved before; a model that has
learned what usually happens, and not what the robot does, moves it all the same.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from kin4d.benchmarks.world.optical_flow import flow_cosine
from kin4d.benchmarks.world.part_tracker import PartTracker
from kin4d.benchmarks.world.regions import moving_parts, part_mask
from kin4d.episodes.episode import Episode
from kin4d.geometry.pointmap import PointmapVideo
from kin4d.tasks.render_rollout import render_rollout
from kin4d.tasks.simulate import simulate_task
from kin4d.tasks.task import TASKS


@dataclass(frozen=True, eq=False)
class Swap:
    """A scene with its own actions, and with those of another episode."""

    own: Episode
    other: Episode


def swappable(episodes: Sequence[Episode]) -> list[tuple[Episode, Episode]]:
    """Experts' episodes in which something moves, each with another one of the same arm."""
    experts = [one for one in episodes if one.meta.get("kind") == "expert" and one.task in TASKS]
    pairs = []
    for index, own in enumerate(experts):
        later = [*experts[index + 1 :], *experts[:index]]
        actor = next((one for one in later if one.robot == own.robot), None)
        if actor is not None and moving_parts(own):
            pairs.append((own, actor))
    return pairs


def swap(own: Episode, actor: Episode) -> Swap:
    """What happens in `own`'s scene if the robot does what it does in `actor`."""
    assert own.seed is not None
    assert actor.seed is not None
    scene = TASKS[own.task].build(own.seed, arm=own.robot)
    elsewhere = TASKS[actor.task].build(actor.seed, arm=actor.robot)
    rollout = simulate_task(scene, TASKS[actor.task].expert(elsewhere), frames=len(own))
    camera = own.video.camera
    made = render_rollout(scene, rollout, height=camera.height, width=camera.width)
    # A clip of other actions lasts as long as they take.
    other = replace(
        own,
        name=f"{own.name}-by-{actor.name}",
        video=made.video,
        parts=made.parts,
        joints=rollout.q,
        actions=None,
        success=None,
    )
    return Swap(own, other)


def causality(swap: Swap, predicted: Sequence[PointmapVideo]) -> dict[str, float]:
    """How a world model reacts to other actions.

    Args:
        swap: What happens with own actions, and with those of another.
        predicted: The clips imagined for both.

    Returns:
        `cosine`: of flow inside moving parts, own and swapped actions alike, against the truth of
            each; NaN if nothing moves in either.
        `off`, `way`: px: error and true displacement of parts at the end, swapped actions.
        `predicted`, `true`: px: distance between the last positions under own and swapped actions,
            as imagined and in truth.
    """
    both = (swap.own, swap.other)
    parts = sorted({part for one in both for part in moving_parts(one)})
    cosines = [
        flow_cosine(episode, video, _moving_parts(episode, parts))
        for episode, video in zip(both, predicted, strict=True)
    ]
    rows = [_part(both, part, predicted) for part in parts]
    known = [one for one in cosines if np.isfinite(one)]
    names = ("off", "way", "predicted", "true")
    means = np.mean(rows, axis=0) if rows else np.full(len(names), np.nan)
    return {
        "cosine": float(np.mean(known)) if known else float("nan"),
        **dict(zip(names, map(float, means), strict=True)),
    }


def _moving_parts(episode: Episode, parts: Sequence[int]) -> np.ndarray:
    seen = np.zeros(episode.video.mask.shape, bool)
    for part in parts:
        seen |= part_mask(episode, part)
    return seen


def _part(
    episodes: tuple[Episode, Episode], part: int, predicted: Sequence[PointmapVideo]
) -> tuple[float, float, float, float]:
    """Error, true displacement, imagined and true difference of a part's last positions, px."""
    tracker, last = PartTracker(episodes, part), len(episodes[0]) - 1
    own, other = (tracker.find(video, last).centre for video in predicted)
    true_own, true_other = (path[-1] for path in tracker.paths)
    ends = (
        (other, true_other),
        (true_other, tracker.paths[1][0]),
        (own, other),
        (true_own, true_other),
    )
    off, way, mine, true_change = (float(np.linalg.norm(a - b)) for a, b in ends)
    return off, way, mine, true_change
