"""World models: what they imagine, against what happened, in episodes unlike those of training."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np

from kin4d.data.episodes.episode import Episode
from kin4d.evaluate.report import Check, Report
from kin4d.evaluate.world.bars import LOSS, RIGHT, SECONDS, judge_rows
from kin4d.evaluate.world.cases import Cases, open_cases
from kin4d.evaluate.world.causality import causality, swap, swappable
from kin4d.evaluate.world.colours import fits_codec, fitted_codec
from kin4d.evaluate.world.imaginers import (
    CEILING,
    COMPOSITE,
    MODEL,
    TRIVIAL,
    Imaginer,
    load_rows,
    staged,
)
from kin4d.evaluate.world.judge import Judge, average
from kin4d.evaluate.world.near_misses import outcomes
from kin4d.evaluate.world.points import NEAR
from kin4d.evaluate.world.regions import DIFFERS, judged_frames
from kin4d.evaluate.world.robustness import SPOILERS
from kin4d.evaluate.world.tables import Result, shown, tables
from kin4d.geometry.pointmap import PointmapVideo
from kin4d.progress import track
from kin4d.training.weights import SHIPPED

SHOWN = 8
"""Episodes of the first set that pictures are made of: its first ones, whatever comes out."""

_SLOWER = 0.5  # parts moved so much too slowly show how exactly the finder measures
_TAUGHT = 12  # training episodes that the codec of latents is fitted to
_NOTES = (
    "The first frame is given to everyone and not judged. 'moving': pixels without robot whose "
    f"truth is more than {DIFFERS} of 255 levels from the composite in any colour; shadows and "
    "what the robot uncovers are among them. 'things': pixels of rigid parts that truly move.",
    "PSNR and SSIM are means over clips, PSNR of a clip's pixels together and at most 60 dB; SSIM "
    "with a Gaussian window of 11 x 11. 'sharpness' is gradient energy where things move, of the "
    "truth's. Latents are those of a linear codec, 48 numbers per 4 frames by 8 x 8 pixels.",
    "Parts are looked for in the pictures, by colour and relief; 'displacement' is the error of a "
    "part's middle in the last frame that truly shows it. A part that is not found ('lost', a "
    "share) counts as left where it was.",
    "Points are compared as sets, every fourth frame; F-score at "
    f"{1e3 * NEAR:.0f} mm. Temporal: of the changes of pixels' points since the frame before.",
)


def run(
    *,
    quick: bool,
    seed: int,
    episodes: Path | None = None,
    weights: Sequence[str] = (),
    pictures: Path | None = None,
) -> Report:
    """Every row on every set, and the tests of what a row knows.

    Args:
        quick: Two episodes of each set, and few of everything else.
        seed: Of the choice of episodes and of what is spoiled.
        episodes: A store; without one, episodes are made.
        weights: Models to ask: names, files, or folders of runs. The bars are about the first.
            Those that ship if none are given.
        pictures: A folder to write GIFs into.
    """
    names = list(weights) or (["tiny"] if (SHIPPED / "world-tiny.safetensors").is_file() else [])
    learned, digests = load_rows(names)
    report = Report(notes=[*_NOTES], weights=digests)
    if not names:
        report.notes.append("No weights were asked: none ship yet, and none were given.")
    rows = {**TRIVIAL, **learned}
    asked = {name: rows[name] for name in (COMPOSITE, *learned)}
    with open_cases(episodes, each=2 if quick else 40, seed=seed) as cases:
        found = [
            _table(cases, rows),
            _finder(cases, 2 if quick else 20),
            _near_misses(cases, asked, 2 if quick else 40, seed),
            _causality(cases, asked, 1 if quick else 12),
        ]
        if MODEL in rows:
            found.append(_robustness(cases, rows[MODEL], 1 if quick else 16, seed))
        found.append(_speed(cases, asked, 1 if quick else 5))
        if pictures is not None:
            _draw(cases, rows[MODEL if MODEL in rows else COMPOSITE], pictures)
    for part in found:
        report.rows += part.rows
        report.ratios |= part.ratios
        report.checks += part.checks
        report.notes += part.notes
    return report


def score_rows(cases: Cases, rows: Mapping[str, Imaginer]) -> list[Result]:
    """Every row, and the stage with true motions, on every chosen episode."""
    taught = [one.video.rgb for one in cases.training(_TAUGHT)]
    taught = [clip for clip in taught if fits_codec(clip.shape)]
    codec = fitted_codec(taught) if taught else None
    results = []
    chosen = [(group, where) for group, some in cases.chosen.items() for where in some]
    for group, where in track(chosen, "imagining"):
        judge = Judge(cases.episode(where), codec=codec)
        known = {} if judge.episode.parts is None else {CEILING: staged(judge.episode)}
        for name, imagine in {**rows, **known}.items():
            results.append(Result(group, name, judge.score(imagine(judge.situation))))
    return results


def tell(episodes: Sequence[Episode], imagine: Imaginer | None) -> list[PointmapVideo]:
    """What is imagined of episodes; without an imaginer, what the stage shows of the truth."""
    return [(imagine or staged(one))(Judge(one).situation) for one in episodes]


def _table(cases: Cases, rows: Mapping[str, Imaginer]) -> Report:
    results = score_rows(cases, rows)
    report = judge_rows(results)
    report.rows = tables(results)
    return report


def _finder(cases: Cases, count: int) -> Report:
    """How exactly parts are found: as they are, where they were, and moved at half their speed."""
    truth, still, slower, ways = [], [], [], []
    for where in next(iter(cases.chosen.values()))[:count]:
        judge = Judge(cases.episode(where))
        video, frames = judge.episode.video, judged_frames(len(judge.episode))
        then = (np.arange(len(video)) * _SLOWER).astype(int)
        if not judge.finders:
            continue
        late = staged(judge.episode, then)(judge.situation)
        copy = TRIVIAL["copy the first frame"](judge.situation)
        for finder in judge.finders:
            path = finder.paths[0]
            for t in (int(frame) for frame in frames if finder.visible(int(frame))):
                for off, clip, place in (
                    (truth, video, path[t]),
                    (still, copy, path[0]),
                    (slower, late, path[then[t]]),
                ):
                    off.append(float(np.linalg.norm(finder.find(clip, t).middle - place)))
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


def _near_misses(cases: Cases, rows: Mapping[str, Imaginer], count: int, seed: int) -> Report:
    pairs = list(cases.pairs(count, seed=seed))
    report = Report()
    for name, imagine in {**rows, CEILING: None}.items():
        right = np.array(
            [
                outcomes(pair, tell((pair.hit, pair.miss), imagine))
                for pair in track(pairs, f"near misses, {name}")
            ]
        )
        if not len(right):
            continue
        share = float(right.mean())
        report.rows.append(
            {
                "near misses by": name,
                "pairs": len(right),
                "right": share,
                "hits right": float(right[:, 0].mean()),
                "misses right": float(right[:, 1].mean()),
                "both right": float(right.all(1).mean()),
            }
        )
        if name == MODEL:
            title = "near misses: share of outcomes imagined right"
            report.checks.append(Check(title, share, RIGHT, at_least=True))
    return report


def _causality(cases: Cases, rows: Mapping[str, Imaginer], count: int) -> Report:
    every = (cases.episode(where) for some in cases.chosen.values() for where in some)
    swaps = [swap(*pair) for pair in track(swappable(list(every))[:count], "swapping actions")]
    report = Report()
    for name, imagine in {**rows, CEILING: None}.items():
        found = [causality(one, tell((one.own, one.other), imagine)) for one in swaps]
        if found:
            report.rows.append(
                {
                    "actions swapped, by": name,
                    "swaps": len(found),
                    "flow cosine": shown(average(found, "cosine")),
                    "off px": shown(average(found, "off")),
                    "true way px": shown(average(found, "way")),
                    "imagined change px": shown(average(found, "told")),
                    "true change px": shown(average(found, "should")),
                }
            )
    return report


def _robustness(cases: Cases, imagine: Imaginer, count: int, seed: int) -> Report:
    some = next(iter(cases.chosen.values()))[:count]
    figures: dict[str, list] = {name: [] for name in ("as it is", *SPOILERS)}
    for number, where in enumerate(track(some, "spoiling the robot")):
        judge = Judge(cases.episode(where))
        figures["as it is"].append(judge.colours(imagine(judge.situation)))
        for name, spoil in SPOILERS.items():
            told = imagine(spoil(judge.situation, np.random.default_rng([seed, number])))
            figures[name].append(judge.colours(told))
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
        if name in SPOILERS:
            report.checks.append(Check(f"PSNR loss, {name} (dB)", clean - value, LOSS))
    return report


def _speed(cases: Cases, rows: Mapping[str, Imaginer], count: int) -> Report:
    from kin4d.evaluate.world.speed import speeds

    some = next(iter(cases.chosen.values()))[:count]
    report = Report(rows=speeds([cases.episode(where) for where in some], rows))
    for row in report.rows:
        if row["speed of"] == MODEL:
            title = "a clip of 49 frames, robot drawn (s)"
            report.checks.append(Check(title, row["clip s"], SECONDS))
    return report


def _draw(cases: Cases, imagine: Imaginer, folder: Path) -> None:
    from kin4d.evaluate.world.pictures import write_gifs

    some = next(iter(cases.chosen.values()))[:SHOWN]
    judges = {number: Judge(cases.episode(where)) for number, where in enumerate(some)}
    write_gifs(folder, judges, imagine)
