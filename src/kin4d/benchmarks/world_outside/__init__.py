"""`kin4d bench world-outside`: world models in scenes of other simulators, never trained on."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from kin4d.benchmarks.report import Check, Report
from kin4d.benchmarks.world.baselines import COMPOSITE, MODEL, load_rows
from kin4d.benchmarks.world.image_metrics import psnr
from kin4d.benchmarks.world.regions import composited, moving_region, part_mask
from kin4d.benchmarks.world_outside.outcomes import (
    MIN_MOTION,
    MIN_RISE,
    MISSED,
    Target,
    is_right,
    outcome,
)
from kin4d.benchmarks.world_outside.rows import FOUND, NO_DEPTH, RowFn, rows_of
from kin4d.episodes.episode import Episode
from kin4d.episodes.store import EpisodeStore
from kin4d.errors import InputError
from kin4d.files import read_json, write_json
from kin4d.progress import track
from kin4d.world.episode_observation import episode_observation
from kin4d.world.object_world.model import ObjectWorldModel

RIGHT, NEARER, GAIN, RIGHT_WITHOUT_DEPTH = 0.75, 0.45, 3.0, 0.55
_NOTES = (
    "Outcome of the part that the robot went for, by how its centre has moved in the last frame "
    f"that truly shows it: missed (less than {1e3 * MIN_MOTION:.0f} mm), lifted (at least "
    f"{1e3 * MIN_RISE:.0f} mm up), else moved: pushed, opened, closed; then the direction must "
    "agree within 60 degrees. In imagined videos the part is looked for by its looks; one that is "
    "not found counts as left where it was.",
    "Displacement: error of that part's place in px of 64 x 96, where it truly moves. 'PSNR "
    "moving' and 'touched' as of `kin4d bench world`.",
    "The gripper's opening is given as it was measured. Where the table stands is not, unless the "
    "row says so.",
)

Row = dict[str, Any]


def run(
    *,
    quick: bool,
    seed: int,
    episodes: Path | None = None,
    weights: Sequence[str] = (),
    count: int | None = None,
    images: Path | None = None,
    results: Path | None = None,
) -> Report:
    """Every row on every episode.

    Args:
        quick: Four episodes.
        seed: Of nothing; every episode is evaluated.
        episodes: A store; see benchmarks/outside.
        weights: The model; the one that ships if none is given.
        count: At most so many episodes, spread over the store.
        images: A folder to write one contact sheet per episode into.
        results: A folder to keep the figures of each episode in; the same command goes on where it
            was stopped. Empty it when the model or the code changes.
    """
    if episodes is None:
        raise InputError(
            "this benchmark needs episodes of another simulator",
            allowed="--episodes STORE",
            hint="make some as benchmarks/outside/README.md says",
        )
    learned, digests = load_rows(list(weights) or ["tiny"])
    model = learned[MODEL]
    if not isinstance(model, ObjectWorldModel):
        raise InputError("these rows are of an object world model", value=type(model).__name__)
    found: list[Row] = []
    rows = rows_of(model)
    for episode in outside_episodes(episodes, 4 if quick else count):
        kept = None if results is None else results / f"{episode.name}.json"
        if kept is not None and kept.is_file():
            found += read_json(kept)
            continue
        some = _evaluate(episode, rows, images)
        found += some
        if kept is not None:
            write_json(kept, some)
    report = Report(notes=[*_NOTES], weights=digests)
    groups = ["all", *sorted({f"{one['source']}: {one['task']}" for one in found})]
    for group in groups:
        report.rows += [_mean(found, name, group) for name in rows]
    report.checks, report.ratios = _checks(found)
    return report


def _evaluate(episode: Episode, rows: Mapping[str, RowFn], images: Path | None) -> list[Row]:
    """Figures of every row on one episode; none if it shows no part."""
    observation = episode_observation(episode)
    target = Target.of(episode, observation)
    if target is None:
        return []
    found, about = [], {"source": episode.source, "task": episode.task}
    for name, imagine in rows.items():
        video = imagine(observation, episode)
        found.append({"row": name, **about, **score(episode, target, video)})
        if images is not None and name == FOUND:
            _draw(images / f"{episode.name}.png", episode, video)
    return found


def outside_episodes(path: Path, count: int | None) -> Iterator[Episode]:
    """Episodes of a store; robots that stand in its folder are found there."""
    store = EpisodeStore.open(path)
    numbers = store.numbers()
    if count is not None and count < len(numbers):
        numbers = [numbers[i] for i in np.linspace(0, len(numbers) - 1, count).round().astype(int)]
    for number in track(numbers, "imagining"):
        episode = store.episode(number)
        local = path / episode.robot
        yield replace(episode, robot=str(local)) if local.is_file() else episode


def score(episode: Episode, target: Target, predicted: Any) -> Row:
    """Figures of one imagined video."""
    observation = episode_observation(episode)
    up = observation.support_in_camera[:3, 2]
    truth = episode.video
    moving = moving_region(truth, composited(observation))
    mask = part_mask(episode, target.part)
    motion, off, lost = target.find(predicted)
    true = outcome(target.motion, up)
    return {
        "outcome": true,
        "right": is_right(motion, target.motion, up),
        "off": off if true != MISSED else None,
        "lost": float(lost),
        "PSNR moving": _finite(psnr(truth.rgb, predicted.rgb, moving)),
        "PSNR touched": _finite(psnr(truth.rgb, predicted.rgb, moving & (mask | mask[0]))),
    }


def _finite(value: float) -> float | None:
    """A figure as JSON takes it."""
    return value if np.isfinite(value) else None


def _mean(results: Sequence[Row], name: str, group: str) -> Row:
    chosen = _of(results, name, group)
    hits = [one["right"] for one in chosen if one["outcome"] != MISSED]
    misses = [one["right"] for one in chosen if one["outcome"] == MISSED]
    row: Row = {"set": group, "row": name, "clips": len(chosen)}
    row["outcome right"] = float(np.mean([*hits, *misses]))
    for title, some in (("of what moved", hits), ("of what was missed", misses)):
        row[title] = float(np.mean(some)) if some else "-"
    for title in ("off", "lost", "PSNR moving", "PSNR touched"):
        value = _average(chosen, title)
        row["displacement px" if title == "off" else title] = value if np.isfinite(value) else "-"
    return row


def _checks(results: Sequence[Row]) -> tuple[list[Check], dict[str, float]]:
    ratios = {}
    for name in (FOUND, NO_DEPTH):
        mine, base = _of(results, name, "all"), _of(results, COMPOSITE, "all")
        ratios |= {
            f"outcome right: {name}": float(np.mean([one["right"] for one in mine])),
            f"displacement error, of composite's: {name}": _average(mine, "off")
            / _average(base, "off"),
            f"PSNR moving, above composite (dB): {name}": _average(mine, "PSNR moving")
            - _average(base, "PSNR moving"),
        }
    keys = list(ratios)
    thresholds = (RIGHT, NEARER, GAIN, RIGHT_WITHOUT_DEPTH, 1.0, 0.0)
    checks = [
        Check(key, ratios[key], threshold, at_least="displacement" not in key)
        for key, threshold in zip(keys, thresholds, strict=True)
    ]
    return checks, ratios


def _of(results: Sequence[Row], name: str, group: str) -> list[Row]:
    return [
        one
        for one in results
        if one["row"] == name and group in ("all", f"{one['source']}: {one['task']}")
    ]


def _average(results: Sequence[Row], name: str) -> float:
    values = [one[name] for one in results if one[name] is not None and np.isfinite(one[name])]
    return float(np.mean(values)) if values else float("nan")


def _draw(path: Path, episode: Episode, predicted: Any) -> None:
    """Truth above prediction, five frames."""
    from kin4d.export.video import write_image

    frames = np.linspace(0, len(episode) - 1, 5).astype(int)
    sheet = [
        np.concatenate([video.rgb[t] for t in frames], 1) for video in (episode.video, predicted)
    ]
    write_image(np.concatenate(sheet).repeat(2, 0).repeat(2, 1), path)
