"""World models: what they imagine, against what happened, in episodes unlike those of training."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from kin4d.benchmarks.report import Report
from kin4d.benchmarks.world import experiments as trials
from kin4d.benchmarks.world.baselines import (
    BARE,
    CEILING,
    COMPOSITE,
    MODEL,
    TRIVIAL,
    Imaginer,
    load_rows,
    staged,
)
from kin4d.benchmarks.world.cases import Cases, open_cases
from kin4d.benchmarks.world.image_metrics import fits_codec, fitted_codec
from kin4d.benchmarks.world.metrics import WorldMetrics
from kin4d.benchmarks.world.point_metrics import NEAR
from kin4d.benchmarks.world.regions import DIFFERS
from kin4d.benchmarks.world.tables import WorldResult, tables
from kin4d.benchmarks.world.thresholds import check_thresholds
from kin4d.progress import track
from kin4d.training.weights import SHIPPED

SHOWN = 8
"""Episodes of the first set that pictures are made of: its first ones, whatever comes out."""

EACH = 24
"""Episodes of every set."""

_TAUGHT = 12  # training episodes that the codec of latents is fitted to
_NOTES = (
    "The first frame is given to everyone and not judged. 'moving': pixels without robot whose "
    f"truth is more than {DIFFERS} of 255 levels from the composite in any colour; shadows and "
    "what the robot uncovers are among them, so who paints over the robot's first place gains much "
    "there. 'touched': those of them where a rigid part that truly moves is, or was in the first "
    "frame. 'things': all pixels of such parts.",
    "PSNR and SSIM are means over clips, PSNR of a clip's pixels together and at most 60 dB; SSIM "
    "with a Gaussian window of 11 x 11. 'sharpness' is gradient energy where things move, of the "
    "truth's. Latents are those of a linear codec, 48 numbers per 4 frames by 8 x 8 pixels.",
    "Parts are looked for in the pictures, by colour and relief; 'displacement' is the error of a "
    "part's middle in the last frame that truly shows it. A part that is not found ('lost', a "
    "share) counts as left where it was.",
    "Motions are recorded ones: how open the gripper was and how far the hand was behind its "
    "actions are told with them. The row of near misses that is not told so is for motions that "
    "nobody carried out yet.",
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
    rows = {**TRIVIAL, **{name: model.imagine for name, model in learned.items()}}
    asked = {name: rows[name] for name in (COMPOSITE, MODEL, BARE) if name in rows}
    with open_cases(episodes, each=2 if quick else EACH, seed=seed) as cases:
        found = [
            _table(cases, rows),
            trials.found_parts(cases, 2 if quick else 20),
            trials.near_miss_experiment(cases, asked, 2 if quick else 40, seed),
            trials.swapped_actions(cases, asked, 1 if quick else 12),
        ]
        if MODEL in rows:
            found.append(trials.spoiled_robots(cases, rows[MODEL], 1 if quick else 16, seed))
        if MODEL in learned and learned[MODEL].frames is None:
            found.append(trials.chained(cases, learned[MODEL], 1 if quick else 12))
        found.append(trials.few_steps(cases, learned, 1 if quick else 8))
        found.append(trials.speed(cases, learned, 1 if quick else 5))
        if pictures is not None:
            _draw(cases, rows[MODEL if MODEL in rows else COMPOSITE], pictures)
    for part in found:
        report.rows += part.rows
        report.ratios |= part.ratios
        report.checks += part.checks
        report.notes += part.notes
    return report


def score_rows(cases: Cases, rows: Mapping[str, Imaginer]) -> list[WorldResult]:
    """Every row, and the stage with true motions, on every chosen episode."""
    taught = [one.video.rgb for one in cases.training(_TAUGHT)]
    taught = [clip for clip in taught if fits_codec(clip.shape)]
    codec = fitted_codec(taught) if taught else None
    results = []
    chosen = [(group, where) for group, some in cases.chosen.items() for where in some]
    for group, where in track(chosen, "imagining"):
        judge = WorldMetrics(cases.episode(where), codec=codec)
        known = {} if judge.episode.parts is None else {CEILING: staged(judge.episode)}
        for name, imagine in {**rows, **known}.items():
            results.append(WorldResult(group, name, judge.score(imagine(judge.observation))))
    return results


def _table(cases: Cases, rows: Mapping[str, Imaginer]) -> Report:
    results = score_rows(cases, rows)
    report = check_thresholds(results)
    report.rows = tables(results)
    return report


def _draw(cases: Cases, imagine: Imaginer, folder: Path) -> None:
    from kin4d.benchmarks.world.images import write_gifs

    some = next(iter(cases.chosen.values()))[:SHOWN]
    judges = {where[1]: WorldMetrics(cases.episode(where)) for where in some}
    write_gifs(folder, judges, imagine)
