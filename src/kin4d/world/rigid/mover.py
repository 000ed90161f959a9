"""Mover: how the robot moves what it touches, part by part and frame by frame.

A learned simulator of rigid parts. It sees points: those of the part, those of the robot now and in
the next frame, and what else is near. It says how the part moves meanwhile: some share of the
motion of the robot that is next to it, and something of its own. Everything is relative to where
the part is, so what was learned at one place holds at every other.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from itertools import pairwise

import torch
from torch import Tensor, nn

from kin4d.geometry.transforms import hat, rotvec_to_matrix
from kin4d.world.rigid.lesson import AWAY, Lesson, Windows

_UNIT = 0.05  # m: lengths are told to the network in these
_TURN = 0.3  # rad per frame at an output of one
_NEAR = 0.01  # m: how far the touch of the robot reaches
_SLACK = 0.002  # m: errors well below this hardly count
_STILL = 0.03  # share of a motion below which a part does not move at all
_MOVES = 0.01  # m from first frame to last that make a part one that moves
_POINT = 3 + 3 + 3 + 3 + 2
_GLOBAL = 6 + 6 + 3 + 3 + 2


@dataclass(frozen=True, kw_only=True)
class MoverConfig:
    """Sizes of a mover.

    Attributes:
        width: Numbers per point.
        memory: Numbers that a part remembers from frame to frame.
        robot: Nearest points of the robot that are looked at.
        others: Nearest points of everything else.
    """

    width: int = 96
    memory: int = 128
    robot: int = 64
    others: int = 40

    def to_dict(self) -> dict[str, int]:
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


class Mover(nn.Module):
    """Steps parts from one frame to the next.

    Args:
        config: Sizes.
    """

    def __init__(self, config: MoverConfig) -> None:
        super().__init__()
        self.config = config
        width = config.width
        self.look = nn.ModuleList(
            nn.Sequential(nn.Linear(_POINT, width), nn.SiLU(), nn.Linear(width, width), nn.SiLU())
            for _ in range(3)
        )
        self.join = nn.Sequential(nn.Linear(6 * width + _GLOBAL, 256), nn.SiLU())
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
        chance: torch.Generator | None = None,
    ) -> tuple[PartState, Tensor]:
        """One frame on.

        Args:
            state: Now.
            robot: [B, N, 3] m: the robot's points now.
            robot_next: [B, N, 3] m: and in the next frame.
            others: [B, S, 3] m: what else there is.
            seconds: [B] between the frames.
            chance: Lets what is unsure vary; the likeliest motion if None.

        Returns:
            The state in the next frame, and [B, 3] how unsure the shift of its middle is: the
            logarithm of a standard deviation in millimetres.
        """
        points = state.points
        middle = points.mean(1, keepdim=True)
        with torch.no_grad():
            robot, robot_next, touch, distance = _nearest(
                points, self.config.robot, robot, robot_next
            )
            rest, _, away, far = _nearest(points, self.config.others, others, others)
            after = _towards(points, robot_next)
            steps = robot_next - robot
            shift, turn = _carried(robot - middle, steps, distance)
        own = points - state.before
        pools = []
        for look, features in zip(
            self.look,
            (
                _features(robot - middle, steps, touch, after, distance, robot),
                _features(rest - middle, rest * 0, away, away, far, rest),
                _features(points - middle, own, own, points * 0, own.norm(dim=-1), points),
            ),
            strict=True,
        ):
            seen = look(features)
            pools += [seen.amax(1), seen.mean(1)]
        spread = (points - middle).square().mean(1).sqrt()
        # How the part moved last, and how the robot beside it is about to.
        known = torch.cat(
            [
                own.mean(1) / _UNIT,
                torch.linalg.cross(points - middle, own).mean(1) / _UNIT**2,
                shift / _UNIT,
                turn / _TURN,
                spread / _UNIT,
                middle[:, 0] * torch.tensor([0.0, 0.0, 1.0]) / _UNIT,
                seconds[:, None] * 5,
                distance.amin(1, keepdim=True) / _UNIT,
            ],
            -1,
        )
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
        move = go * (_UNIT * said[:, :3] + share[:, :1] * shift) + drift
        rotation = rotvec_to_matrix(go * (_TURN * said[:, 3:6] + share[:, 1:] * turn))
        shift = move + (middle - middle @ rotation.mT)[:, 0]
        moved = points @ rotation.mT + shift[:, None]
        pose = rotation @ state.pose + torch.nn.functional.pad(shift[..., None], (3, 0))
        return PartState(moved, points, memory, pose), unsure

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
            )
            path.append(state.points)
            doubts.append(unsure)
        return torch.stack(path, 1), torch.stack(doubts, 1)

    @torch.no_grad()
    def roll(
        self,
        track: Tensor,
        parts: Tensor,
        others: Tensor,
        owner: Tensor,
        seconds: float,
        chance: torch.Generator | None = None,
    ) -> Tensor:
        """[T, P, 3, 4]: how parts move while the robot does what it does.

        Args:
            track: [T, N, 3] m: the robot's points, in the frame of its base.
            parts: [P, M, 3] m: where the parts' points are at first.
            others: [S, 3] m: all that is seen besides the robot, at first.
            owner: [S] the part each of these belongs to, -1 for the room.
            seconds: Between frames.
            chance: Of one of many futures; the likeliest one if None.
        """
        count = len(parts)
        state, still = self.begin(parts), torch.eye(3, 4)[None]
        mine = owner[None] == torch.arange(count)[:, None]
        poses = [state.pose]
        for now, then in pairwise(track):
            placed = _placed(torch.cat([state.pose, still])[owner], others[:, None])[:, 0]
            around = torch.where(mine[..., None], AWAY, placed[None])
            state, _ = self.step(
                state,
                now.expand(count, -1, -1),
                then.expand(count, -1, -1),
                around,
                torch.full((count,), seconds),
                chance,
            )
            poses.append(state.pose)
        return torch.stack(poses)


def mover_loss(
    model: nn.Module, windows: Windows, done: float, *, noise: float = 0.002
) -> tuple[Tensor, dict[str, Tensor]]:
    """How far points are from where they went, in units of `_SLACK`, robustly.

    Parts begin `noise` m from where they were: the mover will have to live with its own errors.
    """
    path = _placed(
        windows.poses.flatten(0, 1), windows.part.repeat_interleave(windows.length + 2, 0)
    )
    path = path.unflatten(0, (len(windows.part), -1))
    off = noise * torch.randn(len(path), 1, 1, 3)
    path = path + off
    before = path[:, 0] + 0.3 * noise * torch.randn(len(path), 1, 3)
    mover: Mover = model.module if hasattr(model, "module") else model  # pyright: ignore
    told, unsure = model(windows, mover.begin(path[:, 1], before))
    error = (told - path[:, 2:]).norm(dim=-1).mean(-1)
    loss = (1 + (error / _SLACK).square()).sqrt() - 1
    moved = (path[:, -1] - path[:, 1]).norm(dim=-1).mean(-1)
    # How unsure it is has to fit how wrong its steps are, and changes nothing else.
    middles = torch.cat([path[:, 1:2], told], 1).mean(2)
    off = 1000 * (middles.diff(dim=1) - path[:, 1:].mean(2).diff(dim=1)).detach()
    doubt = (0.5 * (off * (-unsure).exp()).square() + unsure).clamp(max=50).mean()
    return loss.mean() + 0.01 * doubt, {
        "mm": 1000 * error[:, -1].mean(),
        "doubt": doubt,
        "moved_mm": 1000 * moved.mean(),
    }


@torch.no_grad()
def judge_mover(mover: Mover, lessons: Sequence[Lesson]) -> dict[str, float]:
    """Whole episodes from the first frame alone: how far parts end from where they ended.

    `ratio` is the error of parts that move, as a share of how far they move, on average; `still_mm`
    is how far parts are moved that stay where they are.
    """
    errors, moves = [], []
    for one in lessons:
        told = mover.roll(*one.tensors(), one.seconds)[-1]
        points = torch.from_numpy(one.parts)
        true = _placed(torch.from_numpy(one.motions[-1].copy()), points)
        errors.append((_placed(told, points) - true).norm(dim=-1).mean(-1))
        moves.append((true - points).norm(dim=-1).mean(-1))
    error, move = torch.cat(errors), torch.cat(moves)
    moving = move > _MOVES
    return {
        "ratio": float(error[moving].mean() / move[moving].mean()),
        "mm": float(1000 * error[moving].mean()),
        "still_mm": float(1000 * error[~moving].mean()),
    }


def _placed(poses: Tensor, points: Tensor) -> Tensor:
    """Points [B, M, 3] carried by poses [B, 3, 4]."""
    return points @ poses[..., :3].mT + poses[..., None, :, 3]


def _towards(points: Tensor, others: Tensor) -> Tensor:
    """[B, N, 3]: from each of others [B, N, 3] to the nearest of points [B, M, 3]."""
    nearest = torch.cdist(others, points).argmin(-1)
    return points.gather(1, nearest[..., None].expand(-1, -1, 3)) - others


def _nearest(
    points: Tensor, count: int, others: Tensor, later: Tensor
) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """Of others [B, N, 3] those next to points: they, where they are later, the way, how far."""
    apart = torch.cdist(others, points)
    far, nearest = apart.min(-1)
    distance, chosen = far.topk(min(count, far.shape[1]), largest=False, sorted=False)
    rows = chosen[..., None].expand(-1, -1, 3)
    here = others.gather(1, rows)
    target = points.gather(1, nearest.gather(1, chosen)[..., None].expand(-1, -1, 3))
    return here, later.gather(1, rows), target - here, distance


def _features(
    place: Tensor, step: Tensor, way: Tensor, after: Tensor, distance: Tensor, world: Tensor
) -> Tensor:
    """[B, N, 14] what a network is told of points."""
    lengths = torch.cat([place, step, way, after], -1) / _UNIT
    # What is many lengths away matters no more the farther it is.
    lengths = lengths / (1 + lengths.abs() / 8)
    closeness = (-distance / _NEAR).exp()
    return torch.cat([lengths, closeness[..., None], world[..., 2:] / _UNIT / 4], -1)


def _carried(place: Tensor, steps: Tensor, distance: Tensor) -> tuple[Tensor, Tensor]:
    """Shift [B, 3] m and turn [B, 3] rad of the origin, if it moved with the points next to it.

    Args:
        place: [B, N, 3] m.
        steps: [B, N, 3] m.
        distance: [B, N] m: how far each is; near ones count.
    """
    weight = (-(distance - distance.amin(1, keepdim=True)) / _NEAR).softmax(1)[..., None]
    middle, mean = (weight * place).sum(1, keepdim=True), (weight * steps).sum(1, keepdim=True)
    arm, swing = place - middle, steps - mean
    cross = hat(arm)
    inertia = -(weight[..., None] * (cross @ cross)).sum(1)
    eye = torch.eye(3, dtype=place.dtype)
    momentum = (weight * torch.linalg.cross(arm, swing)).sum(1)
    turn = torch.linalg.solve(inertia + 3e-5 * eye, momentum)
    shift = mean[:, 0] + torch.linalg.cross(turn, -middle[:, 0])
    return shift, turn
