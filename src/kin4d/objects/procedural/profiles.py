"""Flat curves that parts are made from: closed outlines, counter-clockwise, and paths; metres."""

from __future__ import annotations

from functools import lru_cache

import numpy as np


@lru_cache(maxsize=256)
def unit_circle(sides: int) -> np.ndarray:
    """[N, 2] regular polygon of radius 1, starting on +x; read-only."""
    angle = np.arange(sides) * (2 * np.pi / sides)
    out = np.stack([np.cos(angle), np.sin(angle)], -1)
    out.flags.writeable = False
    return out


def ellipse(rx: float, ry: float, sides: int) -> np.ndarray:
    """[N, 2] ellipse about the origin."""
    return unit_circle(sides) * (rx, ry)


def superellipse(rx: float, ry: float, power: float, sides: int) -> np.ndarray:
    """[N, 2] |x/rx|^power + |y/ry|^power = 1: an ellipse at 2, nearly a rectangle at 8."""
    circle = unit_circle(sides)
    return np.sign(circle) * np.abs(circle) ** (2 / power) * (rx, ry)


def rectangle(width: float, height: float) -> np.ndarray:
    """[4, 2] about the origin."""
    return np.array([[-1, -1], [1, -1], [1, 1], [-1, 1]]) * (width / 2, height / 2)


def rounded_rectangle(width: float, height: float, radius: float, sides: int) -> np.ndarray:
    """[N, 2] about the origin, N = 4 * (sides // 4 + 1), with corners of `radius`."""
    if radius <= 0:
        return rectangle(width, height)
    # A corner of a few micrometres would have edges of no length.
    small = min(width, height)
    radius = min(max(radius, 0.003 * small), 0.499 * small)
    corner = _quarter(sides // 4)
    middle = np.array([[1, 1], [-1, 1], [-1, -1], [1, -1]]) * (
        width / 2 - radius,
        height / 2 - radius,
    )
    return (middle[:, None] + radius * corner).reshape(-1, 2)


@lru_cache(maxsize=64)
def _quarter(steps: int) -> np.ndarray:
    """[4, steps + 1, 2] the four quarters of a unit circle."""
    angle = np.arange(4)[:, None] * (np.pi / 2) + np.linspace(0, np.pi / 2, max(steps, 1) + 1)
    return np.stack([np.cos(angle), np.sin(angle)], -1)


def rectangle_by_angle(width: float, height: float, sides: int) -> np.ndarray:
    """[N, 2] points of a rectangle at the angles of `unit_circle`, its corners among them.

    Needs `sides` to be a multiple of 8. Matches a circle point by point, so a plate with a round
    hole can be lofted between the two.
    """
    square = unit_circle(sides)
    square = square / np.abs(square).max(-1, keepdims=True)
    return square * (width / 2, height / 2)


def arc(radius: float, start: float, stop: float, steps: int) -> np.ndarray:
    """[steps + 1, 2] open arc about the origin, angles in radians from +x."""
    angle = np.linspace(start, stop, steps + 1)
    return radius * np.stack([np.cos(angle), np.sin(angle)], -1)


def rounded_path(corners: np.ndarray, radius: float, steps: int) -> np.ndarray:
    """[N, D] open polyline through `corners` [C, D] with its bends rounded by quadratic curves."""
    corners = np.asarray(corners, np.float64)
    if len(corners) == 2:
        return corners
    pieces = [corners[:1]]
    t = np.linspace(0, 1, steps + 1)[:, None]
    for before, corner, after in zip(corners, corners[1:], corners[2:], strict=False):
        back, ahead = before - corner, after - corner
        length_back, length_ahead = np.linalg.norm(back), np.linalg.norm(ahead)
        cut = min(radius, 0.45 * length_back, 0.45 * length_ahead)
        a, b = corner + back * (cut / length_back), corner + ahead * (cut / length_ahead)
        pieces.append((1 - t) ** 2 * a + 2 * t * (1 - t) * corner + t**2 * b)
    return np.concatenate([*pieces, corners[-1:]])
