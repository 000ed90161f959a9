"""Calibrating weights: what the joint prior states is mapped to how often it is right on dev."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
from scipy.optimize import minimize

from kin4d.benchmarks.prior.cases import FUSED, prior_case_specs
from kin4d.benchmarks.prior.comparison import Comparison
from kin4d.benchmarks.prior.found_like import found_like
from kin4d.benchmarks.prior.motion_scores import POINTS, MotionScores
from kin4d.neurok.joint_distribution import predict_joints
from kin4d.neurok.joint_pretrained import calibrate_weights, evidence, joint_prior_from_pretrained
from kin4d.progress import track


def calibrate_on_dev(
    file: str | Path, *, objects: Sequence[Path] = (), count: int = 60, seed: int = 0
) -> None:
    """Fit the calibration on dev objects, as they are and found-like, and keep it in the weights
    file.

    Args:
        file: Weights of a joint prior.
        objects: Folders of URDF objects whose dev split is used beside the procedural one.
        count: Objects of each set.
        seed: Of objects and states.
    """
    prior = joint_prior_from_pretrained(file)
    specs = prior_case_specs(count=count, objects=objects, split="dev", seed=seed)
    stated, right = [np.zeros((0, 4))], [np.zeros(0, bool)]
    for spec in track([one for one in specs if FUSED not in one.group], "calibrating"):
        clean = spec.make(seed=seed)
        for case in (clean, found_like(clean)):
            predicted = predict_joints(case.mesh, prior)
            parts = predicted.parts
            # Equal probabilities leave the parts in their order.
            equal = tuple((1.0,) * len(part.joints) for part in parts)
            body = replace(predicted, probabilities=equal).body()
            found = Comparison.of(body, case.face_link, case.joints, count=POINTS, seed=case.seed)
            right.append(MotionScores.of(found).correct)
            stated += [evidence(part)[None] for part in parts]
    weights, offset = fit_log_odds(np.concatenate(stated), np.concatenate(right))
    calibrate_weights(file, weights=weights.tolist(), offset=offset)


def fit_log_odds(stated: np.ndarray, right: np.ndarray) -> tuple[np.ndarray, float]:
    """Weights [n] and offset of a logistic regression of `right` [m] on log odds [m, n]."""

    def loss(found: np.ndarray) -> float:
        odds = stated @ found[:-1] + found[-1]
        misfit = np.logaddexp(0.0, odds) - right * odds
        return float(misfit.sum() + 0.5 * np.square(found).sum())

    found = minimize(loss, np.zeros(stated.shape[1] + 1), method="BFGS").x
    return found[:-1], float(found[-1])
