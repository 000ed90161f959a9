"""Mechanism: points on links as they are now, and the joints that move them from here.

Truth and prediction are compared as mechanisms of the same points: can one make the motions of the
other?
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from kin4d.bodies.segmented import JointSpec
from kin4d.objects.piece_object import LinkJoints, endless_both_ways

_SCAN = 13  # values of a coordinate that are tried
_SWEEPS = 2  # over all coordinates
_STEPS = 30  # of Gauss-Newton, at most


@dataclass(frozen=True, eq=False)
class Mechanism:
    """Points on links, with all joints at zero.

    Attributes:
        points: [P, 3] m.
        link: [P] link of each; 0 never moves.
        joints: Of links 1, 2, ...; limits are from here.
    """

    points: np.ndarray
    link: np.ndarray
    joints: LinkJoints

    @property
    def coordinates(self) -> np.ndarray:
        """[k] the joints that are free."""
        return self.joints.free

    @property
    def limits(self) -> np.ndarray:
        """[k, 2] rad or m."""
        return self.joints.limits[self.joints.free]

    @property
    def carried(self) -> np.ndarray:
        """[P, k] bool: whether a point moves when a coordinate does, mimics included."""
        joints = self.joints
        drives = joints.leader[:, None] == joints.free
        return (joints.carried[self.link].astype(np.int64) @ drives.astype(np.int64)) > 0

    def moved(self, q: np.ndarray) -> np.ndarray:
        """[..., P, 3] at coordinates q [..., k]."""
        motions = self._motions(q)[..., self.link, :, :]
        turned = np.einsum("...pab,pb->...pa", motions[..., :3, :3], self.points)
        return turned + motions[..., :3, 3]

    def jacobian(self, q: np.ndarray) -> np.ndarray:
        """[P, 3, k] d moved / dq."""
        joints = self.joints
        motions = self._motions(q)
        above = motions[joints.parent]
        axis = np.einsum("jab,jb->ja", above[:, :3, :3], joints.axis)
        pivot = np.einsum("jab,jb->ja", above[:, :3, :3], joints.pivot) + above[:, :3, 3]
        own = motions[self.link]
        points = np.einsum("pab,pb->pa", own[:, :3, :3], self.points) + own[:, :3, 3]
        turning = np.cross(axis, points[:, None] - pivot)
        out = np.where(joints.slides[:, None], axis, turning)
        out = out * joints.carried[self.link][..., None] * joints.factor[:, None]
        drives = joints.leader[:, None] == joints.free
        return np.einsum("pja,jk->pak", out, drives.astype(np.float64))

    def unlimited(self) -> Mechanism:
        """With ranges that no motion exceeds."""
        size = float(np.ptp(self.points, axis=0).max(initial=0))
        wide = np.where(self.joints.slides[self.joints.leader], 4 * size, 2 * np.pi)
        return replace(self, joints=replace(self.joints, limits=np.stack([-wide, wide], 1)))

    def only(self, columns: np.ndarray) -> Mechanism:
        """With some of the coordinates; the joints of all others are fixed as they are now."""
        joints = self.joints
        keep = np.isin(joints.leader, joints.free[columns])
        number = np.cumsum(keep) - 1
        link = np.zeros(len(joints) + 1, np.int64)  # the kept link that each is part of
        for row, parent in enumerate(joints.parent):
            link[row + 1] = number[row] + 1 if keep[row] else link[parent]
        kept = LinkJoints(
            parent=link[joints.parent[keep]],
            slides=joints.slides[keep],
            pivot=joints.pivot[keep],
            axis=joints.axis[keep],
            limits=joints.limits[keep],
            leader=number[joints.leader[keep]],
            factor=joints.factor[keep],
            offset=joints.offset[keep],
        )
        return Mechanism(self.points, link[self.link], kept)

    def open_state(self) -> np.ndarray:
        """[k] every coordinate where it alone takes points farthest within its limits."""
        return np.array([self._farthest(column)[0] for column in range(len(self.coordinates))])

    def full_motion(self, column: int) -> np.ndarray:
        """[P, 3] where points go when one coordinate moves them farthest within its limits."""
        return self._farthest(column)[1]

    def _farthest(self, column: int) -> tuple[float, np.ndarray]:
        low, high = self.limits[column]
        values = np.array([high, low])
        if not self.joints.slides[self.coordinates[column]]:
            turns = np.array([np.pi, -np.pi])
            values = np.concatenate([values, turns[(turns > low) & (turns < high)]])
        q = np.zeros((len(values), len(self.coordinates)))
        q[:, column] = values
        moved = self.moved(q)
        far = np.square(moved - self.points).sum((1, 2))
        best = int(far.argmax())
        return float(values[best]), moved[best]

    def _motions(self, q: np.ndarray) -> np.ndarray:
        """[..., J + 1, 4, 4] of the links."""
        joints = self.joints
        full = np.zeros((*q.shape[:-1], len(joints)))
        full[..., joints.free] = q
        values = full[..., joints.leader] * joints.factor + joints.offset
        skew = np.cross(joints.axis[:, None], np.eye(3)).transpose(0, 2, 1)
        sin, cos = np.sin(values)[..., None, None], np.cos(values)[..., None, None]
        turn = np.eye(3) + sin * skew + (1 - cos) * (skew @ skew)
        local = np.zeros((*values.shape, 4, 4))
        slides = joints.slides
        local[..., :3, :3] = np.where(slides[:, None, None], np.eye(3), turn)
        arm = joints.pivot - np.einsum("...jab,jb->...ja", local[..., :3, :3], joints.pivot)
        local[..., :3, 3] = np.where(slides[:, None], values[..., None] * joints.axis, arm)
        local[..., 3, 3] = 1.0
        out = np.empty((*q.shape[:-1], len(joints) + 1, 4, 4))
        out[..., 0, :, :] = np.eye(4)
        for row, parent in enumerate(joints.parent):
            np.matmul(out[..., parent, :, :], local[..., row, :, :], out=out[..., row + 1, :, :])
        return out


def joints_of_specs(specs: tuple[JointSpec, ...]) -> tuple[LinkJoints, np.ndarray]:
    """The joints of a predicted body, parents first, and [J + 1] the new number of each part."""
    order: list[int] = []
    while len(order) < len(specs):
        ready = [
            i
            for i, spec in enumerate(specs)
            if i not in order and (spec.parent == 0 or spec.parent - 1 in order)
        ]
        if not ready:
            raise ValueError("joints go round in a circle")
        order += ready
    number = np.zeros(len(specs) + 1, np.int64)
    number[np.array(order, np.int64) + 1] = np.arange(1, len(specs) + 1)
    sorted_specs = [specs[i] for i in order]
    slides = np.array([spec.kind == "prismatic" for spec in sorted_specs], bool)
    limits = np.array([spec.limits for spec in sorted_specs], np.float64).reshape(-1, 2)
    joints = LinkJoints(
        parent=number[np.array([spec.parent for spec in sorted_specs], np.int64)],
        slides=slides,
        pivot=np.array([spec.point for spec in sorted_specs], np.float64).reshape(-1, 3),
        axis=np.array([spec.axis for spec in sorted_specs], np.float64).reshape(-1, 3),
        limits=endless_both_ways(limits, slides),
        leader=np.arange(len(specs)),
        factor=np.ones(len(specs)),
        offset=np.zeros(len(specs)),
    )
    return joints, number


def best_state(
    mechanism: Mechanism, target: np.ndarray, weight: np.ndarray
) -> tuple[np.ndarray, float]:
    """State [k] nearest to target [P, 3] (m), and its weighted rms distance (m).

    Coordinates that neither move a point of the target's motion nor share points with one that
    does stay at zero. The others are scanned one after the other, twice, each from the best so far;
    Gauss-Newton steps within the limits follow.
    """
    q = np.zeros(len(mechanism.coordinates))
    displacement = np.square(target - mechanism.points).sum(1)
    carried = mechanism.carried
    active = carried[displacement > 1e-12 * max(displacement.max(initial=0), 1e-30)].any(0)
    if active.any():
        active |= carried[carried[:, active].any(1)].any(0)
        columns = np.flatnonzero(active)
        q[columns] = _nearest_state(mechanism.only(columns), target, weight)
    error = np.square(mechanism.moved(q) - target).sum(1)
    return q, float(np.sqrt((weight * error).sum() / weight.sum()))


def _nearest_state(mechanism: Mechanism, target: np.ndarray, weight: np.ndarray) -> np.ndarray:
    """[k] all coordinates of a mechanism."""
    limits, width = mechanism.limits, len(mechanism.limits)
    reach = 2 * float(np.ptp(mechanism.points, axis=0).max())
    slides = mechanism.joints.slides[mechanism.coordinates]
    span = np.where(slides, reach, 2 * np.pi)[:, None] * [-1.0, 1.0]
    span = np.clip(limits, span[:, :1], span[:, 1:])

    def error(state: np.ndarray) -> np.ndarray:
        return (weight * np.square(mechanism.moved(state) - target).sum(-1)).sum(-1)

    q = np.zeros(width)
    best = float(error(q))
    for _ in range(_SWEEPS):
        for column in range(width):
            states = np.tile(q, (_SCAN, 1))
            states[:, column] = np.linspace(span[column, 0], span[column, 1], _SCAN)
            found = error(states)
            if found.min() < best:
                best, q = float(found.min()), states[int(found.argmin())]
    damping, root = 1e-3, np.sqrt(weight)[:, None]
    for _ in range(_STEPS):
        jacobian = (mechanism.jacobian(q) * root[..., None]).reshape(-1, width)
        miss = ((target - mechanism.moved(q)) * root).ravel()
        slope = jacobian.T @ miss
        at_low = (q <= limits[:, 0]) & (slope < 0)
        at_high = (q >= limits[:, 1]) & (slope > 0)
        free = np.flatnonzero(~(at_low | at_high))
        if len(free) == 0 or best <= 1e-24:
            break
        normal = (jacobian.T @ jacobian)[np.ix_(free, free)]
        ridge = damping * np.diag(normal) + 1e-9 * max(np.trace(normal), 1e-20)
        step = np.zeros(width)
        step[free] = np.linalg.solve(normal + np.diag(ridge), slope[free])
        state = np.clip(q + step, limits[:, 0], limits[:, 1])
        found = float(error(state))
        if found < best:
            gain, q, best, damping = best - found, state, found, damping * 0.3
            if gain < 1e-6 * best:
                break
        else:
            damping *= 10
            if damping > 1e4:
                break
    return q
