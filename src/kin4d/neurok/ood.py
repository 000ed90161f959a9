"""Out-of-distribution detection: how close a shape is to the training shapes."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import torch
from torch import Tensor

from kin4d.neurok.encoders import Encoding, PointFeatures
from kin4d.neurok.model import Neurok

_MIN_DEVIATION = 0.05  # deviation that counts, against that along the widest axis


@dataclass(frozen=True, eq=False)
class OodDetector:
    """Where encodings of training shapes lie.

    Attributes:
        mean: [W].
        whiten: [W, W] from the difference to the mean to numbers of unit variance.
        distances: [Q] ascending quantiles of the distances of training shapes themselves.
    """

    mean: Tensor
    whiten: Tensor
    distances: Tensor

    def tensors(self) -> dict[str, Tensor]:
        """By name."""
        return {"mean": self.mean, "whiten": self.whiten, "distances": self.distances}

    def distance(self, encoding: Encoding) -> Tensor:
        """[B] distance from the middle of the training shapes, in standard deviations."""
        return ((_summary(encoding) - self.mean) @ self.whiten).square().mean(-1).sqrt()

    def confidence(self, encoding: Encoding) -> Tensor:
        """[B] share of training shapes that are stranger than these, 0 to 1."""
        rank = torch.searchsorted(self.distances, self.distance(encoding).contiguous())
        return 1 - rank / len(self.distances)

    @classmethod
    def of(cls, model: Neurok, surfaces: Iterable[PointFeatures]) -> OodDetector:
        """Learn from samples of training shapes."""
        with torch.no_grad():
            seen = torch.cat([_summary(model.encode(surface).encoding) for surface in surfaces])
        mean = seen.mean(0)
        variance, axes = torch.linalg.eigh((seen - mean).mT @ (seen - mean) / len(seen))
        deviation = variance.clamp(min=0).sqrt()
        # Where training shapes hardly differ, a small difference is not yet a strange shape.
        whiten = axes / deviation.clamp(min=_MIN_DEVIATION * float(deviation[-1]))
        distances = ((seen - mean) @ whiten).square().mean(-1).sqrt()
        levels = torch.linspace(0, 1, 201, dtype=distances.dtype)
        return cls(mean, whiten, torch.quantile(distances, levels))


def _summary(encoding: Encoding) -> Tensor:
    """[B, W] one line about a shape."""
    return encoding.tokens.mean(1)
