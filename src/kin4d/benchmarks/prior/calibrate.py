"""Calibrating weights: what the joint prior states is mapped to how often it is right on dev."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
from scipy.optimize import minimize

from kin4d.benchmarks.prior.cases import FUSED, prior_case_specs
from kin4d.benchmarks.prior.comparison import Comparison
from kin4d.benchmarks.prior.motion_scores import POINTS, MotionScores
from kin4d.neurok.articulate import articulate
from kin4d.neurok.joint_pretrained import calibrate_weights, joint_prior_from_pretrained
from kin4d.progress import track


def calibrate_on_dev(
    file: str | Path, *, objects: Sequence[Path] = (), count: int = 60, seed: int = 0
) -> tuple[float, float]:
    """Fit slope and offset of the log odds on dev objects, and keep them in the weights file.

    Args:
        file: Weights of a joint prior.
        objects: Folders of URDF objects whose dev split is used beside the procedural one.
        count: Objects of each set.
        seed: Of objects and states.
    """
    calibrate_weights(file, slope=1.0, offset=0.0)
    prior = joint_prior_from_pretrained(file)
    specs = prior_case_specs(count=count, objects=objects, split="dev", seed=seed)
    stated, right = [], []
    for spec in track([one for one in specs if FUSED not in one.group], "calibrating"):
        case = spec.make(seed=seed)
        body = articulate(case.mesh, prior)
        found = Comparison.of(body, case.face_link, case.joints, count=POINTS, seed=case.seed)
        scores = MotionScores.of(found)
        stated.append(scores.probability)
        right.append(scores.correct)
    slope, offset = fit_log_odds(np.concatenate(stated), np.concatenate(right))
    calibrate_weights(file, slope=slope, offset=offset)
    return slope, offset


def fit_log_odds(probability: np.ndarray, right: np.ndarray) -> tuple[float, float]:
    """Slope and offset of a logistic regression of `right` [n] on the log odds of `probability`."""
    p = np.clip(probability, 1e-4, 1 - 1e-4)
    inputs = np.stack([np.log(p / (1 - p)), np.ones(len(p))], 1)

    def loss(found: np.ndarray) -> float:
        odds = inputs @ found
        misfit = np.logaddexp(0.0, odds) - right * odds
        return float(misfit.sum() + 0.05 * np.square(found - [1.0, 0.0]).sum())

    slope, offset = minimize(loss, [1.0, 0.0], method="BFGS").x
    return float(slope), float(offset)
