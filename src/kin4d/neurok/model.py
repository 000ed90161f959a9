"""Neurok: a conditional variational autoencoder of how shapes move.

The prior encoder turns a shape (points, normals, components) into tokens, skinning weights and a
prior N(mean, 1) over states z [T, 6]. The posterior encoder turns a deformation into z, the target
encoder an unordered point cloud. The decoder moves the points for any z; z = 0 moves nothing.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from kin4d.neurok.config import NeurokConfig
from kin4d.neurok.decoder import PointDecoder, Rig, SkinnedDecoder
from kin4d.neurok.encoders import (
    Encoding,
    PointFeatures,
    Posterior,
    PriorEncoder,
    TargetEncoder,
    TokenAssignment,
)
from kin4d.neurok.joint_axes import PartFeatures
from kin4d.neurok.motion_mixture import MotionMixture
from kin4d.neurok.twists import extents, fit_twists

_AXIS_PARTS = 32  # parts a step of training learns screws from: looking at them is dear


@dataclass(frozen=True, eq=False)
class EncodedShape:
    """B shapes, encoded and ready to be moved.

    Attributes:
        surface: The points they were encoded from.
        encoding: What depends on the mesh alone.
        claims: On those points.
        rig: Moves those points.
        mixture: How parts may move, of which the encoding's screws are a summary.
    """

    surface: PointFeatures
    encoding: Encoding
    assignment: TokenAssignment
    rig: Rig
    mixture: MotionMixture


class Neurok(nn.Module):
    """The three networks of the paper, and one that reads targets."""

    def __init__(self, config: NeurokConfig) -> None:
        super().__init__()
        self.config = config
        self.prior = PriorEncoder(config)
        self.posterior = Posterior(config)
        self.target = TargetEncoder(config)
        skinned = config.decoder == "skinned"
        self.decoder = SkinnedDecoder(config) if skinned else PointDecoder(config)

    def encode(self, surface: PointFeatures) -> EncodedShape:
        """Everything that depends on the mesh alone."""
        encoding, assignment, mixture = self.prior(surface)
        rig = self.decoder.rig(encoding, surface.points, assignment)
        return EncodedShape(surface, encoding, assignment, rig, mixture)

    def drive(self, shape: EncodedShape, surface: PointFeatures) -> Rig:
        """A rig of other points of the same shapes, such as their vertices."""
        assignment = self.prior.assign(shape.encoding, surface)
        return self.decoder.rig(shape.encoding, surface.points, assignment)

    def encode_pose(self, shape: EncodedShape, moved: Tensor) -> tuple[Tensor, Tensor]:
        """Mean and logarithm of variance [B, T, 6] of the state in which the shape's points
        [B, N, 3] are at `moved`."""
        weights, points = shape.assignment.weights, shape.surface.points
        return self.posterior(shape.encoding, weights, points, moved)

    def guess(self, shape: EncodedShape, target: Tensor) -> Tensor:
        """State [B, T, 6] of the shape if it looks like the unordered points target [B, M, 3]."""
        return self.target(shape.encoding, shape.surface.points, target)

    def forward(
        self, surface: PointFeatures, moved: Tensor, target: Tensor, part: Tensor
    ) -> ForwardOutput:
        """All that training looks at, for points that go to `moved` [B, N, 3]; `target` [B, M, 3]
        is an unordered sample of the same state, and `part` [B, N] as in `Batch`."""
        shape = self.encode(surface)
        mean, log_variance = self.encode_pose(shape, moved)
        mixture, twists = self._expect(shape, moved, part)
        z = mean + torch.randn_like(mean) * (0.5 * log_variance).exp()
        return ForwardOutput(
            shape=shape,
            mean=mean,
            log_variance=log_variance,
            mixture=mixture,
            twists=twists,
            moved=shape.rig.move(z),
            guessed=shape.rig.move(self.guess(shape, target)),
        )

    def _expect(
        self, shape: EncodedShape, moved: Tensor, part: Tensor
    ) -> tuple[MotionMixture, Tensor]:
        """How some parts were expected to move, and what they did: true parts where they are known,
        else those that tokens claim."""
        surface, assignment = shape.surface, shape.assignment.weights.detach()
        width = max(assignment.shape[-1], int(part.max()) + 1)
        known = F.one_hot(part.clamp(min=0), width).to(assignment.dtype)
        assignment = F.pad(assignment, (0, width - assignment.shape[-1]))
        assignment = torch.where((part >= 0).all(1)[:, None, None], known, assignment)
        centres, radii = extents(assignment[..., 1:], surface.points)
        twists, _ = fit_twists(assignment[..., 1:], surface.points, moved, centres, radii)
        parts = PartFeatures.from_assignment(
            assignment, surface.points, surface.normals, centres, radii
        )
        mixture = self.prior.joint_axes.predict(parts.some(_AXIS_PARTS))
        return mixture, twists[mixture.shape, mixture.token]


@dataclass(frozen=True, eq=False)
class ForwardOutput:
    """One pass of training.

    Attributes:
        shape: The encoded shapes.
        mean: [B, T, 6] of the posterior.
        log_variance: [B, T, 6] of the posterior.
        mixture: How some parts were expected to move.
        twists: [M, 6] what they really did.
        moved: [B, N, 3] points at a state drawn from the posterior.
        guessed: [B, N, 3] points at the state guessed from the target.
    """

    shape: EncodedShape
    mean: Tensor
    log_variance: Tensor
    mixture: MotionMixture
    twists: Tensor
    moved: Tensor
    guessed: Tensor
