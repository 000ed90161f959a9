"""Closed loops of links: solved once, so that the joints in a loop follow the one that drives it.

A loop is cut at one point. For values over the driving joint's range, the other joints are found
that bring the two sides of the cut together. A Chebyshev polynomial through these values then
makes each of them a smooth function of the driving joint: a `Mimic`. Where closing the loop leaves
a choice (an underactuated finger), springs decide: they press some joints against their stops,
and those joints stay there.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import torch
from numpy.polynomial import chebyshev

from kin4d.bodies.articulated import ArticulatedBody
from kin4d.bodies.articulated_base import Link, transform_points
from kin4d.bodies.joint import Joint, Mimic
from kin4d.errors import InputError

_NODES = 33
_STEPS = 50
_TOLERANCE = 1e-4


@dataclass(frozen=True, eq=False)
class Loop:
    """Two points that must coincide: `points` [2, 3] (m), each in the frame of its link."""

    links: tuple[str, str]
    points: np.ndarray


def close_loops(
    links: Sequence[Link],
    joints: Sequence[Joint],
    loops: Sequence[Loop],
    *,
    driven: set[str],
    springs: Mapping[str, tuple[float, float]],
) -> tuple[list[Joint], float]:
    """Make the joints in loops follow.

    Args:
        links: All links.
        joints: All joints, those in loops still free.
        loops: What must be closed.
        driven: Joints that drive loops; a loop without one is driven by its first joint.
        springs: Stiffness and rest value of sprung joints.

    Returns:
        The joints, those in loops with a `Mimic`, and the worst gap left open, in metres.
    """
    if not loops:
        return list(joints), 0.0
    body = ArticulatedBody(links, joints)
    followers: dict[str, Mimic] = {}
    for group in _groups(body, loops, driven):
        followers.update(_solve(body, group, driven, springs))
    closed = [replace(joint, mimic=followers.get(joint.name, joint.mimic)) for joint in joints]
    return closed, _worst_gap(ArticulatedBody(links, closed), loops)


def _solve(
    body: ArticulatedBody,
    loops: Sequence[Loop],
    driven: set[str],
    springs: Mapping[str, tuple[float, float]],
) -> dict[str, Mimic]:
    """Functions of the driving joint for the other joints of loops that belong together."""
    by_name = {joint.name: joint for joint in body.joints}
    members = list(dict.fromkeys(name for loop in loops for name in _members(body, loop)))
    leaders = {_leader(by_name, n) for n in members if n in driven or by_name[n].mimic is not None}
    leaders = leaders or {members[0]}
    if len(leaders) > 1:
        raise InputError(
            f"closed loop through '{members[0]}' is driven by several joints",
            value=", ".join(sorted(leaders)),
            allowed="one driving joint per loop",
        )
    leader = by_name[leaders.pop()]
    if not np.isfinite(leader.limits).all():
        raise InputError(
            f"joint '{leader.name}' drives a closed loop and needs limits", value=leader.limits
        )
    free = [n for n in members if n != leader.name and n not in driven and not by_name[n].mimic]
    solver = _Solver(body, loops, leader.name, free)
    low, high = leader.limits
    nodes = chebyshev.chebpts2(_NODES)
    values = low + (nodes + 1) / 2 * (high - low)
    table = np.empty((_NODES, len(free)))
    middle = _NODES // 2
    balanced, stopped = solver.balance(values[middle], springs)
    for order in (range(middle, _NODES), range(middle, -1, -1)):
        guess = balanced
        for i in order:
            table[i] = guess = solver.close(values[i], guess, stopped)
    coefficients = chebyshev.chebfit(nodes, table, _NODES - 1)
    return {
        name: Mimic(leader.name, _trimmed(column), (low, high))
        for name, column in zip(free, coefficients.T, strict=True)
    }


class _Solver:
    """Finds the free joints of a loop for one value of the joint that drives it."""

    def __init__(
        self, body: ArticulatedBody, loops: Sequence[Loop], leader: str, free: Sequence[str]
    ) -> None:
        self.body, self.loops, self.free = body, loops, free
        self.leader = body.coordinates.index(leader)
        self.columns = [body.coordinates.index(name) for name in free]

    def gap(self, value: float, x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Gaps [3 * loops] (m) and their derivative by the free joints."""
        q = self.body.q0.clone()
        q[self.leader] = value
        q[self.columns] = torch.from_numpy(x)
        gaps, rows = [], []
        for loop in self.loops:
            ends, derivative = _ends(self.body, loop, q)
            gaps.append((ends[0] - ends[1]).numpy())
            rows.append((derivative[0] - derivative[1])[:, self.columns].numpy())
        return np.concatenate(gaps), np.concatenate(rows)

    def balance(
        self, value: float, springs: Mapping[str, tuple[float, float]]
    ) -> tuple[np.ndarray, np.ndarray]:
        """The free joints' values [n] where the springs balance, and which are at a limit [n]."""
        from scipy.optimize import least_squares

        start, (low, high) = (
            self.body.q0.numpy()[self.columns],
            self.body.limits[self.columns].T.numpy(),
        )
        pull, rest = np.array([springs.get(name, (0.0, 0.0)) for name in self.free]).T
        # Closing outweighs the springs by far; a faint pull to the start decides what is left.
        rest, pull = np.where(pull > 0, rest, start), np.sqrt(np.maximum(pull, 1e-8))

        def residual(x: np.ndarray) -> np.ndarray:
            return np.concatenate([1e4 * self.gap(value, x)[0], pull * (x - rest)])

        def derivative(x: np.ndarray) -> Any:
            return np.concatenate([1e4 * self.gap(value, x)[1], np.diag(pull)])

        found = least_squares(
            residual,
            np.clip(start, low + 1e-6, high - 1e-6),
            jac=derivative,  # pyright: ignore[reportArgumentType]
            bounds=(low, high),
            max_nfev=1000,
        ).x
        stop = np.where(found - low < high - found, low, high)
        stopped = np.abs(found - stop) < 1e-3
        return np.where(stopped, stop, found), stopped

    def close(self, value: float, guess: np.ndarray, stopped: np.ndarray) -> np.ndarray:
        """The values [n] near `guess` that close the loops, by Gauss-Newton steps."""
        found = guess.copy()
        for _ in range(_STEPS):
            gap, derivative = self.gap(value, found)
            step = np.linalg.lstsq(derivative[:, ~stopped], -gap, rcond=1e-8)[0]
            found[~stopped] += step
            if np.abs(step).max(initial=0.0) < 1e-12:
                break
        return found


def _ends(body: ArticulatedBody, loop: Loop, q: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """World positions [..., 2, 3] of a loop's two points and their derivatives [..., 2, 3, k]."""
    index = torch.tensor([body.link_index(name) for name in loop.links])
    local = torch.from_numpy(loop.points)
    return transform_points(body.link_poses(q), index, local), body.point_jacobian(q, index, local)


def _worst_gap(body: ArticulatedBody, loops: Sequence[Loop]) -> float:
    """Metres between the two points of a loop, at worst, over the whole range of coordinates."""
    low, high = body.limits.unbind(-1)
    low, high = (
        torch.where(low.isinf(), body.q0 - 3, low),
        torch.where(high.isinf(), body.q0 + 3, high),
    )
    q = low + torch.linspace(0, 1, 200, dtype=torch.float64)[:, None] * (high - low)
    worst = max(
        float((p[:, 0] - p[:, 1]).norm(dim=-1).max())
        for p in (_ends(body, loop, q)[0] for loop in loops)
    )
    if worst > _TOLERANCE:
        raise InputError(
            "a closed loop of links cannot be closed over the whole range of its driving joint",
            value=f"{worst:.1e} m open",
            allowed=f"up to {_TOLERANCE:.0e} m",
            hint="narrow the driving joint's limits to what the mechanism can reach",
        )
    return worst


def _members(body: ArticulatedBody, loop: Loop) -> list[str]:
    """The moving joints around a loop."""
    one, other = (body.joints_above(link) for link in loop.links)
    around = [body.joints[i] for i in (*one, *other) if i not in one or i not in other]
    moving = [joint.name for joint in around if joint.kind != "fixed"]
    if not moving:
        raise InputError(f"links '{loop.links[0]}' and '{loop.links[1]}' are joined but rigid")
    return moving


def _groups(body: ArticulatedBody, loops: Sequence[Loop], driven: set[str]) -> list[list[Loop]]:
    """Loops that share a joint which is not driven must be solved together."""
    groups: list[tuple[set[str], list[Loop]]] = []
    for loop in loops:
        names, together = set(_members(body, loop)) - driven, [loop]
        for group in [group for group in groups if group[0] & names]:
            groups.remove(group)
            names |= group[0]
            together = [*group[1], *together]
        groups.append((names, together))
    return [together for _, together in groups]


def _leader(by_name: Mapping[str, Joint], name: str) -> str:
    while (mimic := by_name[name].mimic) is not None:
        name = mimic.leader
    return name


def _trimmed(coefficients: np.ndarray) -> np.ndarray:
    """Without trailing terms below a nanometre or nanoradian."""
    kept = np.flatnonzero(np.abs(coefficients) > 1e-9)
    return coefficients[: max(2, int(kept[-1]) + 1 if len(kept) else 2)]
