"""Picking: which point of a shown surface the mouse is on."""

from __future__ import annotations

import numpy as np
import torch

from kin4d.bodies.body import Body
from kin4d.dynamics.contact.closest import closest_on_mesh
from kin4d.geometry.sampling import SurfaceSamples


def grab_point(body: Body, q: np.ndarray, point: np.ndarray) -> SurfaceSamples:
    """The surface point nearest to `point` [3] (m) while the body is at `q` [k]."""
    faces, weights = body.rest.faces, np.empty(3)
    face, _ = closest_on_mesh(np.asarray(point, np.float64), _vertices(body, q), faces, weights)
    return SurfaceSamples(face=np.array([face]), corners=faces[[face]], barycentric=weights[None])


def face_under_ray(
    body: Body, q: np.ndarray, origin: np.ndarray, direction: np.ndarray
) -> int | None:
    """The first triangle that a ray meets while the body is at `q` [k]; None if it misses.

    Möller and Trumbore's test, for all triangles at once; their back sides count too.
    """
    a, b, c = (_vertices(body, q)[corner] for corner in body.rest.faces.T)
    edge, other = b - a, c - a
    normal = np.cross(direction, other)
    determinant = np.einsum("fi,fi->f", edge, normal)
    with np.errstate(divide="ignore", invalid="ignore"):
        inverse = 1 / determinant
        offset = origin - a
        u = inverse * np.einsum("fi,fi->f", offset, normal)
        across = np.cross(offset, edge)
        v = inverse * (across @ direction)
        depth = inverse * np.einsum("fi,fi->f", other, across)
        hit = np.flatnonzero((u >= 0) & (v >= 0) & (u + v <= 1) & (depth > 0))
    return int(hit[depth[hit].argmin()]) if len(hit) else None


def _vertices(body: Body, q: np.ndarray) -> np.ndarray:
    with torch.no_grad():
        return body.vertices(torch.from_numpy(q)).numpy().astype(np.float64)
