"""Forward kinematics of a tree, compiled: few large operations on all configurations at once.

Every moving joint gets a frame whose z axis is the joint's axis, so that a joint only turns two
columns of it (revolute) or adds to one (prismatic). Constant parts, fixed joints included, are
multiplied out beforehand, and joints equally deep in the tree move together. Inside,
configurations are the last, fastest dim, and frames are the upper rows of poses: [3, 4, B].
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

from kin4d.bodies.body import require_coordinates
from kin4d.bodies.joint import Joint
from kin4d.bodies.joint_coupling import JointCoupling


class _Level(NamedTuple):
    """Joints that stand on equally many moving joints: revolute ones first, then prismatic."""

    rows: slice  # of the moving joints
    revolute: int
    parents: list[int]  # frames of the level above; empty at the root
    steps: Tensor  # [n, 1, 4, 4] constant transforms from those frames to the joints, transposed


class _Constants(NamedTuple):
    """Arrays of one dtype on one device; M moving joints."""

    scale: Tensor  # [M, 1]
    shift: Tensor  # [M, 1]
    coefficients: Tensor  # [n, M, 1]
    slopes: Tensor  # [n - 1, M, 1]
    levels: list[_Level]
    still: Tensor  # [S, 3, 4, 1] frames of links that never move
    derived: Tensor  # [D, 1, 4, 4] transposed constant transforms of links that are no joint frames
    bottom: Tensor  # [1, 4, 1] the last row of every pose
    moves: Tensor  # [L * k, M] whether a joint moves a link, for the coordinate that drives it
    sliding: Tensor  # [M, 1, 1] 1 where a joint is prismatic


class ForwardKinematics:
    """Compiled kinematics of a tree with J joints, M of them moving, and L links.

    Args:
        joints: All joints.
        parents: Each link's (parent link, joint) positions; (-1, -1) for the root.
        order: Links, parents before children.
        root: [4, 4] world pose of the root link.
        drive: How the coordinates drive the joints.
        width: Number of coordinates, k.
    """

    def __init__(
        self,
        joints: Sequence[Joint],
        parents: Sequence[tuple[int, int]],
        order: Sequence[int],
        *,
        root: np.ndarray,
        drive: JointCoupling,
        width: int,
    ) -> None:
        link_frame, offset, step, depth, ancestors = _walk(joints, parents, order, root)
        moving = sorted(step, key=lambda j: (depth[j], joints[j].kind != "revolute", j))
        position = {joint: i for i, joint in enumerate(moving)}
        levels = []
        for level in sorted(set(depth.values())):
            here = [joint for joint in moving if depth[joint] == level]
            first = position[here[0]]
            above = levels[-1].rows.start if levels else 0
            stands_on = [position[step[joint][0]] - above for joint in here] if level else []
            levels.append(
                _Level(
                    slice(first, first + len(here)),
                    sum(joints[joint].kind == "revolute" for joint in here),
                    stands_on,
                    torch.from_numpy(np.stack([step[joint][1].T for joint in here])[:, None]),
                )
            )
        # Each link is a still pose, a joint's frame as it is, or a constant step from one.
        self._pick: list[tuple[str, int]] = []
        still, derived, self._derived_from = [], [], []
        for link, frame in enumerate(link_frame):
            if frame < 0:
                self._pick.append(("still", len(still)))
                still.append(offset[link][:3])
            elif np.array_equal(offset[link], np.eye(4)):
                self._pick.append(("frame", position[frame]))
            else:
                self._pick.append(("derived", len(derived)))
                self._derived_from.append(position[frame])
                derived.append(offset[link].T)
        moves = np.zeros((len(parents), width, len(moving)))
        for link, above in enumerate(ancestors):
            for joint in above:
                moves[link, drive.column[joint], position[joint]] = 1.0
        rows = np.array(moving, np.int64)
        self._column = torch.from_numpy(drive.column[rows])
        # Where each joint's value is among the moving ones; M stands for a fixed joint's zero.
        self._value_of = [position.get(joint, len(moving)) for joint in range(len(joints))]
        self._links, self._width = len(parents), width
        exact = _Constants(
            scale=torch.from_numpy(drive.scale[rows, None]),
            shift=torch.from_numpy(drive.shift[rows, None]),
            coefficients=torch.from_numpy(drive.coefficients[rows].T[..., None].copy()),
            slopes=torch.from_numpy(drive.slopes[rows].T[..., None].copy()),
            levels=levels,
            still=torch.from_numpy(np.array(still).reshape(-1, 3, 4, 1)),
            derived=torch.from_numpy(np.array(derived).reshape(-1, 1, 4, 4)),
            bottom=torch.tensor([0.0, 0.0, 0.0, 1.0], dtype=torch.float64)[None, :, None],
            moves=torch.from_numpy(moves.reshape(len(parents) * width, len(moving))),
            sliding=torch.tensor(
                [[[float(joints[j].kind == "prismatic")]] for j in moving]
            ).double(),
        )
        self._constants = {(torch.float64, torch.device("cpu")): exact}

    def values(self, q: Tensor) -> Tensor:
        """[..., J] values of all joints at q [..., k]; zero for fixed ones."""
        flat = _flat(q, self._width)
        values = self._values(flat, self._of(q))
        padded = torch.cat([values, flat.new_zeros((1, flat.shape[1]))])
        return padded[self._value_of].mT.reshape(*q.shape[:-1], len(self._value_of))

    def poses(self, q: Tensor) -> Tensor:
        """[..., L, 4, 4] world poses of the links at q [..., k]."""
        flat, constants = _flat(q, self._width), self._of(q)
        poses = self._poses(self._frames(flat, constants), constants, flat.shape[1])
        return poses.permute(3, 0, 1, 2).reshape(*q.shape[:-1], self._links, 4, 4)

    def poses_and_twists(self, q: Tensor) -> tuple[Tensor, Tensor]:
        """`poses`, and [..., L, 6, k]: each link's velocity per unit of each coordinate.

        In world axes. The first three rows are the velocity of the link's material at the world's
        origin, the last three its angular velocity: a point x of the link moves at v + w x x.
        """
        flat, constants = _flat(q, self._width), self._of(q)
        frames = self._frames(flat, constants)
        poses = self._poses(frames, constants, flat.shape[1]).permute(3, 0, 1, 2)
        twists = self._twists(frames, flat, constants).permute(3, 0, 2, 1)
        batch = (*q.shape[:-1], self._links)
        return poses.reshape(*batch, 4, 4), twists.reshape(*batch, 6, self._width)

    def pose_derivatives(self, q: Tensor) -> Tensor:
        """[..., L, 4, 4, k]: d poses / dq."""
        flat, constants = _flat(q, self._width), self._of(q)
        frames = self._frames(flat, constants)
        poses = self._poses(frames, constants, flat.shape[1])[:, None, :3]
        velocity, angular = self._twists(frames, flat, constants)[:, :, :, None].split(3, 2)
        moved = torch.linalg.cross(angular.expand(-1, -1, -1, 4, -1), poses, dim=2)
        moved = torch.cat([moved[:, :, :, :3], moved[:, :, :, 3:] + velocity], 3)
        full = torch.cat([moved, torch.zeros_like(moved[:, :, :1])], 2)
        return full.permute(4, 0, 2, 3, 1).reshape(*q.shape[:-1], self._links, 4, 4, self._width)

    def _of(self, q: Tensor) -> _Constants:
        """The constants in q's dtype and on its device."""
        key = (q.dtype, q.device)
        if key not in self._constants:
            exact = self._constants[torch.float64, torch.device("cpu")]
            # Tensors made in inference mode would be of no use to autograd later.
            with torch.inference_mode(False):
                levels = [
                    level._replace(steps=level.steps.to(q.device, q.dtype))
                    for level in exact.levels
                ]
                arrays = {
                    name: value.to(q.device, q.dtype)
                    for name, value in exact._asdict().items()
                    if name != "levels"
                }
            self._constants[key] = _Constants(levels=levels, **arrays)
        return self._constants[key]

    def _values(self, flat: Tensor, constants: _Constants) -> Tensor:
        """[M, B] values of the moving joints."""
        if not len(self._column):
            return flat.new_zeros((0, flat.shape[1]))
        s = torch.addcmul(constants.shift, constants.scale, flat[self._column])
        return _chebyshev(constants.coefficients, s)

    def _frames(self, flat: Tensor, constants: _Constants) -> list[Tensor]:
        """M joint frames [3, 4, B] at flat q [k, B]."""
        values = self._values(flat, constants)
        sine, cosine = values.sin()[:, None, None], values.cos()[:, None, None]
        values = values[:, None, None]
        frames: list[Tensor] = []
        above = values
        for rows, revolute, parents, steps in constants.levels:
            if parents:
                # A chain stands on the level above as it is; branches pick their frames from it.
                if parents != list(range(len(above))):
                    above = torch.stack([above[i] for i in parents])
                start = steps @ above
            else:
                start = steps.mT[:, 0, :3, :, None].expand(-1, -1, -1, flat.shape[1])
            moved = []
            if revolute:
                angular, c, s = start[:revolute], cosine[rows][:revolute], sine[rows][:revolute]
                x, y, rest = angular.split([1, 1, 2], 2)
                x, y = torch.addcmul(x * c, y, s), torch.addcmul(y * c, x, s, value=-1)
                moved.append(torch.cat([x, y, rest], 2))
            if revolute < len(start):
                sliding, along = start[revolute:], values[rows][revolute:]
                origin = torch.addcmul(sliding[:, :, 3:], along, sliding[:, :, 2:3])
                moved.append(torch.cat([sliding[:, :, :3], origin], 2))
            above = moved[0] if len(moved) == 1 else torch.cat(moved)
            frames += above.unbind()
        return frames

    def _poses(self, frames: list[Tensor], constants: _Constants, count: int) -> Tensor:
        """[L, 4, 4, B] link poses."""
        sources = {
            "still": constants.still.expand(-1, -1, -1, count).unbind(),
            "frame": frames,
            "derived": (),
        }
        if self._derived_from:
            origins = torch.stack([frames[i] for i in self._derived_from])
            sources["derived"] = (constants.derived @ origins).unbind()
        bottom = constants.bottom.expand(-1, -1, count)
        rows = [row for kind, i in self._pick for row in (sources[kind][i], bottom)]
        return torch.cat(rows).unflatten(0, (-1, 4))

    def _twists(self, frames: list[Tensor], flat: Tensor, constants: _Constants) -> Tensor:
        """[L, k, 6, B]."""
        if not frames:
            return flat.new_zeros((self._links, self._width, 6, flat.shape[1]))
        axis, origin = torch.stack([frame[:, 2:] for frame in frames]).unbind(2)
        s = torch.addcmul(constants.shift, constants.scale, flat[self._column])
        axis = axis * _chebyshev(constants.slopes, s)[:, None]
        slides = constants.sliding
        linear = torch.linalg.cross(origin, axis, dim=1) * (1 - slides) + axis * slides
        screws = torch.cat([linear, axis * (1 - slides)], 1)
        return (constants.moves @ screws.flatten(1)).reshape(self._links, self._width, 6, -1)


def _walk(
    joints: Sequence[Joint],
    parents: Sequence[tuple[int, int]],
    order: Sequence[int],
    root: np.ndarray,
) -> tuple[list[int], list, dict[int, tuple[int, np.ndarray]], dict[int, int], list]:
    """Fold all constant transforms together.

    Returns, per link: the moving joint it hangs on (-1 for none), its pose in that joint's z-frame
    (or in the world) and all moving joints above it; per moving joint: the moving joint it stands
    on with the constant step from there, and its depth in moving joints.
    """
    frame, offset, above = [-1] * len(parents), [root] * len(parents), [[]] * len(parents)
    step: dict[int, tuple[int, np.ndarray]] = {}
    depth: dict[int, int] = {}
    for link in order:
        parent, j = parents[link]
        if parent < 0:
            continue
        start = offset[parent] @ joints[j].origin
        if joints[j].kind == "fixed":
            frame[link], offset[link], above[link] = frame[parent], start, above[parent]
            continue
        align = _z_to(joints[j].axis)
        step[j] = (frame[parent], start @ align)
        depth[j] = len(above[parent])
        frame[link], offset[link], above[link] = j, align.T, [*above[parent], j]
    return frame, offset, step, depth, above


def _z_to(axis: np.ndarray) -> np.ndarray:
    """[4, 4] rotation that takes z to `axis`."""
    out = np.eye(4)
    if not np.array_equal(axis, (0.0, 0.0, 1.0)):
        helper = np.eye(3)[np.abs(axis).argmin()]
        x = np.cross(helper, axis)
        x /= np.linalg.norm(x)
        out[:3, :3] = np.stack([x, np.cross(axis, x), axis], 1)
    return out


def _flat(q: Tensor, width: int) -> Tensor:
    """[..., k = width] to [k, B]."""
    require_coordinates(q, width)
    return q.reshape(q.shape[:-1].numel(), q.shape[-1]).mT


def _chebyshev(coefficients: Tensor, s: Tensor) -> Tensor:
    """sum_i coefficients[i] T_i(s), by Clenshaw's recurrence."""
    high = low = None
    for coefficient in coefficients[1:].flip(0).unbind():
        following = coefficient if low is None else coefficient + 2 * s * low
        high, low = low, following if high is None else following - high
    if low is None:
        return coefficients[0].expand_as(s)
    total = coefficients[0] + s * low
    return total if high is None else total - high
