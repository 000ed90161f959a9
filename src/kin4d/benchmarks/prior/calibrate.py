"""Calibrating weights: what the joint prior states is mapped to how often it is right on dev."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
from scipy.optimize import minimize

from kin4d.benchmarks.prior.cases import FUSED, prior_case_specs
from kin4d.benchmarks.prior.comparison import Comparison
from kin4d.benchmarks.prior.motion_scores import POINTS, MotionScores
from kin4d.neurok.articulate import ArticulateConfig, body_of_parts
from kin4d.neurok.joint_decoding import decode_joints
from kin4d.neurok.joint_pretrained import calibrate_weights, evidence, joint_prior_from_pretrained
from kin4d.neurok.mesh_pieces import cut_mesh
from kin4d.progress import track


def calibrate_on_dev(
    file: str | Path, *, objects: Sequence[Path] = (), count: int = 60, seed: int = 0
) -> None:
    """Fit the calibration on dev objects, and keep it in the weights file.

    Args:
        file: Weights of a joint prior.
        objects: Folders of URDF objects whose dev split is used beside the procedural one.
        count: Objects of each set.
        seed: Of objects and states.
    """
    prior, config = joint_prior_from_pretrained(file), ArticulateConfig()
    specs = prior_case_specs(count=count, objects=objects, split="dev", seed=seed)
    stated, right = [np.zeros((0, 4))], [np.zeros(0, bool)]
    for spec in track([one for one in specs if FUSED not in one.group], "calibrating"):
        case = spec.make(seed=seed)
        cut = cut_mesh(case.mesh, config.pieces)
        parts = decode_joints(prior.model, cut.batch(), config.decoding)
        # Equal probabilities leave the parts in their order.
        body = body_of_parts(case.mesh, cut, parts, [1.0] * len(parts), config=config)
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
