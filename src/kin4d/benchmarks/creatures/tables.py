"""Tables and thresholds of the creatures benchmark."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from kin4d.benchmarks.creatures.run import MODES, STATES, CreatureResult
from kin4d.benchmarks.creatures.scores import StateScores
from kin4d.benchmarks.report import Check, Report

_NOTES = (
    "off: mean distance of the surface from a frame of a clip, after a fit without "
    "correspondences, as a share of the distance at rest; rigid motion is removed beforehand. "
    f"linear: the same of {MODES} linear modes, fitted alike.",
    f"edges (%): stretched or crushed by more than 1.5, in {STATES} random states; volume (%): "
    "states within 15 % of the volume at rest; motion (%): mean distance from rest, in sizes. "
    "'frames' are the files' own, scored alike.",
    "joints: of the file's joints that clips turn by 10 degrees or more, with .5 to 99.5 % of the "
    "surface on them, the share that has a predicted joint within 5 % of the size; middle: the "
    "same of one joint in the middle of the box; precision: share of predicted joints that have "
    "such a true one as near.",
    "Folders are kinds. Dev and test are different files, by name.",
)


def creatures_report(results: Sequence[CreatureResult], left_out: Sequence[str]) -> Report:
    """A row for each kind and for all, one for each file, and the thresholds."""
    report = Report(notes=[*_NOTES, *left_out])
    for kind in dict.fromkeys(one.kind for one in results):
        report.rows.append({"kind": kind, **_row([one for one in results if one.kind == kind])})
    if not results:
        return report
    whole = _row(results)
    report.rows.append({"kind": "all", **whole})
    report.rows += [_file_row(one) for one in results]
    worst = 100 * max(one.states.distorted for one in results)
    report.checks += [
        Check("points off after fit, of rest, mean of files", whole["off"], 0.35),
        Check("the same, below linear modes", whole["off"] - whole["linear"], 0.0),
        Check("edges distorted in samples, mean (%)", whole["edges (%)"], 1.0),
        Check("edges distorted in samples, worst file (%)", worst, 3.0),
        Check("samples within 15 % of the volume (%)", whole["volume (%)"], 95.0, at_least=True),
        Check("visible joints found (%)", whole["joints (%)"], 60.0, at_least=True),
        Check("seconds to a body, slowest file", max(one.seconds for one in results), 3.0),
    ]
    return report


def _row(results: Sequence[CreatureResult]) -> dict[str, Any]:
    fitted = [one for one in results if one.fits]
    joints = max(sum(one.joints for one in results), 1)
    truth = [one.frames for one in results if one.frames is not None]
    return {
        "files": len(results),
        "frames": sum(len(one.fits) for one in results),
        "off": _mean([float(np.mean(one.fits)) for one in fitted]),
        "linear": _mean([float(np.mean(one.linear)) for one in fitted]),
        **_states([one.states for one in results]),
        "frames' edges (%)": 100 * _mean([one.distorted for one in truth]),
        "frames' motion (%)": 100 * _mean([one.motion for one in truth]),
        "joints": sum(one.joints for one in results),
        "joints (%)": 100 * sum(one.found for one in results) / joints,
        "middle (%)": 100 * sum(one.middle for one in results) / joints,
        "predicted": sum(one.predicted for one in results),
        "precision (%)": 100
        * sum(one.right for one in results)
        / max(sum(one.predicted for one in results), 1),
        "auto": sum(one.is_creature for one in results),
        "seconds": _mean([one.seconds for one in results]),
    }


def _states(states: Sequence[StateScores]) -> dict[str, float]:
    return {
        "edges (%)": 100 * _mean([one.distorted for one in states]),
        "volume (%)": 100 * _mean([one.volume for one in states]),
        "motion (%)": 100 * _mean([one.motion for one in states]),
    }


def _file_row(one: CreatureResult) -> dict[str, Any]:
    return {
        "file": one.name,
        "vertices": one.vertices,
        "coordinates": one.coordinates,
        "off": _mean(one.fits),
        "linear": _mean(one.linear),
        **_states([one.states]),
        "joints": one.joints,
        "found": one.found,
        "predicted": one.predicted,
        "auto": "skeleton" if one.is_creature else "other",
        "seconds": one.seconds,
    }


def _mean(values: Sequence[float]) -> float:
    return float(np.mean(values)) if len(values) else float("nan")
