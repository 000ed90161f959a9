"""LumpedMass: four points with the mass, centre and inertia of a rigid part."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

# Corners of a tetrahedron: their mean is zero and their covariance one.
_CORNERS = np.array([[1.0, 1, 1], [1, -1, -1], [-1, 1, -1], [-1, -1, 1]])


class LumpedMass(NamedTuple):
    """L points that move with the kinetic energy of P mass points.

    Attributes:
        rest: [L, 3] m.
        weights: [L, T] how much each follows T frames.
        mass: [L] kg.
        spread: [P, L] the mass points as sums of lumps.
    """

    rest: np.ndarray
    weights: np.ndarray
    mass: np.ndarray
    spread: np.ndarray


def lump_masses(points: np.ndarray, weights: np.ndarray, mass: np.ndarray) -> LumpedMass:
    """Lumps of mass points [P, 3] (m) that follow frames by weights [P, T], of mass [P] (kg).

    Points that follow one frame alone, or none, are a rigid part: four equal masses at the corners
    of a tetrahedron have its mass, centre and inertia. Others stand for themselves.
    """
    alone = ((weights == 0) | (weights == 1)).all(1)
    kinds, kind = np.unique(weights[alone], axis=0, return_inverse=True)
    parts = [np.flatnonzero(alone)[kind.ravel() == i] for i in range(len(kinds))]
    parts = [part for part in parts if len(part) > len(_CORNERS)]
    others = np.setdiff1d(np.arange(len(points)), np.concatenate([[], *parts]))
    rest, follows, heavy = [points[others]], [weights[others]], [mass[others]]
    count = len(others) + 4 * len(parts)
    spread = np.zeros((len(points), count))
    spread[others, np.arange(len(others))] = 1
    for i, part in enumerate(parts):
        total = mass[part].sum()
        centre = mass[part] @ points[part] / total
        arms = points[part] - centre
        squares, axes = np.linalg.eigh((mass[part, None] * arms).T @ arms / total)
        radii = np.sqrt(np.maximum(squares, 0.0))
        rest.append(centre + (_CORNERS * radii) @ axes.T)
        follows.append(weights[part[:1]].repeat(4, 0))
        heavy.append(np.full(4, total / 4))
        seen = radii > 1e-9 * radii.max(initial=0.0)
        along = np.divide(arms @ axes, radii, out=np.zeros_like(arms), where=seen)
        first = len(others) + 4 * i
        spread[part, first : first + 4] = 0.25 * (1 + along @ _CORNERS.T)
    rest, follows, heavy = map(np.concatenate, (rest, follows, heavy))
    return LumpedMass(rest=rest, weights=follows, mass=heavy, spread=spread)
