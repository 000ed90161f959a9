"""Experiments beyond the main table; each returns rows and checks of the report."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence

import numpy as np

from kin4d.benchmarks.report import Check, Report
from kin4d.benchmarks.world.baselines import (
    CEILING,
    MODEL,
    NO_PROPRIOCEPTION,
    ImagineFn,
    ablated_action,
    true_motion_baseline,
)
from kin4d.benchmarks.world.cases import Cases
from kin4d.benchmarks.world.causality import causality, swap, swappable
from kin4d.benchmarks.world.metrics import WorldMetrics, average
from kin4d.benchmarks.world.near_misses import grasps, outcomes
from kin4d.benchmarks.world.regions import copied, evaluated_frames
from kin4d.benchmarks.world.robustness import PERTURBATIONS
from kin4d.benchmarks.world.speed import speeds
from kin4d.benchmarks.world.tables import shown
from kin4d.benchmarks.world.thresholds import LOSS, RIGHT, SECONDS
from kin4d.episodes.episode import Episode
from kin4d.geometry.pointmap import PointmapVideo
from kin4d.progress import track
from kin4d.world.diffusion.model import DiffusionWorldModel
from kin4d.world.model import WorldModel as WorldModel
from kin4d.world.rollout import imagine_rollout

STEPS = (1, 2, 4, 8, 16, 50)
"""Of the flow, in the table of few-step sampling."""

PIECES = (1, 2, 4)
"""Segments that a clip is imagined in, in the table of drift."""

_ALL = "near misses: share of outcomes imagined right"
_GRASPS = "near misses of grasps: share of outcomes imagined right"
_SLOWER = 0.5  # parts moved so much too slowly show how exactly the tracker measures


def imagine_episodes(episodes: Sequence[Episode], imagine: ImagineFn | None) -> list[PointmapVideo]:
    """Imagined clips of episodes; without a model, the compositor with the true motions."""
    return [
        (imagine or true_motion_baseline(one))(WorldMetrics(one).observation) for one in episodes
    ]


def found_parts(cases: Cases, count: int) -> Report:
    """How exactly parts are found: as they are, where they were, and moved at half their speed."""
    truth, still, slower, ways = [], [], [], []
    for where in next(iter(cases.chosen.values()))[:count]:
        metrics = WorldMetrics(cases.episode(where))
        video, frames = metrics.episode.video, evaluated_frames(len(metrics.episode))
        then = (np.arange(len(video)) * _SLOWER).astype(int)
        if not metrics.trackers:
            continue
        late = true_motion_baseline(metrics.episode, then)(metrics.observation)
        copy = copied(metrics.observation)
        for tracker in metrics.trackers:
            path = tracker.paths[0]
            for t in (int(frame) for frame in frames if tracker.visible(int(frame))):
                for off, clip, true_centre in (
                    (truth, video, path[t]),
                    (still, copy, path[0]),
                    (slower, late, path[then[t]]),
                ):
                    off.append(float(np.linalg.norm(tracker.find(clip, t).centre - true_centre)))
                ways.append(float(np.linalg.norm(path[t] - path[then[t]])))
    if not truth:
        return Report()
    row = {
        "parts looked for": len(truth),
        "truth, off px": float(np.mean(truth)),
        "copied first frame, off px": float(np.mean(still)),
        "staged at half speed, off px": float(np.mean(slower)),
        "its way from the truth px": float(np.mean(ways)),
    }
    return Report(rows=[row])


def near_miss_experiment(
    cases: Cases, rows: Mapping[str, ImagineFn], count: int, seed: int
) -> Report:
    """How often nearly equal hits and misses are distinguished, and in which tasks."""
    pairs = list(cases.pairs(count, seed=seed))
    report, by_task = Report(), []
    if not pairs:
        return report
    grasped = np.array([grasps(pair.hit) for pair in pairs])
    tasks = np.array([pair.hit.task for pair in pairs])
    ablated = {NO_PROPRIOCEPTION: ablated_action(rows[MODEL])} if MODEL in rows else {}
    for name, imagine in {**rows, **ablated, CEILING: None}.items():
        right = np.array(
            [
                outcomes(pair, imagine_episodes((pair.hit, pair.miss), imagine))
                for pair in track(pairs, f"near misses, {name}")
            ]
        )
        report.rows.append(
            {
                "near misses by": name,
                "pairs": len(right),
                "right": float(right.mean()),
                "hits right": float(right[:, 0].mean()),
                "misses right": float(right[:, 1].mean()),
                "both right": float(right.all(1).mean()),
                "grasps": int(grasped.sum()),
                "right in grasps": float(right[grasped].mean()) if grasped.any() else None,
            }
        )
        if name == MODEL:
            for title, some in ((_ALL, right), (_GRASPS, right[grasped])):
                if len(some):
                    check = Check(title, float(some.mean()), RIGHT, at_least=True)
                    report.checks.append(check)
            by_task = [
                {
                    "near misses in": str(task),
                    "pairs": int((tasks == task).sum()),
                    "right": float(right[tasks == task].mean()),
                }
                for task in np.unique(tasks)
            ]
    report.rows += by_task
    return report


def swapped_actions(cases: Cases, rows: Mapping[str, ImagineFn], count: int) -> Report:
    """Whether the right objects change when the robot acts differently."""
    every = (cases.episode(where) for some in cases.chosen.values() for where in some)
    swaps = [swap(*pair) for pair in track(swappable(list(every))[:count], "swapping actions")]
    report = Report()
    for name, imagine in {**rows, CEILING: None}.items():
        found = [causality(one, imagine_episodes((one.own, one.other), imagine)) for one in swaps]
        if found:
            report.rows.append(
                {
                    "actions swapped, by": name,
                    "swaps": len(found),
                    "flow cosine": shown(average(found, "cosine")),
                    "off px": shown(average(found, "off")),
                    "true way px": shown(average(found, "way")),
                    "imagined change px": shown(average(found, "predicted")),
                    "true change px": shown(average(found, "true")),
                }
            )
    return report


def perturbed_robots(cases: Cases, imagine: ImagineFn, count: int, seed: int) -> Report:
    """Loss of PSNR when the given robot is perturbed."""
    some = next(iter(cases.chosen.values()))[:count]
    figures: dict[str, list] = {name: [] for name in ("as it is", *PERTURBATIONS)}
    for number, where in enumerate(track(some, "perturbing the robot")):
        metrics = WorldMetrics(cases.episode(where))
        figures["as it is"].append(metrics.colours(imagine(metrics.observation)))
        for name, perturb in PERTURBATIONS.items():
            predicted = imagine(perturb(metrics.observation, np.random.default_rng([seed, number])))
            figures[name].append(metrics.colours(predicted))
    report = Report()
    clean = average(figures["as it is"], "PSNR")
    for name, scores in figures.items():
        value = average(scores, "PSNR")
        report.rows.append(
            {
                "robot": name,
                "clips": len(scores),
                "PSNR": value,
                "PSNR loss": clean - value,
                "PSNR moving": shown(average(scores, "PSNR moving")),
                "PSNR things": shown(average(scores, "PSNR things")),
            }
        )
        if name in PERTURBATIONS:
            report.checks.append(Check(f"PSNR loss, {name} (dB)", clean - value, LOSS))
    return report


def few_steps(cases: Cases, models: Mapping[str, WorldModel], count: int) -> Report:
    """What more steps of the flow bring, for the first model that has one; one seed."""
    flows = {
        name: model for name, model in models.items() if isinstance(model, DiffusionWorldModel)
    }
    report = Report()
    all_metrics = [
        WorldMetrics(cases.episode(where)) for where in next(iter(cases.chosen.values()))[:count]
    ]
    for name, model in [*flows.items()][:1]:
        for steps in STEPS:
            world = DiffusionWorldModel(model.video_model, steps=steps, guidance=model.guidance)
            begin = time.perf_counter()
            predicted = [world.imagine(metrics.observation, seed=0) for metrics in all_metrics]
            seconds = (time.perf_counter() - begin) / len(all_metrics)
            scores = [
                metrics.colours(video)
                for metrics, video in zip(all_metrics, predicted, strict=True)
            ]
            report.rows.append(
                {
                    "steps of the flow": steps,
                    "row": name,
                    "clips": len(all_metrics),
                    "PSNR": average(scores, "PSNR"),
                    "PSNR moving": shown(average(scores, "PSNR moving")),
                    "sharpness": shown(average(scores, "sharpness")),
                    "s per clip": seconds,
                }
            )
    return report


def segmented_rollouts(cases: Cases, model: WorldModel, count: int) -> Report:
    """What is lost by imagining in segments, each from the last frame of the one before."""
    all_metrics = [
        WorldMetrics(cases.episode(where)) for where in next(iter(cases.chosen.values()))[:count]
    ]
    report = Report()
    for pieces in PIECES:
        scores = []
        for metrics in all_metrics:
            length = (len(metrics.observation) - 1) // pieces + 1
            video = imagine_rollout(model, metrics.observation, window_frames=length)
            scores.append(metrics.score(video))
        report.rows.append(
            {
                "stretches": pieces,
                "clips": len(all_metrics),
                "PSNR": average(scores, "PSNR"),
                "PSNR moving": shown(average(scores, "PSNR moving")),
                "displacement px": shown(average(scores, "off last")),
                "CD-L1 mm": shown(average(scores, "CD-L1")),
            }
        )
    return report


def speed(cases: Cases, models: Mapping[str, WorldModel], count: int) -> Report:
    """Seconds of a clip, from the robot's motion on."""
    some = next(iter(cases.chosen.values()))[:count]
    report = Report(rows=speeds([cases.episode(where) for where in some], models))
    for row in report.rows:
        if row["speed of"] == MODEL:
            title = "a clip of 49 frames, robot drawn (s)"
            report.checks.append(Check(title, row["clip s"], SECONDS))
    return report
