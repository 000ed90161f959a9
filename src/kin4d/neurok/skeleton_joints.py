"""SkeletonJoints: a small network that says where along the centre lines of a shape joints are.

Every token is a point of the lines, described with what is around it; with the mean of all tokens
of the shape it gives the probability that a joint is near. Joints are
then taken one by one, the surest first, each with its mirror image, and no other near them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise
from pathlib import Path

import numpy as np
import torch
from torch import Tensor, nn

from kin4d.bodies.creature.build import CreatureConfig, CreatureShape
from kin4d.geometry.curve_skeleton import CurveSkeleton
from kin4d.geometry.mesh import Mesh
from kin4d.neurok.skeleton_tokens import SkeletonTokens, skeleton_tokens
from kin4d.reading import reading
from kin4d.training.build import build_from_weights
from kin4d.training.config import config_of
from kin4d.training.weights import read_weights, weights_file

MODEL = "skeleton_joints"
"""Kind of model, as weights that ship begin."""

VERSION = 1
"""Of the weights' layout; others are refused."""


@dataclass(frozen=True, kw_only=True)
class SkeletonJointsConfig:
    """Sizes of the network.

    Attributes:
        features: Of a token.
        width: Numbers per token inside.
        layers: Inside.
        dropout: After each.
    """

    features: int
    width: int = 96
    layers: int = 2
    dropout: float = 0.2


@dataclass(frozen=True, eq=False)
class TokenBatch:
    """Tokens of B shapes, N of the longest.

    Attributes:
        features: [B, N, F].
        mask: [B, N] bool: a token is there.
    """

    features: Tensor
    mask: Tensor

    @classmethod
    def of(cls, shapes: Sequence[SkeletonTokens]) -> TokenBatch:
        """A batch of some shapes."""
        most = max(map(len, shapes))
        features = np.zeros((len(shapes), most, shapes[0].features.shape[1]), np.float32)
        mask = np.zeros((len(shapes), most), bool)
        for row, shape in enumerate(shapes):
            features[row, : len(shape)], mask[row, : len(shape)] = shape.features, True
        return cls(torch.from_numpy(features), torch.from_numpy(mask))


class SkeletonJoints(nn.Module):
    """The network: tokens of shapes to logits that a joint is near."""

    def __init__(self, config: SkeletonJointsConfig) -> None:
        super().__init__()
        self.config = config
        self.register_buffer("mean", torch.zeros(config.features))
        self.register_buffer("scale", torch.ones(config.features))
        widths = [2 * config.features] + config.layers * [config.width]
        layers: list[nn.Module] = []
        for before, after in pairwise(widths):
            layers += [nn.Linear(before, after), nn.GELU(), nn.Dropout(config.dropout)]
        self.layers = nn.Sequential(*layers, nn.Linear(config.width, 1))

    def forward(self, batch: TokenBatch) -> Tensor:
        """[B, N] logits."""
        x = ((batch.features - self.mean) / self.scale).clamp(-5, 5) * batch.mask[..., None]
        whole = x.sum(1, keepdim=True) / batch.mask.sum(1)[:, None, None]
        return self.layers(torch.cat([x, whole.expand_as(x)], -1)).squeeze(-1)


@dataclass(frozen=True, eq=False)
class JointFinder:
    """The network with how its probabilities are read.

    Attributes:
        model: The network.
        threshold: Probability below which there is no joint.
        apart: Of the size: how near two joints may be.
    """

    model: SkeletonJoints
    threshold: float
    apart: float

    def find(self, skeleton: CurveSkeleton, size: float) -> np.ndarray:
        """[J] the skeleton's nodes at which joints are, with their mirror images.

        Args:
            skeleton: Centre lines.
            size: m, bounding-box diagonal of the shape.
        """
        tokens = skeleton_tokens(skeleton, size)
        with torch.inference_mode():
            logits = self.model(TokenBatch.of([tokens]))[0].sigmoid().double().numpy()
        return choose_joints(
            skeleton, tokens, logits, threshold=self.threshold, apart=self.apart * size
        )


def choose_joints(
    skeleton: CurveSkeleton,
    tokens: SkeletonTokens,
    probability: np.ndarray,
    *,
    threshold: float,
    apart: float,
) -> np.ndarray:
    """[J] nodes, the surest first, no two nearer than `apart` (m) unless they mirror each other.

    Args:
        skeleton: Centre lines.
        tokens: Of it.
        probability: [N] that a joint is near, of each token.
        threshold: Least probability.
        apart: m.
    """
    sure = (probability + probability[tokens.twin]) / 2
    points, mirror = skeleton.points[tokens.node], skeleton.mirror
    free, found = sure >= threshold, []
    free &= tokens.node > 0  # the root has no joint
    while free.any():
        best = int(np.where(free, sure, -1.0).argmax())
        node = int(tokens.node[best])
        pair = np.unique([node, mirror[node]])
        found += pair.tolist()
        gap = np.linalg.norm(points[:, None] - skeleton.points[pair], axis=-1).min(1)
        free &= gap > apart
    return np.array(found, np.int64)


def joint_finder_from_pretrained(name: str | Path) -> JointFinder:
    """The finder of a name, ready for use.

    Args:
        name: One that ships ("small"), a .safetensors file, a folder with one, or "owner/name" on
            the Hugging Face hub.
    """
    file = weights_file(name, MODEL)
    with reading(file, "file of weights"):
        tensors, metadata = read_weights(
            file, model=MODEL, version=VERSION, train="kin4d train skeleton-joints"
        )
        config = config_of(SkeletonJointsConfig, metadata["config"])
        model = build_from_weights(lambda: SkeletonJoints(config), tensors)
        threshold, apart = float(metadata["threshold"]), float(metadata["apart"])
        if not (0 < threshold < 1 and 0 < apart < 1):
            raise ValueError(f"its threshold is {threshold}, its distance {apart}")
    return JointFinder(model, threshold, apart)


@lru_cache(maxsize=2)
def cached_joint_finder(name: str) -> JointFinder:
    """The same, read once."""
    return joint_finder_from_pretrained(name)


def creature_shape(
    mesh: Mesh,
    *,
    shape: CreatureShape | None = None,
    config: CreatureConfig | None = None,
    weights: str | Path = "small",
) -> CreatureShape:
    """What a shape says about how it may bend, with joints where the network finds them; where it
    finds none, they stay where the shape alone has them.

    Args:
        mesh: Any.
        shape: What is known of it already.
        config: How lines are drawn and bones are cut.
        weights: Of the network; see `joint_finder_from_pretrained`.
    """
    config = config or CreatureConfig()
    shape, size = shape or CreatureShape.of(mesh, config), mesh.bbox_diagonal
    nodes = cached_joint_finder(str(weights)).find(shape.skeleton, size)
    return shape.with_joints(nodes, size, config) if len(nodes) else shape
