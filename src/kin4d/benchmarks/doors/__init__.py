"""`kin4d bench doors`: a gripper opens cabinets that are bare meshes, against MuJoCo.

The same gripper takes the same way in MuJoCo, with the true cabinet, and in our mechanics, with
the true joints and with those that `kin4d.articulate` predicts for the mesh.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np

from kin4d.benchmarks.doors.cases import DoorCase, door_cases
from kin4d.benchmarks.doors.mujoco_door import MujocoDoor, run_mujoco
from kin4d.benchmarks.doors.our_door import OurDoor, found_hinge, run_ours
from kin4d.benchmarks.report import Check, Report
from kin4d.bodies.segmented import SegmentedBody
from kin4d.neurok.articulate import articulate
from kin4d.neurok.joint_pretrained import MODEL, CalibratedPrior, joint_prior_from_pretrained
from kin4d.progress import track
from kin4d.training.weights import weights_file

TRUE, PREDICTED, UNLIMITED = "true joints", "predicted", "predicted, no limits"
ROWS = (TRUE, PREDICTED, UNLIMITED)
WITHIN = 0.1
"""Of the door's range."""

_NOTES = (
    "Procedural cabinets of a split, one kind after another. Their largest door on a hinge is "
    "ajar, so that a gripper fits behind it; the other joints are closed. The closed gripper "
    "follows one way, computed from the true cabinet, whatever it meets.",
    "MuJoCo has the true hinge, mass and limits, and the convex hull of every component; damping "
    "at the hinge is the same everywhere, and there is no gravity. A cabinet is passed over, "
    "before anything is predicted for it, if MuJoCo's gripper touches more than the door or does "
    "not open it.",
    "'off' is the largest difference to MuJoCo's angle over time, of the door's range. An angle is "
    "that of the rigid motion nearest to how the door's vertices move, about the true axis. 'wrong "
    "joint': most of the door is not on one part that moves (part), it slides, the axis is more "
    "than 10 degrees off, or it is a tenth of the door's width away (place). Failures count.",
)


@dataclass(frozen=True, eq=False, kw_only=True)
class DoorResult:
    """All rows of one cabinet.

    Attributes:
        case: The cabinet.
        truth: MuJoCo's.
        runs: Ours, by row.
        fault: Of the predicted hinge; see `FoundHinge.fault`.
    """

    case: DoorCase
    truth: MujocoDoor
    runs: dict[str, OurDoor]
    fault: str

    def errors(self, row: str) -> np.ndarray:
        """[T] difference to MuJoCo's angle, of the range."""
        return np.abs(self.runs[row].angles - self.truth.angles) / self.case.range


def run(
    *,
    quick: bool,
    seed: int,
    weights: Sequence[str] = ("small",),
    split: str = "test",
    count: int = 20,
    images: Path | None = None,
) -> Report:
    """A row for each cabinet, and a table of all.

    Args:
        quick: Two cabinets.
        seed: Of the choice of cabinets.
        weights: Of the joint prior; the first is used.
        split: "test", or "dev" for choosing.
        count: Cabinets.
        images: A folder for a contact sheet.
    """
    file = weights_file(weights[0], MODEL)
    prior = joint_prior_from_pretrained(weights[0])
    count = 2 if quick else count
    cases = islice(sound_cases(split, seed=seed), count)
    results = [
        run_door_case(case, truth, prior)
        for case, truth in track(cases, "opening doors", total=count)
    ]
    report = doors_report(results)
    report.weights = {file.stem: hashlib.sha256(file.read_bytes()).hexdigest()[:16]}
    if images is not None:
        from kin4d.benchmarks.doors.sheet import draw_doors

        draw_doors(results, images / f"doors_{split}.jpg")
    return report


def sound_cases(split: str, *, seed: int) -> Iterator[tuple[DoorCase, MujocoDoor]]:
    """Cases that MuJoCo's gripper opens, touching nothing but the door."""
    for case in door_cases(split, seed=seed):
        truth = run_mujoco(case)
        if not truth.touches_rest and abs(truth.angles[-1] - case.goal) <= 0.05 * case.range:
            yield case, truth


def run_door_case(case: DoorCase, truth: MujocoDoor, prior: CalibratedPrior) -> DoorResult:
    """All rows of a case."""
    predicted = articulate(case.mesh, prior, mass=float(case.body.mass.sum()))
    rest = predicted.q0.numpy()
    runs = {
        TRUE: run_ours(case, case.body, case.q),
        PREDICTED: run_ours(case, predicted, rest),
        UNLIMITED: run_ours(case, without_limits(predicted), rest),
    }
    fault = found_hinge(case, predicted).fault(case.width)
    return DoorResult(case=case, truth=truth, runs=runs, fault=fault)


def without_limits(body: SegmentedBody) -> SegmentedBody:
    """The same joints, none of which ends."""
    joints = [replace(spec, limits=(-np.inf, np.inf)) for spec in body.joint_specs]
    return SegmentedBody(body.rest, body.part, joints, mass=body.face_masses)


def doors_report(results: Sequence[DoorResult]) -> Report:
    """Tables and checks."""
    report = Report(notes=[*_NOTES])
    for row in ROWS:
        off = np.array([result.errors(row) for result in results])
        wrong = [result.fault for result in results if result.fault and row != TRUE]
        report.rows.append(
            {
                "our dynamics with": row,
                "cabinets": len(results),
                "median off": float(np.median(off.max(1))),
                "mean off": float(off.max(1).mean()),
                "within 10 %": float((off.max(1) <= WITHIN).mean()),
                "within 10 % at the end": float((off[:, -1] <= WITHIN).mean()),
                "wrong joint": len(wrong),
                "failed runs": sum(bool(result.runs[row].refused) for result in results),
            }
        )
        if row == PREDICTED:
            value = float((off.max(1) <= WITHIN).mean())
            title = "share of cabinets whose angle is within 10 % of the range"
            report.checks.append(Check(title, value, 1.0, at_least=True))
    report.rows += [_cabinet_row(result) for result in results]
    counts = Counter(result.fault for result in results if result.fault)
    if counts:
        report.notes.append(
            "Wrong joints: " + ", ".join(f"{what} {number}" for what, number in counts.items())
        )
    return report


def _cabinet_row(result: DoorResult) -> dict[str, Any]:
    refused = dict.fromkeys(own.refused for own in result.runs.values() if own.refused)
    return {
        "cabinet": result.case.name,
        "range": result.case.range,
        "MuJoCo": float(result.truth.angles[-1]),
        **{row: float(result.runs[row].angles[-1]) for row in ROWS},
        **{f"off, {row}": float(result.errors(row).max()) for row in ROWS},
        "wrong joint": result.fault or "-",
        "refused": "; ".join(refused) or "-",
    }
