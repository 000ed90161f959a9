"""Soft limits: the potential that turns a coordinate round before its bound, compiled."""

from __future__ import annotations

import numba
import numpy as np


@numba.njit(cache=True, error_model="numpy")
def barrier_slope(q, lower, upper, stiffness, softness):
    """First and second derivative of a soft limit's potential at q; zero inside the limits.

    A spring (`stiffness`) beyond each limit that sets in over a distance `softness`, so smoothly
    that steps of fourth order keep their order: V'' = stiffness P(3, x), P the regularised gamma
    function, x = 3 s / softness, s the distance beyond.
    """
    if q < lower:
        first, second = _set_in(3.0 * (lower - q) / softness)
        return -stiffness * softness / 3.0 * first, stiffness * second
    if q > upper:
        first, second = _set_in(3.0 * (q - upper) / softness)
        return stiffness * softness / 3.0 * first, stiffness * second
    return 0.0, 0.0


@numba.njit(cache=True, error_model="numpy")
def _set_in(x):
    """Integral of P(3, x) from 0, and P(3, x)."""
    fade = np.exp(-x)
    return x - 3.0 + fade * (3.0 + x * (2.0 + 0.5 * x)), 1.0 - fade * (1.0 + x * (1.0 + 0.5 * x))


@numba.njit(cache=True, error_model="numpy")
def barrier_energy(q, limits):
    """Potential of all soft limits [k, 4] at q [k], whose derivatives `barrier_slope` gives."""
    stored = 0.0
    for i in range(len(q)):
        lower, upper, stiffness, softness = limits[i]
        if q[i] < lower or q[i] > upper:
            x = 3.0 * max(lower - q[i], q[i] - upper) / softness
            left = np.exp(-x) * (6.0 + x * (3.0 + 0.5 * x))
            stored += stiffness * (softness / 3.0) ** 2 * (6.0 + x * (0.5 * x - 3.0) - left)
    return stored


@numba.njit(cache=True, error_model="numpy")
def limit_stiffness(q, limits):
    """[k] second derivatives of the potentials of soft limits [k, 4] at q [k]."""
    out = np.empty(len(q))
    for i in range(len(q)):
        lower, upper, stiffness, softness = limits[i]
        out[i] = barrier_slope(q[i], lower, upper, stiffness, softness)[1]
    return out
