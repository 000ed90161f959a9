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

_AXIS_PARTS = 32  # parts per training step that joint axes are predicted for: they cost time
_TARGET_POINTS = 512  # points of a target that the target encoder is given


@dataclass(frozen=True, eq=False)
class EncodedShape:
    """B encoded shapes.

    Attributes:
        surface: The points that were encoded.
        encoding: Tokens, screws and prior.
        assignment: Assignment of the points to tokens.
        rig: Moves the points to a state.
        mixture: Predicted motions of the parts, which the encoding's screws summarise.
    """

    surface: PointFeatures
    encoding: Encoding
    assignment: TokenAssignment
    rig: Rig
    mixture: MotionMixture


class Neurok(nn.Module):
    """Prior encoder, posterior encoder and decoder of the paper, and a target encoder."""

    def __init__(self, config: NeurokConfig) -> None:
        super().__init__()
        self.config = config
        self.prior = PriorEncoder(config)
        self.posterior = Posterior(config)
        self.target = TargetEncoder(config)
        skinned = config.decoder == "skinned"
        self.decoder = SkinnedDecoder(config) if skinned else PointDecoder(config)

    def encode(self, surface: PointFeatures) -> EncodedShape:
        """Encode shapes; the result depends on their meshes alone."""
        encoding, assignment, mixture = self.prior(surface)
        rig = self.decoder.rig(encoding, surface.points, assignment)
        return EncodedShape(surface, encoding, assignment, rig, mixture)

    def encode_pose(self, shape: EncodedShape, moved: Tensor) -> tuple[Tensor, Tensor]:
        """Posterior mean and log variance [B, T, 6] of the state in which the points of a shape are
        at `moved` [B, N, 3]."""
        weights, points = shape.assignment.weights, shape.surface.points
        return self.posterior(shape.encoding, weights, points, moved)

    def guess(self, shape: EncodedShape, target: Tensor) -> Tensor:
        """State [B, T, 6] predicted from an unordered point cloud `target` [B, M, 3]."""
        return self.target(shape.encoding, shape.surface.points, target)

    @torch.no_grad()
    def initial_guesses(
        self, shape: EncodedShape, basis: Tensor, target: Tensor, *, rounds: int = 6
    ) -> Tensor:
        """[S, K] states to start a fit from, within the span of basis [K, k].

        The state predicted by the target encoder and the rest state, each refined by letting the
        posterior encode the nearest target point of every point, as in ICP.

        Args:
            shape: One encoded shape.
            basis: Of the states.
            target: [M, 3] unordered points in the unit box.
            rounds: Refinements of each; all of them are returned.
        """
        index = torch.linspace(0, len(target) - 1, min(_TARGET_POINTS, len(target))).long()
        first = self.guess(shape, target[index][None])
        guesses = []
        for z in (first, torch.zeros_like(first)):
            for _ in range(rounds):
                guesses.append(z)
                nearest = torch.cdist(shape.rig.move(z)[0], target).argmin(1)
                z = self.encode_pose(shape, target[nearest][None])[0]
                z = (basis @ (basis.mT @ z.flatten())).view_as(z)
            guesses.append(z)
        return torch.stack([z.flatten() for z in guesses])

    def forward(
        self, surface: PointFeatures, moved: Tensor, target: Tensor, part: Tensor
    ) -> ForwardOutput:
        """All outputs that the loss needs.

        Args:
            surface: Points of B shapes.
            moved: [B, N, 3] the same points in another state.
            target: [B, M, 3] unordered points of that state.
            part: [B, N] known parts; see `NeurokBatch`.
        """
        shape = self.encode(surface)
        mean, log_variance = self.encode_pose(shape, moved)
        mixture, twists = self._predict_motions(shape, moved, part)
        z = mean + torch.randn_like(mean) * (0.5 * log_variance).exp()
        return ForwardOutput(
            shape=shape,
            mean=mean,
            log_variance=log_variance,
            mixture=mixture,
            twists=twists,
            moved=shape.rig.move(z),
            from_target=shape.rig.move(self.guess(shape, target)),
        )

    def _predict_motions(
        self, shape: EncodedShape, moved: Tensor, part: Tensor
    ) -> tuple[MotionMixture, Tensor]:
        """Predicted and true motions of some parts: known parts where there are any, else the
        tokens' own."""
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
        mixture = self.prior.joint_axes.predict(parts.random_subset(_AXIS_PARTS))
        return mixture, twists[mixture.shape, mixture.token]


@dataclass(frozen=True, eq=False)
class ForwardOutput:
    """Outputs of a training step.

    Attributes:
        shape: The encoded shapes.
        mean: [B, T, 6] of the posterior.
        log_variance: [B, T, 6] of the posterior.
        mixture: Predicted motions of M parts.
        twists: [M, 6] their true motions.
        moved: [B, N, 3] points at a state sampled from the posterior.
        from_target: [B, N, 3] points at the state predicted from the target.
    """

    shape: EncodedShape
    mean: Tensor
    log_variance: Tensor
    mixture: MotionMixture
    twists: Tensor
    moved: Tensor
    from_target: Tensor
