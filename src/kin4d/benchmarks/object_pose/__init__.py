"""Inverse kinematics of objects: a mesh and unordered points of it elsewhere; how does it move?

The protocol is written down in docs/neurok.md.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from kin4d.benchmarks.object_pose.cases import case_specs
from kin4d.benchmarks.object_pose.methods import (
    KnownJoints,
    LinearModes,
    Method,
    NoiseFloor,
    NoMotion,
    Rigid,
)
from kin4d.benchmarks.object_pose.run import PoseResult, run_all
from kin4d.benchmarks.object_pose.tables import Group
from kin4d.benchmarks.object_pose.weights import (
    FULL,
    Entry,
    find_weights,
    main_model,
    row_name,
    unreduced_name,
    weight_rows,
)
from kin4d.benchmarks.report import Check, Report

_FRAME = (NoMotion(), NoiseFloor())
_BASELINES: tuple[Method, ...] = (Rigid(), LinearModes())
_ORACLE = KnownJoints()
_CAGES = ("keypoint cage", "keypoint cage, searched")
_OF_CAGE = 0.35
_NOTES = (
    "Lengths are in boxes of M0, whose longest side is 1. CD-L1 and CD-L2 are means over 10,000 "
    "points of each surface, sampled independently; 'of rest' is CD-L1 above the floor, relative "
    "to that of the rest shape. IoU is of the surfaces' cells, 1/32 wide.",
    "'what moves' is the same for the triangles alone whose middle truly goes farther than 1 % "
    "of the box. 'spurious' is the mean motion of points that truly stay, 'edges' the median "
    "change of edge lengths of what truly moves, 'points off' the mean distance from the true "
    "place. "
    "Correspondences serve scoring alone: methods see 4,096 unordered points of the target.",
    "'linear modes' stands for PCA: a mesh without recorded motion has no principal "
    "components, only its own free vibrations. 'true joints, searched' is given the joints, and "
    "shows what the search alone costs.",
    "Seconds are of processor time, one thread each.",
)


def run(
    *,
    quick: bool,
    seed: int,
    objects: Sequence[Path] = (),
    weights: Sequence[str] = ("small",),
    images: Path | None = None,
) -> Report:
    """Every method on every set of objects.

    Args:
        quick: A few objects, one pose each.
        seed: Of the choice of objects, states and samples.
        objects: Folders of URDF objects, each a set of its own.
        weights: Models to evaluate; see `find_weights`. Thresholds apply to the first.
        images: A folder to draw fits and sweeps of test objects into.
    """
    entries = find_weights(weights)
    everywhere, apart = weight_rows(entries)
    every = case_specs(each=1, unseen=1 if quick else 2, objects=objects, seed=seed)
    if quick:
        groups = dict.fromkeys(recipe.group for recipe in every)
        every = [[one for one in every if one.group == group][:2] for group in groups]
        every = [one for some in every for one in some]
    poses, workers = (1, 0) if quick else (3, None)
    methods = [*_FRAME, *_BASELINES, *everywhere, _ORACLE]
    results = run_all(every, methods, poses=poses, seed=seed, workers=workers)
    test = [recipe for recipe in every if recipe.group == "test"]
    if apart:
        results += run_all(test, apart, poses=1, seed=seed, workers=workers)
    report = report_of(results, entries)
    main = main_model(entries)
    if main is not None:
        from kin4d.benchmarks.object_pose import speed

        costs = speed.run(str(main.file), quick=quick)
        report.rows, report.checks = report.rows + costs.rows, report.checks + costs.checks
        report.notes += costs.notes
    if images is not None and main is not None:
        from kin4d.benchmarks.object_pose.images import draw_fit

        draw_fit(images, test, str(main.file), seed=seed, count=2 if quick else 12)
    for group in dict.fromkeys(recipe.group for recipe in every):
        count = len([recipe for recipe in every if recipe.group == group])
        report.notes.append(f"{group}: {count} objects, {poses} poses each; for ablations, one.")
    return report


def report_of(results: Sequence[PoseResult], entries: Sequence[Entry]) -> Report:
    """Tables, thresholds and notes of results."""
    main = main_model(entries)
    names = dict.fromkeys(one.group for one in results)
    groups = [Group(name, results, rest=NoMotion().name, floor=NoiseFloor().name) for name in names]
    report = Report(notes=[*_NOTES])
    for group in groups:
        report.rows += [*group.rows(), *group.moved_rows()]
    shown = row_name(main) if main else results[-1].method
    for group in groups:
        report.rows += group.categories(shown)
    for group in groups:
        report.rows += group.worst(shown)
    gave_up = {one.method: one for one in reversed(results) if one.refused}
    for method, one in gave_up.items():
        report.notes.append(f"{method} refused {one.category} {one.instance}: {one.refused}")
    report.weights = {one.name: one.digest for one in entries}
    trained = [f"{one.name} {one.hours:.2f} h" for one in entries]
    report.notes.append(f"Training: {', '.join(trained) or 'none'}.")
    for group in groups:
        if main is not None:
            _check_group(report, group, shown)
        if group.name == "test":
            _ablate(report, group, entries, main)
    return report


def _check_group(report: Report, group: Group, own: str) -> None:
    """The thresholds of one set, against rest and baselines."""
    rest, mine = group.rest.mean, group.summaries[own]
    name, folder = group.name, group.name not in ("test", "unseen")
    ratio = group.ratio(own, NoMotion().name)
    gain = mine.mean.iou - rest.iou
    report.ratios[f"{name}: CD-L1 above the floor, of rest"] = ratio
    for cage in _CAGES:
        if cage in group.summaries:
            report.ratios[f"{name}: CD-L1 above the floor, of {cage}"] = group.ratio(own, cage)
            report.ratios[f"{name}: IoU above {cage}"] = (
                mine.mean.iou - group.summaries[cage].mean.iou
            )
    if name == "unseen":
        return
    report.checks += [
        Check(f"{name}: CD-L1 above the floor, of rest", ratio, 0.30 if folder else 0.25),
        Check(f"{name}: IoU above rest", gain, 0.10, at_least=True),
        Check(f"{name}: edge-length change of what moves, median (%)", 100 * mine.stretch, 1.0),
    ]
    if folder:
        rivals = [
            summary.mean.iou
            for method, summary in group.summaries.items()
            if method in (NoMotion().name, *(one.name for one in _BASELINES), *_CAGES)
        ]
        above = mine.mean.iou - max(rivals)
        report.checks += [
            Check(f"{name}: IoU above the best baseline", above, 0.0, at_least=True),
            Check(f"{name}: motion of still points (% of size)", 100 * mine.mean.spurious, 0.3),
        ]
    elif _CAGES[0] in group.summaries:
        cage = group.summaries[_CAGES[0]].mean
        report.checks += [
            Check(
                f"{name}: CD-L1 above the floor, of keypoint cage",
                group.ratio(own, _CAGES[0]),
                _OF_CAGE,
            ),
            Check(f"{name}: IoU above keypoint cage", mine.mean.iou - cage.iou, 0.20, True),
        ]


def _ablate(report: Report, group: Group, entries: Sequence[Entry], main: Entry | None) -> None:
    """Every ablation against the model it was taken from: above 1 it is worse."""
    pairs = []
    if main is not None:
        pairs.append((unreduced_name(main), row_name(main)))
    runs = [one for one in entries if one.run]
    full = next((one for one in runs if one.name == FULL), None)
    if full is not None:
        pairs += [(row_name(one), row_name(full)) for one in runs if one is not full]
    for lacking, whole in pairs:
        worse = group.ratio(lacking, whole)
        name = f"CD-L1 above the floor: {lacking} / {whole.removeprefix('NeuROK, ')}"
        report.checks.append(Check(name, worse, 1.0, at_least=True))
    if full is not None and _CAGES[0] in group.summaries:
        # Which is trained as long as the deformer, while the model that ships was trained longer.
        ratio = group.ratio(row_name(full), _CAGES[0])
        name = f"CD-L1 above the floor: {row_name(full)} / {_CAGES[0]}"
        report.checks.append(Check(name, ratio, _OF_CAGE))
