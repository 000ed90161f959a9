"""Mechanism: points on links as they are now, and the joints that move them from here.

Truth and prediction are compared as mechanisms of the same points: can one make the motions of the
other?
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from kin4d.objects.piece_object import LinkJoints


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

    def moved(self, q: np.ndarray) -> np.ndarray:
        """[P, 3] at coordinates q [k]."""
        motions = self.joints.motions(self.joints.values(q))[self.link]
        return np.einsum("pab,pb->pa", motions[:, :3, :3], self.points) + motions[:, :3, 3]

    def jacobian(self, q: np.ndarray) -> np.ndarray:
        """[P, 3, k] d moved / dq."""
        joints = self.joints
        motions = joints.motions(joints.values(q))
        points = self.moved(q)
        out = np.zeros((len(points), 3, len(joints)))
        carried = joints.carried[self.link]
        for row in range(len(joints)):
            above = motions[joints.parent[row]]
            axis = above[:3, :3] @ joints.axis[row]
            own = carried[:, row]
            if joints.slides[row]:
                out[own, :, row] = axis
            else:
                pivot = above[:3, :3] @ joints.pivot[row] + above[:3, 3]
                out[own, :, row] = np.cross(axis, points[own] - pivot)
        free = joints.free
        summed = np.zeros((len(points), 3, len(free)))
        for column, leader in enumerate(free):
            followers = joints.leader == leader
            summed[..., column] = out[..., followers] @ joints.factor[followers]
        return summed

    def unlimited(self) -> Mechanism:
        """With ranges that no motion exceeds."""
        wide = np.where(self.joints.slides, 1e3, 2 * np.pi)
        return replace(self, joints=replace(self.joints, limits=np.stack([-wide, wide], 1)))

    def full_motion(self, column: int) -> np.ndarray:
        """[P, 3] where points go when one coordinate moves them farthest within its limits."""
        low, high = self.limits[column]
        joint = self.coordinates[column]
        values = [low, high]
        if not self.joints.slides[joint]:
            values += [value for value in (-np.pi, np.pi) if low < value < high]
        q = np.zeros((len(values), len(self.coordinates)))
        q[:, column] = values
        moved = [self.moved(row) for row in q]
        return max(moved, key=lambda x: float(np.square(x - self.points).sum()))


def residual(mechanism: Mechanism, target: np.ndarray, weight: np.ndarray) -> float:
    """Least weighted rms distance to target [P, 3] (m) over the states of a mechanism.

    Each coordinate alone is scanned first; damped Gauss-Newton steps follow from the best.
    """
    limits = mechanism.limits
    width = len(limits)
    q = np.zeros(width)

    def error(state: np.ndarray) -> float:
        return float((weight * np.square(mechanism.moved(state) - target).sum(1)).sum())

    best = error(q)
    if width == 0:
        return float(np.sqrt(best / weight.sum()))
    for column, (low, high) in enumerate(limits):
        span = (max(low, -2 * np.pi), min(high, 2 * np.pi))
        for value in np.linspace(*span, 13):
            state = np.zeros(width)
            state[column] = value
            found = error(state)
            if found < best:
                best, q = found, state
    damping = 1e-3
    root = np.sqrt(weight)[:, None]
    for _ in range(30):
        jacobian = (mechanism.jacobian(q) * root[..., None]).reshape(-1, width)
        miss = ((target - mechanism.moved(q)) * root).ravel()
        normal = jacobian.T @ jacobian
        scale = np.diag(normal) + 1e-12 * max(np.trace(normal), 1e-30)
        step = np.linalg.solve(normal + damping * np.diag(scale) + 1e-15 * np.eye(width), jacobian.T @ miss)
        state = np.clip(q + step, limits[:, 0], limits[:, 1])
        found = error(state)
        if found < best * (1 - 1e-6):
            q, best, damping = state, found, damping * 0.3
        else:
            damping *= 10
            if damping > 1e4:
                break
    return float(np.sqrt(best / weight.sum()))
