"""PartDynamics, a learned simulator: predicts how the robot moves each rigid part, frame by frame.

Inputs are points: of the part, of the robot now and in the next frame, and of the surroundings.
Outputs are a share of the motion of the nearby robot points and a residual motion. All coordinates
are relative to the part, so predictions do not depend on where it is.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass

import torch
from torch import Tensor, nn

from kin4d.geometry.transforms import rotvec_to_matrix
from kin4d.world.object_world.contact_features import (
    COARSE_FEATURES,
    FINE_FEATURES,
    UNIT,
    contact_features,
    fine_contact_features,
    grasped_motion,
    nearest,
    to_nearest,
)
from kin4d.world.object_world.dynamics_windows import Windows

_ROTATION_UNIT = 0.3  # rad per frame at an output of one
_STILL = 0.03  # gate below which a part does not move at all
_GLOBAL_INPUTS = 6 + 6 + 3 + 3 + 2
_OPENING_INPUTS, _ERROR_INPUTS = 5, 7
_CLOSED = 0.05  # opening below which fingers count as closed
_ERROR_UNIT = 0.01  # m: typical end-effector tracking error under load


@dataclass(frozen=True, kw_only=True)
class DynamicsConfig:
    """Sizes and inputs of the dynamics network.

    Attributes:
        width: Features per point.
        memory: Recurrent state of a part.
        robot: Nearest points of the robot in the input.
        others: Nearest points of everything else.
        opening: Whether the gripper opening is an input.
        lag: Whether the end-effector tracking error is an input.
        fine: Whether contact features at millimetre scale are inputs.
    """

    width: int = 96
    memory: int = 128
    robot: int = 64
    others: int = 40
    opening: bool = True
    lag: bool = True
    fine: bool = True

    def to_dict(self) -> dict[str, int | bool]:
        """For JSON."""
        return asdict(self)


@dataclass(frozen=True, eq=False)
class PartState:
    """State of B parts.

    Attributes:
        points: [B, M, 3] m.
        previous: [B, M, 3] m: in the previous frame.
        memory: [B, H].
        pose: [B, 3, 4] motion since the first frame.
    """

    points: Tensor
    previous: Tensor
    memory: Tensor
    pose: Tensor


class PartDynamics(nn.Module):
    """Predicts the next state of parts.

    Args:
        config: Sizes and inputs.
    """

    def __init__(self, config: DynamicsConfig) -> None:
        super().__init__()
        self.config = config
        width, features = config.width, COARSE_FEATURES + FINE_FEATURES * config.fine
        self.look = nn.ModuleList(
            nn.Sequential(nn.Linear(features, width), nn.SiLU(), nn.Linear(width, width), nn.SiLU())
            for _ in range(3)
        )
        inputs = _GLOBAL_INPUTS + _OPENING_INPUTS * config.opening + _ERROR_INPUTS * config.lag
        self.join = nn.Sequential(nn.Linear(6 * width + inputs, 256), nn.SiLU())
        self.remember = nn.GRUCell(256, config.memory)
        self.decide = nn.Sequential(
            nn.Linear(256 + config.memory, 256), nn.SiLU(), nn.Linear(256, 12)
        )
        last = self.decide[-1]
        assert isinstance(last, nn.Linear)
        nn.init.zeros_(last.weight)
        with torch.no_grad():  # Initially nothing is carried, and uncertainty is high.
            last.bias.copy_(torch.tensor([0.0] * 6 + [-2.0, -2.0, 1.0] + [0.0] * 3))

    def initial_state(self, points: Tensor, previous: Tensor | None = None) -> PartState:
        """Parts at rest, or with points `previous` [B, M, 3] in the frame before."""
        memory = points.new_zeros(len(points), self.config.memory)
        pose = torch.eye(3, 4).expand(len(points), 3, 4)
        return PartState(points, points if previous is None else previous, memory, pose)

    def step(
        self,
        state: PartState,
        robot: Tensor,
        robot_next: Tensor,
        others: Tensor,
        seconds: Tensor,
        proprioception: Tensor,
        generator: torch.Generator | None = None,
    ) -> tuple[PartState, Tensor]:
        """Predict the next frame.

        Args:
            state: Current state.
            robot: [B, N, 3] m: the robot's points in the current frame.
            robot_next: [B, N, 3] m: the same in the next frame.
            others: [B, S, 3] m: points of everything else.
            seconds: [B] seconds between the frames.
            proprioception: [B, 2, 4] in both frames; see `DynamicsSample`.
            generator: Draws a sample; the most likely motion if None.

        Returns:
            The state in the next frame, and [B, 3] the logarithm of the standard deviation of its
            centre, mm.
        """
        points = state.points
        centre = points.mean(1, keepdim=True)
        with torch.no_grad():
            robot, robot_next, to_part, distance = nearest(
                points, self.config.robot, robot, robot_next
            )
            rest, _, rest_to_part, rest_distance = nearest(
                points, self.config.others, others, others
            )
            after = to_nearest(points, robot_next)
            steps = robot_next - robot
            translation, rotation_vector = grasped_motion(robot - centre, steps, distance)
        own_step = points - state.previous
        pooled = []
        for encoder, features in zip(
            self.look,
            (
                self._point_features(robot - centre, steps, to_part, after, distance, robot),
                self._point_features(
                    rest - centre, rest * 0, rest_to_part, rest_to_part, rest_distance, rest
                ),
                self._point_features(
                    points - centre, own_step, own_step, points * 0, own_step.norm(dim=-1), points
                ),
            ),
            strict=True,
        ):
            encoded = encoder(features)
            pooled += [encoded.amax(1), encoded.mean(1)]
        extent = ((points - centre).square().mean(1) + 1e-8).sqrt()  # zero along flat directions
        # Last motion of the part, and the next motion of the robot beside it.
        inputs = torch.cat(
            [
                own_step.mean(1) / UNIT,
                torch.linalg.cross(points - centre, own_step).mean(1) / UNIT**2,
                translation / UNIT,
                rotation_vector / _ROTATION_UNIT,
                extent / UNIT,
                centre[:, 0] * torch.tensor([0.0, 0.0, 1.0]) / UNIT,
                seconds[:, None] * 5,
                distance.amin(1, keepdim=True) / UNIT,
            ],
            -1,
        )
        if self.config.opening:
            inputs = torch.cat([inputs, _opening_features(proprioception[..., 0])], -1)
        if self.config.lag:
            inputs = torch.cat([inputs, _tracking_error_features(proprioception[..., 1:])], -1)
        joined = self.join(torch.cat([*pooled, inputs], -1))
        memory = self.remember(joined, state.memory)
        outputs = self.decide(torch.cat([joined, memory], -1))
        share, gate, log_std = outputs[:, 6:8].sigmoid(), outputs[:, 8:9].sigmoid(), outputs[:, 9:]
        if not self.training:  # Small motions become exactly zero.
            gate = gate * (gate > _STILL)
        noise_step = torch.zeros(())
        if generator is not None:
            noise = torch.randn(len(points), 3, generator=generator)
            noise_step = (gate > 0) * 1e-3 * log_std.clamp(-3, 3).exp() * noise
        centre_step = gate * (UNIT * outputs[:, :3] + share[:, :1] * translation) + noise_step
        rotation = rotvec_to_matrix(
            gate * (_ROTATION_UNIT * outputs[:, 3:6] + share[:, 1:] * rotation_vector)
        )
        translation = centre_step + (centre - centre @ rotation.mT)[:, 0]
        moved = points @ rotation.mT + translation[:, None]
        pose = rotation @ state.pose + torch.nn.functional.pad(translation[..., None], (3, 0))
        return PartState(moved, points, memory, pose), log_std

    def _point_features(
        self,
        position: Tensor,
        step: Tensor,
        displacement: Tensor,
        after: Tensor,
        distance: Tensor,
        point: Tensor,
    ) -> Tensor:
        """Features of points: see `contact_features`."""
        coarse = contact_features(position, step, displacement, after, distance, point)
        if not self.config.fine:
            return coarse
        return torch.cat([coarse, fine_contact_features(displacement, after, distance)], -1)

    def forward(self, windows: Windows, start: PartState) -> tuple[Tensor, Tensor]:
        """Roll every part out through its window.

        Returns:
            [B, L, M, 3] m: points, and [B, L, 3] log standard deviation of each step; see `step`.
        """
        state, path, log_stds = start, [], []
        for t in range(windows.robot.shape[1] - 1):
            state, log_std = self.step(
                state,
                windows.robot[:, t],
                windows.robot[:, t + 1],
                windows.others[:, t],
                windows.seconds,
                windows.proprioception[:, t : t + 2],
            )
            path.append(state.points)
            log_stds.append(log_std)
        return torch.stack(path, 1), torch.stack(log_stds, 1)


def _opening_features(opening: Tensor) -> Tensor:
    """[B, 5] features of the opening [B, 2] of a gripper; zeros if unknown."""
    known = opening.isfinite().all(-1, keepdim=True)
    current, following = torch.where(known, opening, 0.0).split(1, -1)
    firmness = following / (following.abs() + _CLOSED)
    return torch.cat(
        [current, following, 5 * (following - current), firmness, known.to(current.dtype)], -1
    )


def _tracking_error_features(error: Tensor) -> Tensor:
    """[B, 7] features of the end-effector tracking error [B, 2, 3], m; zeros if unknown."""
    known = error.isfinite().all(-1).all(-1, keepdim=True)
    lengths = torch.where(known[..., None], error, 0.0).flatten(1) / _ERROR_UNIT
    return torch.cat([lengths / (1 + lengths.abs() / 4), known.to(error.dtype)], -1)
