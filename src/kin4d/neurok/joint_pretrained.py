"""Weights of the joint prior: found by name, validated when read, with the calibration of its
probabilities."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

import numpy as np

from kin4d.neurok.joint_decoding import PartHypotheses
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
    """A joint prior whose probabilities mean what they say.

    Attributes:
        model: The network.
        slope: Of the calibrated log odds in the log odds of what the network says.
        offset: Likewise.
    """

    model: JointPrior
    slope: float = 1.0
    offset: float = 0.0

    def probability(self, part: PartHypotheses) -> float:
        """That the true object can make the motion of the part's likeliest joint."""
        return float(1 / (1 + np.exp(-(self.slope * log_odds(part) + self.offset))))


def log_odds(part: PartHypotheses) -> float:
    """Of moving at all, and then by the likeliest joint."""
    p = np.clip(part.moves * part.joints[0].probability, 1e-4, 1 - 1e-4)
    return float(np.log(p / (1 - p)))


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
        calibration = metadata.get("calibration", {})
        slope, offset = (float(calibration.get(*k)) for k in (("slope", 1.0), ("offset", 0.0)))
        if not np.isfinite([slope, offset]).all():
            raise ValueError(f"its calibration is {slope}, {offset}")
        return CalibratedPrior(model, slope, offset)


def calibrate_weights(file: str | Path, *, slope: float, offset: float) -> None:
    """Write a calibration of the log odds into a weights file."""
    tensors, metadata = load_tensors(file)
    save_tensors(file, tensors, {**metadata, "calibration": {"slope": slope, "offset": offset}})


@lru_cache(maxsize=4)
def cached_joint_prior(name: str) -> CalibratedPrior:
    """The same, read once."""
    return joint_prior_from_pretrained(name)
