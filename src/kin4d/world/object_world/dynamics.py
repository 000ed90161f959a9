"""Mover: how the robot moves what it touches, part by part and frame by frame.

A learned simulator of rigid parts. It sees points: those of the part, those of the robot now and in
the next frame, and what else is near. It says how the part moves meanwhile: some share of the
motion of the robot that is next to it, and something of its own. Everything is relative to where
the part is, so what was learned at one place holds at every other.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass

import torch
from torch import Tensor, nn

from kin4d.geometry.transforms import rotvec_to_matrix
from kin4d.world.object_world.contact_features import (
    FINE,
    POINT,
    UNIT,
    contact_features,
    fine_contact_features,
    grasped_motion,
    nearest,
    towards,
)
from kin4d.world.object_world.windows import Windows

_TURN = 0.3  # rad per frame at an output of one
_STILL = 0.03  # share of a motion below which a part does not move at all
_GLOBAL = 6 + 6 + 3 + 3 + 2
_OPENING, _LAG = 5, 7
_FIRM = 0.05  # opening below which fingers are as good as closed
_BEHIND = 0.01  # m that a hand is behind when something holds it back


@dataclass(frozen=True, kw_only=True)
class DynamicsConfig:
    """Sizes of a dynamics.

    Attributes:
        width: Numbers per point.
        memory: Numbers that a part remembers from frame to frame.
        robot: Nearest points of the robot that are looked at.
        others: Nearest points of everything else.
        opening: Whether it is told how open the gripper is.
        lag: Whether it is told how far the hand is behind.
        fine: Whether it is told of millimetres apart from centimetres.
    """

    width: int = 96
    memory: int = 128
    robot: int = 64
    others: int = 40
    opening: bool = True
    lag: bool = True
    fine: bool = True

    def to_dict(self) -> dict[str, int | bool]:
        """As JSON takes it."""
        return asdict(self)


@dataclass(frozen=True, eq=False)
class PartState:
    """B parts at one moment.

    Attributes:
        points: [B, M, 3] m.
        before: [B, M, 3] m: one frame ago.
        memory: [B, H].
        pose: [B, 3, 4] motion since the beginning.
    """

    points: Tensor
    before: Tensor
    memory: Tensor
    pose: Tensor


class PartDynamics(nn.Module):
    """Steps parts from one frame to the next.

    Args:
        config: Sizes.
    """

    def __init__(self, config: DynamicsConfig) -> None:
        super().__init__()
        self.config = config
        width, told = config.width, POINT + FINE * config.fine
        self.look = nn.ModuleList(
            nn.Sequential(nn.Linear(told, width), nn.SiLU(), nn.Linear(width, width), nn.SiLU())
            for _ in range(3)
        )
        known = _GLOBAL + _OPENING * config.opening + _LAG * config.lag
        self.join = nn.Sequential(nn.Linear(6 * width + known, 256), nn.SiLU())
        self.remember = nn.GRUCell(256, config.memory)
        self.decide = nn.Sequential(
            nn.Linear(256 + config.memory, 256), nn.SiLU(), nn.Linear(256, 12)
        )
        last = self.decide[-1]
        assert isinstance(last, nn.Linear)
        nn.init.zeros_(last.weight)
        with torch.no_grad():  # At first nothing is carried, and little is sure.
            last.bias.copy_(torch.tensor([0.0] * 6 + [-2.0, -2.0, 1.0] + [0.0] * 3))

    def begin(self, points: Tensor, before: Tensor | None = None) -> PartState:
        """Parts at rest, or moving from `before` [B, M, 3]."""
        memory = points.new_zeros(len(points), self.config.memory)
        pose = torch.eye(3, 4).expand(len(points), 3, 4)
        return PartState(points, points if before is None else before, memory, pose)

    def step(
        self,
        state: PartState,
        robot: Tensor,
        robot_next: Tensor,
        others: Tensor,
        seconds: Tensor,
        felt: Tensor,
        chance: torch.Generator | None = None,
    ) -> tuple[PartState, Tensor]:
        """One frame on.

        Args:
            state: Now.
            robot: [B, N, 3] m: the robot's points now.
            robot_next: [B, N, 3] m: and in the next frame.
            others: [B, S, 3] m: what else there is.
            seconds: [B] between the frames.
            felt: [B, 2, 4] now and in the next frame; see `Lesson`.
            chance: Lets what is unsure vary; the likeliest motion if None.

        Returns:
            The state in the next frame, and [B, 3] how unsure the shift of its middle is: the
            logarithm of a standard deviation in millimetres.
        """
        points = state.points
        middle = points.mean(1, keepdim=True)
        with torch.no_grad():
            robot, robot_next, touch, distance = nearest(
                points, self.config.robot, robot, robot_next
            )
            rest, _, away, far = nearest(points, self.config.others, others, others)
            after = towards(points, robot_next)
            steps = robot_next - robot
            shift, turn = grasped_motion(robot - middle, steps, distance)
        own = points - state.before
        pools = []
        for look, told in zip(
            self.look,
            (
                self._told(robot - middle, steps, touch, after, distance, robot),
                self._told(rest - middle, rest * 0, away, away, far, rest),
                self._told(points - middle, own, own, points * 0, own.norm(dim=-1), points),
            ),
            strict=True,
        ):
            seen = look(told)
            pools += [seen.amax(1), seen.mean(1)]
        spread = ((points - middle).square().mean(1) + 1e-8).sqrt()  # flat parts have none
        # How the part moved last, and how the robot beside it is about to.
        known = torch.cat(
            [
                own.mean(1) / UNIT,
                torch.linalg.cross(points - middle, own).mean(1) / UNIT**2,
                shift / UNIT,
                turn / _TURN,
                spread / UNIT,
                middle[:, 0] * torch.tensor([0.0, 0.0, 1.0]) / UNIT,
                seconds[:, None] * 5,
                distance.amin(1, keepdim=True) / UNIT,
            ],
            -1,
        )
        if self.config.opening:
            known = torch.cat([known, _grip(felt[..., 0])], -1)
        if self.config.lag:
            known = torch.cat([known, _held_back(felt[..., 1:])], -1)
        joined = self.join(torch.cat([*pools, known], -1))
        memory = self.remember(joined, state.memory)
        said = self.decide(torch.cat([joined, memory], -1))
        share, go, unsure = said[:, 6:8].sigmoid(), said[:, 8:9].sigmoid(), said[:, 9:]
        if not self.training:  # What hardly moves is exactly still.
            go = go * (go > _STILL)
        drift = torch.zeros(())
        if chance is not None:
            noise = torch.randn(len(points), 3, generator=chance)
            drift = (go > 0) * 1e-3 * unsure.clamp(-3, 3).exp() * noise
        move = go * (UNIT * said[:, :3] + share[:, :1] * shift) + drift
        rotation = rotvec_to_matrix(go * (_TURN * said[:, 3:6] + share[:, 1:] * turn))
        shift = move + (middle - middle @ rotation.mT)[:, 0]
        moved = points @ rotation.mT + shift[:, None]
        pose = rotation @ state.pose + torch.nn.functional.pad(shift[..., None], (3, 0))
        return PartState(moved, points, memory, pose), unsure

    def _told(
        self,
        place: Tensor,
        step: Tensor,
        way: Tensor,
        after: Tensor,
        distance: Tensor,
        world: Tensor,
    ) -> Tensor:
        """Of points: see `contact_features`."""
        coarse = contact_features(place, step, way, after, distance, world)
        if not self.config.fine:
            return coarse
        return torch.cat([coarse, fine_contact_features(way, after, distance)], -1)

    def forward(self, windows: Windows, start: PartState) -> tuple[Tensor, Tensor]:
        """Where parts go when each is stepped through its window.

        Returns:
            [B, L, M, 3] m, and [B, L, 3] how unsure each step is; see `step`.
        """
        state, path, doubts = start, [], []
        for t in range(windows.robot.shape[1] - 1):
            state, unsure = self.step(
                state,
                windows.robot[:, t],
                windows.robot[:, t + 1],
                windows.others[:, t],
                windows.seconds,
                windows.felt[:, t : t + 2],
            )
            path.append(state.points)
            doubts.append(unsure)
        return torch.stack(path, 1), torch.stack(doubts, 1)


def _grip(opening: Tensor) -> Tensor:
    """[B, 5] what is told of the opening [B, 2] of a gripper; zeros if it is not known."""
    known = opening.isfinite().all(-1, keepdim=True)
    now, then = torch.where(known, opening, 0.0).split(1, -1)
    held = then / (then.abs() + _FIRM)
    return torch.cat([now, then, 5 * (then - now), held, known.to(now.dtype)], -1)


def _held_back(lag: Tensor) -> Tensor:
    """[B, 7] what is told of how far a hand is behind [B, 2, 3]; zeros if it is not known."""
    known = lag.isfinite().all(-1).all(-1, keepdim=True)
    lengths = torch.where(known[..., None], lag, 0.0).flatten(1) / _BEHIND
    return torch.cat([lengths / (1 + lengths.abs() / 4), known.to(lag.dtype)], -1)
