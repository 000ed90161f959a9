"""CageDeformer: a network whose keypoints deform a cage around a shape; the baseline for NeuROK.

In the spirit of KeypointDeformer (Jakab et al., CVPR 2021), written anew from its description. A
PointNet predicts keypoints of a shape and of its target. Their offsets move the nearest corners of
a cage, and mean value coordinates move the shape with it. All of it is linear after the keypoints,
so rotations become shear.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from functools import lru_cache
from pathlib import Path

import torch
from torch import Tensor, nn

from kin4d.errors import InputError
from kin4d.geometry.primitives import sphere
from kin4d.reading import reading
from kin4d.training.build import build_from_weights
from kin4d.training.checkpoint import load_tensors

VERSION = 1
"""Format version of the weights."""

MARGIN = 0.15
"""Distance of the cage from the shape, in unit boxes."""


@dataclass(frozen=True, kw_only=True)
class CageConfig:
    """Sizes of the deformer.

    Attributes:
        keypoints: K, their number.
        width: Features of the networks.
        near: Nearest corners of the cage that each keypoint moves.
    """

    keypoints: int = 12
    width: int = 256
    near: int = 8

    def to_dict(self) -> dict[str, int]:
        """For JSON."""
        return asdict(self)


class PointNet(nn.Module):
    """Points [B, N, 3] -> [B, outputs], by features that are pooled by their maximum.

    If `zero`, it is initialised to output zero.
    """

    def __init__(self, width: int, outputs: int, *, zero: bool = False) -> None:
        super().__init__()
        last = nn.Linear(width, outputs)
        if zero:
            nn.init.zeros_(last.weight)
            nn.init.zeros_(last.bias)
        self.each = nn.Sequential(
            nn.Linear(3, 64), nn.ReLU(), nn.Linear(64, 128), nn.ReLU(), nn.Linear(128, width)
        )
        self.all = nn.Sequential(nn.ReLU(), nn.Linear(width, width), nn.ReLU(), last)

    def forward(self, points: Tensor) -> Tensor:
        return self.all(self.each(points).amax(1))


class CageDeformer(nn.Module):
    """Keypoints of source and target points, in the unit box of the source, and their influence on
    the corners of a cage."""

    def __init__(self, config: CageConfig) -> None:
        super().__init__()
        self.config = config
        corners = len(cage_sphere()[0])
        self.find = PointNet(config.width, 3 * config.keypoints)
        self.adapt = PointNet(config.width, config.keypoints * corners, zero=True)
        # Initially a corner moves about as far as its keypoints.
        share = corners / (config.keypoints * config.near)
        self.influence = nn.Parameter(torch.full((config.keypoints, corners), share))

    def keypoints(self, points: Tensor) -> Tensor:
        """[B, K, 3] of points [B, N, 3]."""
        return self.find(points).unflatten(-1, (-1, 3))

    def own_influence(self, source: Tensor) -> Tensor:
        """[B, K, C] the shape's own addition to the influence that all shapes share."""
        return self.adapt(source).unflatten(-1, (self.config.keypoints, -1))

    def pull(self, own: Tensor, keypoints: Tensor, cage: Tensor) -> Tensor:
        """[B, C, K] influence of each keypoint on each corner of the cage; `own` [B, K, C] is the
        shape's own (`own_influence`)."""
        distance = torch.cdist(keypoints.detach(), cage)
        radius = distance.topk(self.config.near, largest=False).values[..., -1:]
        return torch.where(distance <= radius, self.influence + own, 0.0).mT


@lru_cache(maxsize=1)
def cage_sphere() -> tuple[Tensor, Tensor]:
    """Corners [42, 3] and triangles [80, 3] of a once divided icosahedron of radius 1."""
    mesh = sphere(1.0, subdivisions=1)
    return torch.tensor(mesh.vertices, dtype=torch.float32), torch.tensor(mesh.faces)


@torch.no_grad()
def fit_cage(points: Tensor, *, start: float = 1.2, steps: int = 60) -> Tensor:
    """[B, 42, 3] a cage around points [B, N, 3].

    The corners of a sphere of radius `start` unit boxes move towards the centre, in `steps`, until
    they are within `MARGIN` of a point.
    """
    directions, _ = cage_sphere()
    centre = points.mean(1, keepdim=True)
    radius = torch.linspace(start, start / steps, steps)
    corners = (radius[:, None, None] * directions).flatten(0, 1)
    gaps = [torch.cdist(corners + c, p).amin(1) for c, p in zip(centre, points, strict=True)]
    free = (torch.stack(gaps) > MARGIN).unflatten(1, (steps, -1))
    steps_free = free.cumprod(1).sum(1)
    return centre + radius[(steps_free - 1).clamp(min=0)][..., None] * directions


def load_cage(path: str | Path) -> CageDeformer:
    """Load a deformer in evaluation mode."""
    with reading(path, "file of weights"):
        return _load(path)


def _load(path: str | Path) -> CageDeformer:
    tensors, metadata = load_tensors(path)
    if metadata.get("model") != "cage" or metadata.get("version") != VERSION:
        raise InputError(
            f"{path} does not hold a cage deformer of this version",
            value=(metadata.get("model"), metadata.get("version")),
            allowed=f"('cage', {VERSION})",
        )
    config = CageConfig(**metadata["config"])
    return build_from_weights(lambda: CageDeformer(config), tensors)
