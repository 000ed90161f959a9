"""Weights of the joint prior: found by name, validated when read, with the calibration of its
probabilities."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

import numpy as np

from kin4d.neurok.joint_decoding import JointHypothesis, PartHypotheses
from kin4d.neurok.joint_prior import JointPrior, JointPriorConfig
from kin4d.reading import reading
from kin4d.training.build import build_from_weights
from kin4d.training.checkpoint import load_tensors, save_tensors
from kin4d.training.config import config_of
from kin4d.training.weights import read_weights, weights_file

MODEL = "joint_prior"
"""Kind of model, as weights that ship begin."""

VERSION = 1
"""Of the weights' layout; others are refused."""


@dataclass(frozen=True, eq=False)
class CalibratedPrior:
    """A joint prior with calibrated probabilities (Platt scaling of several log odds).

    Attributes:
        model: The network.
        weights: [4] of the log odds that `evidence` returns.
        offset: Added to the weighted sum.
    """

    model: JointPrior
    weights: tuple[float, ...] = (1.0, 1.0, 1.0, 1.0)
    offset: float = 0.0

    def probability(self, part: PartHypotheses, joint: JointHypothesis | None = None) -> float:
        """That the true object makes the motion of a joint of a part, by default the likeliest."""
        odds = float(evidence(part, joint) @ np.array(self.weights)) + self.offset
        return float(1 / (1 + np.exp(-odds)))


def evidence(part: PartHypotheses, joint: JointHypothesis | None = None) -> np.ndarray:
    """[4] log odds: that a part moves, that its pieces are one part, that it moves by a joint (by
    default its likeliest), and that it can go as far."""
    joint = joint or part.joints[0]
    stated = [part.moves, part.together, joint.probability, joint.range_probability]
    p = np.clip(stated, 1e-3, 1 - 1e-3)
    return np.log(p / (1 - p))


def joint_prior_from_pretrained(name: str | Path) -> CalibratedPrior:
    """The joint prior of a name, ready for use.

    Args:
        name: One that ships ("small"), a .safetensors file, a folder with one, or "owner/name" on
            the Hugging Face hub.
    """
    file = weights_file(name, MODEL)
    with reading(file, "file of weights"):
        tensors, metadata = read_weights(
            file, model=MODEL, version=VERSION, train="kin4d train joint-prior"
        )
        config = config_of(JointPriorConfig, metadata["config"])
        model = build_from_weights(lambda: JointPrior(config), tensors)
        if "calibration" not in metadata:
            return CalibratedPrior(model)
        calibration = metadata["calibration"]
        weights, offset = np.array(calibration["weights"], float), float(calibration["offset"])
        if weights.shape != (4,) or not np.isfinite([*weights, offset]).all():
            raise ValueError(f"its calibration is {calibration}")
        return CalibratedPrior(model, tuple(weights.tolist()), offset)


def calibrate_weights(file: str | Path, *, weights: Sequence[float], offset: float) -> None:
    """Write a calibration of the log odds into a weights file."""
    tensors, metadata = load_tensors(file)
    calibration = {"weights": list(weights), "offset": offset}
    save_tensors(file, tensors, {**metadata, "calibration": calibration})


@lru_cache(maxsize=4)
def cached_joint_prior(name: str) -> CalibratedPrior:
    """The same, read once."""
    return joint_prior_from_pretrained(name)
