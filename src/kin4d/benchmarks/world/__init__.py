"""`kin4d bench world`: world models against recorded episodes unlike those of training."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from kin4d.benchmarks.report import Report
from kin4d.benchmarks.world import experiments
from kin4d.benchmarks.world.baselines import (
    BARE,
    CEILING,
    COMPOSITE,
    MODEL,
    TRIVIAL,
    ImagineFn,
    load_rows,
    true_motion_baseline,
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
"""Episodes of the first set that images are made of: its first ones, whatever comes out."""

EACH = 24
"""Episodes of every set."""

_CODEC_EPISODES = 12  # training episodes that the codec of latents is fitted to
_NOTES = (
    "The first frame is given to every model and not scored. 'moving': pixels without robot whose "
    f"truth is more than {DIFFERS} of 255 levels from the composite in any colour; shadows and "
    "what the robot uncovers are among them, so inpainting where the robot was gains much "
    "there. 'touched': those of them where a rigid part that truly moves is, or was in the first "
    "frame. 'things': all pixels of such parts.",
    "PSNR and SSIM are means over clips, PSNR of a clip's pixels together and at most 60 dB; SSIM "
    "with a Gaussian window of 11 x 11. 'sharpness' is gradient energy where things move, of the "
    "truth's. Latents are those of a linear codec, 48 numbers per 4 frames by 8 x 8 pixels.",
    "Parts are looked for in the images, by colour and relief; 'displacement' is the error of a "
    "part's middle in the last frame that truly shows it. A part that is not found ('lost', a "
    "share) counts as left where it was.",
    "Motions are recorded ones: how open the gripper was and how far the hand was behind its "
    "actions are given with them. The row of near misses without them is for motions that were "
    "never carried out.",
    "Points are compared as sets, every fourth frame; F-score at "
    f"{1e3 * NEAR:.0f} mm. Temporal: of the changes of pixels' points since the frame before.",
)


def run(
    *,
    quick: bool,
    seed: int,
    episodes: Path | None = None,
    weights: Sequence[str] = (),
    images: Path | None = None,
) -> Report:
    """Every row on every set, and the tests of what a row knows.

    Args:
        quick: Two episodes of each set, and few of everything else.
        seed: Of the choice of episodes and of what is spoiled.
        episodes: A store; without one, episodes are made.
        weights: Models to ask: names, files, or folders of runs. The thresholds are for the first.
            Those that ship if none are given.
        images: A folder to write GIFs into.
    """
    names = list(weights) or (["tiny"] if (SHIPPED / "world-tiny.safetensors").is_file() else [])
    learned, digests = load_rows(names)
    report = Report(notes=[*_NOTES], weights=digests)
    if not names:
        report.notes.append("No weights were evaluated: none ship yet, and none were given.")
    rows = {**TRIVIAL, **{name: model.imagine for name, model in learned.items()}}
    compared = {name: rows[name] for name in (COMPOSITE, MODEL, BARE) if name in rows}
    with open_cases(episodes, each=2 if quick else EACH, seed=seed) as cases:
        found = [
            _table(cases, rows),
            experiments.found_parts(cases, 2 if quick else 20),
            experiments.near_miss_experiment(cases, compared, 2 if quick else 40, seed),
            experiments.swapped_actions(cases, compared, 1 if quick else 12),
        ]
        if MODEL in rows:
            found.append(experiments.perturbed_robots(cases, rows[MODEL], 1 if quick else 16, seed))
        if MODEL in learned and learned[MODEL].frames is None:
            found.append(experiments.segmented_rollouts(cases, learned[MODEL], 1 if quick else 12))
        found.append(experiments.few_steps(cases, learned, 1 if quick else 8))
        found.append(experiments.speed(cases, learned, 1 if quick else 5))
        if images is not None:
            _draw(cases, rows[MODEL if MODEL in rows else COMPOSITE], images)
    for part in found:
        report.rows += part.rows
        report.ratios |= part.ratios
        report.checks += part.checks
        report.notes += part.notes
    return report


def score_rows(cases: Cases, rows: Mapping[str, ImagineFn]) -> list[WorldResult]:
    """Every row, and the compositor with true motions, on every chosen episode."""
    codec_videos = [one.video.rgb for one in cases.training(_CODEC_EPISODES)]
    codec_videos = [clip for clip in codec_videos if fits_codec(clip.shape)]
    codec = fitted_codec(codec_videos) if codec_videos else None
    results = []
    chosen = [(group, where) for group, some in cases.chosen.items() for where in some]
    for group, where in track(chosen, "imagining"):
        metrics = WorldMetrics(cases.episode(where), codec=codec)
        known = (
            {}
            if metrics.episode.parts is None
            else {CEILING: true_motion_baseline(metrics.episode)}
        )
        for name, imagine in {**rows, **known}.items():
            results.append(WorldResult(group, name, metrics.score(imagine(metrics.observation))))
    return results


def _table(cases: Cases, rows: Mapping[str, ImagineFn]) -> Report:
    results = score_rows(cases, rows)
    report = check_thresholds(results)
    report.rows = tables(results)
    return report


def _draw(cases: Cases, imagine: ImagineFn, folder: Path) -> None:
    from kin4d.benchmarks.world.images import write_gifs

    some = next(iter(cases.chosen.values()))[:SHOWN]
    all_metrics = {where[1]: WorldMetrics(cases.episode(where)) for where in some}
    write_gifs(folder, all_metrics, imagine)
