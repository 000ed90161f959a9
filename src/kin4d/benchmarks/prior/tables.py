"""Tables and thresholds of the prior benchmark."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from kin4d.benchmarks.prior.baselines import HEURISTIC, ONE_PART
from kin4d.benchmarks.prior.calibration import (
    calibration_error,
    f1_of_surest_joints,
    f1_of_surest_objects,
)
from kin4d.benchmarks.prior.cases import ARTICRAFT, FUSED, PROCEDURAL
from kin4d.benchmarks.prior.joint_scores import joint_summary
from kin4d.benchmarks.prior.motion_scores import rates
from kin4d.benchmarks.prior.run import PriorResult
from kin4d.benchmarks.report import Check, Report

_NOTES = (
    "A mesh in a random state, no target. recall: share of true joints whose full motion the "
    "predicted body makes to within 30 % rms; precision: share of predicted coordinates whose "
    "full motion the true object makes; F1 of both, over all joints of a set; 'free' ignores "
    "the limits of the body that follows.",
    "gIoU and Chamfer are Particulate's, with -1 for parts that nothing matches; from the given, "
    "random state to every joint at its farther end. label IoU is of surface points.",
    "axis (deg), position (boxes), range (relative) are medians over joints whose parts overlap by "
    "an IoU of .25 or more; 'matched' is the share of true joints with such a part.",
    "attached: share of random states in which every part is no farther from what carries it "
    "than in the given state plus 1 % of the size; penetration (% of the size): deepest point "
    "inside a closed piece of another part, beyond the given state.",
    "ECE: expected calibration error of joint probabilities in ten bins. F1 of surest half: of the "
    "objects, by the mean probability of their joints or else the body's confidence. "
    "'true joints' is the truth as a prediction, with mimics free.",
)
_SHARES = (0.25, 0.5, 0.75, 1.0)


def prior_report(results: Sequence[PriorResult], *, main: str) -> Report:
    """Rows of every set and method, and the thresholds of the method `main`."""
    report = Report(notes=[*_NOTES])
    groups = {one.group: None for one in results}
    methods = {one.method: None for one in results}
    tables: tuple[list[dict[str, Any]], ...] = ([], [], [])
    summaries: dict[tuple[str, str], dict[str, Any]] = {}
    for group in groups:
        for method in methods:
            own = [one for one in results if (one.group, one.method) == (group, method)]
            rows = _motion_row(own), _shape_row(own), _trust_row(own)
            for table, row in zip(tables, rows, strict=True):
                table.append({"set": group, "method": method, **row})
            summaries[group, method] = {**rows[0], **rows[1], **rows[2]}
    report.rows = [row for table in tables for row in table]
    for group in groups:
        if (group, main) in summaries:
            baselines = [summaries[group, name] for name in (ONE_PART, HEURISTIC)
                         if (group, name) in summaries]  # fmt: skip
            report.checks += _checks(group, summaries[group, main], baselines)
    for one in results:
        if one.refused:
            report.notes.append(f"{one.method} refused {one.category} {one.name}: {one.refused}")
    return report


def _motion_row(results: Sequence[PriorResult]) -> dict[str, Any]:
    scores = [one.motion for one in results]
    limited, free = rates(scores), rates(scores, free=True)
    return {
        "objects": len(results),
        "joints": sum(len(one.recalled) for one in scores),
        "predicted": sum(len(one.correct) for one in scores),
        "recall": limited.recall,
        "precision": limited.precision,
        "F1": limited.f1,
        "recall free": free.recall,
        "precision free": free.precision,
        "F1 free": free.f1,
        "seconds": float(np.mean([one.seconds for one in results])),
    }


def _shape_row(results: Sequence[PriorResult]) -> dict[str, Any]:
    def mean(name: str) -> float:
        return float(np.mean([getattr(one.parts, name) for one in results]))

    return {
        "gIoU": mean("giou_given"),
        "gIoU open": mean("giou_open"),
        "box IoU": mean("iou_given"),
        "box IoU open": mean("iou_open"),
        "label IoU": mean("label_iou"),
        "Chamfer open": mean("chamfer_open"),
        **joint_summary([one.joints for one in results]),
    }


def _trust_row(results: Sequence[PriorResult]) -> dict[str, Any]:
    scores = [one.motion for one in results]
    samples = [one.samples for one in results if one.samples is not None]
    curve = {f"F1 of {share:.0%}": f1_of_surest_joints(scores, share) for share in _SHARES}
    return {
        "attached": float(np.mean([one.attached for one in samples])) if samples else float("nan"),
        "penetration (%)": 100 * float(np.mean([one.penetration for one in samples]))
        if samples
        else float("nan"),
        "ECE": calibration_error(scores),
        "F1 of surest half": f1_of_surest_objects(scores, [one.confidence for one in results], 0.5),
        **curve,
    }


def _checks(group: str, row: dict[str, Any], baselines: Sequence[dict[str, Any]]) -> list[Check]:
    """The thresholds of one set; categories that are never trained on have none."""
    if group == f"{PROCEDURAL} unseen":
        return []
    kind = group.split()[0]
    least = {PROCEDURAL: 0.75, ARTICRAFT: 0.50, FUSED: 0.30}.get(kind, 0.40)
    checks = [Check(f"{group}: F1", row["F1"], least, at_least=True)]
    if kind == FUSED:
        return checks
    if kind == ARTICRAFT:
        checks.append(Check(f"{group}: axis error, median (deg)", row["axis (deg)"], 10.0))
    elif kind != PROCEDURAL:
        best = max([one["gIoU open"] for one in baselines], default=-1.0)
        checks += [
            Check(f"{group}: F1, range free", row["F1 free"], 0.50, at_least=True),
            Check(f"{group}: gIoU open", row["gIoU open"], 0.40, at_least=True),
            Check(f"{group}: gIoU open above baselines", row["gIoU open"] - best, 0.0, True),
        ]
    return [
        *checks,
        Check(f"{group}: samples that keep parts attached", row["attached"], 0.95, at_least=True),
        Check(f"{group}: penetration of samples (% of size)", row["penetration (%)"], 1.0),
        Check(f"{group}: expected calibration error", row["ECE"], 0.10),
        Check(f"{group}: F1 of surest half", row["F1 of surest half"], 0.70, at_least=True),
    ]
