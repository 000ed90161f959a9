"""Out-of-distribution detection: how close a shape is to the training shapes."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import torch
from torch import Tensor

from kin4d.neurok.encoders import Encoding, PointFeatures
from kin4d.neurok.model import Neurok

_MIN_DEVIATION = 0.05  # of that along the widest axis; smaller ones would amplify noise


@dataclass(frozen=True, eq=False)
class OodDetector:
    """Mahalanobis distance from the encodings of the training shapes.

    Attributes:
        mean: [W] mean encoding.
        whiten: [W, W] maps differences from the mean to unit variance.
        distances: [Q] ascending quantiles of the distances of the training shapes.
    """

    mean: Tensor
    whiten: Tensor
    distances: Tensor

    def tensors(self) -> dict[str, Tensor]:
        """By name."""
        return {"mean": self.mean, "whiten": self.whiten, "distances": self.distances}

    def distance(self, encoding: Encoding) -> Tensor:
        """[B] distance from the mean of the training shapes, in standard deviations."""
        return ((_summary(encoding) - self.mean) @ self.whiten).square().mean(-1).sqrt()

    def confidence(self, encoding: Encoding) -> Tensor:
        """[B] share of training shapes that are farther from the mean than these, 0 to 1."""
        rank = torch.searchsorted(self.distances, self.distance(encoding).contiguous())
        return 1 - rank / len(self.distances)

    @classmethod
    def of(cls, model: Neurok, surfaces: Iterable[PointFeatures]) -> OodDetector:
        """Estimate it from samples of training shapes."""
        with torch.no_grad():
            encodings = torch.cat(
                [_summary(model.encode(surface).encoding) for surface in surfaces]
            )
        mean = encodings.mean(0)
        variance, axes = torch.linalg.eigh(
            (encodings - mean).mT @ (encodings - mean) / len(encodings)
        )
        deviation = variance.clamp(min=0).sqrt()
        whiten = axes / deviation.clamp(min=_MIN_DEVIATION * float(deviation[-1]))
        distances = ((encodings - mean) @ whiten).square().mean(-1).sqrt()
        levels = torch.linspace(0, 1, 201, dtype=distances.dtype)
        return cls(mean, whiten, torch.quantile(distances, levels))


def _summary(encoding: Encoding) -> Tensor:
    """[B, W] mean token of each shape."""
    return encoding.tokens.mean(1)
