"""Motions that can be written down, or integrated to the last digits, without any engine."""

from __future__ import annotations

import numpy as np
from scipy.integrate import solve_ivp
from scipy.special import ellipk

_EXACT = {"method": "DOP853", "rtol": 1e-12, "atol": 1e-12}


def double_pendulum(
    angles: np.ndarray,
    rates: np.ndarray,
    times: np.ndarray,
    *,
    length: float,
    gravity: float = 9.81,
) -> np.ndarray:
    """[T, 2] rad: angles of two equal point masses on equal rods (m), at `times` [T] (s).

    The second angle is relative to the first rod, as in `kin4d.bodies.analytic.pendulum`; the
    masses drop out. `angles` and `rates` [2] are the start (rad, rad/s).
    """

    def slope(_: float, state: np.ndarray) -> np.ndarray:
        first, second, first_rate, second_rate = state
        gap = first - second
        mass = np.array([[2.0, np.cos(gap)], [np.cos(gap), 1.0]])
        pull = np.array(
            [
                -(second_rate**2) * np.sin(gap) - 2 * gravity / length * np.sin(first),
                first_rate**2 * np.sin(gap) - gravity / length * np.sin(second),
            ]
        )
        return np.concatenate([[first_rate, second_rate], np.linalg.solve(mass, pull)])

    absolute = np.concatenate([np.cumsum(angles), np.cumsum(rates)])
    states = _solve(slope, absolute, times)[:, :2]
    return np.stack([states[:, 0], states[:, 1] - states[:, 0]], 1)


def spinning_body(moments: np.ndarray, spin: np.ndarray, times: np.ndarray) -> np.ndarray:
    """[T, 3, 3]: rotations of a free body from its start, by Euler's equations.

    Args:
        moments: [3] kg m², about the principal axes, which are the world's at the start.
        spin: [3] rad/s at the start.
        times: [T] s.
    """
    from scipy.spatial.transform import Rotation

    def slope(_: float, state: np.ndarray) -> np.ndarray:
        (w, *vector), omega = state[:4], state[4:]
        vector = np.array(vector)
        derivative = np.concatenate([[-vector @ omega], w * omega + np.cross(vector, omega)])
        return np.concatenate([derivative / 2, np.cross(moments * omega, omega) / moments])

    states = _solve(slope, np.concatenate([[1.0, 0, 0, 0], spin]), times)
    return Rotation.from_quat(states[:, :4], scalar_first=True).as_matrix()


def flip_time(moments: np.ndarray, spin: np.ndarray) -> float:
    """Seconds between two flips of a body that spins about its middle axis (Dzhanibekov).

    The spin about the middle axis is a Jacobi elliptic function of time; half its period is
    2 K(m) / rate, with K the complete elliptic integral (Landau and Lifshitz, Mechanics, §37).

    Args:
        moments: [3] kg m², ascending.
        spin: [3] rad/s at the start, about the same axes.
    """
    first, middle, last = moments
    energy = moments @ spin**2  # twice the kinetic energy
    squared = (moments**2) @ spin**2  # of the angular momentum
    if squared > energy * middle:
        rate = (last - middle) * (squared - energy * first) / (first * middle * last)
        share = (middle - first) * (energy * last - squared)
        share /= (last - middle) * (squared - energy * first)
    else:
        rate = (middle - first) * (energy * last - squared) / (first * middle * last)
        share = (last - middle) * (squared - energy * first)
        share /= (middle - first) * (energy * last - squared)
    return float(2 * ellipk(share) / np.sqrt(rate))


def sliding_distance(slope: float, friction: float, time: float, gravity: float = 9.81) -> float:
    """Metres a block slides from rest down a plane inclined by `slope` (rad); 0 if it sticks."""
    pull = gravity * (np.sin(slope) - friction * np.cos(slope))
    return float(0.5 * max(pull, 0.0) * time**2)


def bounce_heights(height: float, restitution: float, count: int) -> np.ndarray:
    """[count] m: how high a ball dropped from `height` rises after each bounce."""
    return height * restitution ** (2 * np.arange(1, count + 1))


def _solve(slope, start: np.ndarray, times: np.ndarray) -> np.ndarray:
    found = solve_ivp(slope, (times[0], times[-1]), start, t_eval=times, **_EXACT)
    return found.y.T
