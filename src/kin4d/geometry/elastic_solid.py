"""Stiffness of solids: linear tetrahedra, each strained and turned evenly."""

from __future__ import annotations

import numpy as np
from scipy.sparse import csr_matrix

from kin4d.errors import InputError
from kin4d.geometry.lattice import Lattice

_CURL = np.array([(1, 2), (2, 0), (0, 1)])  # turning about x is that of y towards z, ...


def solid_stiffness(lattice: Lattice, *, young: float, poisson: float) -> csr_matrix:
    """[3N, 3N] N/m: forces against small displacements (x, y, z of node 0, then of 1, ...).

    Cubes at the surface resist by the part of them that is inside.

    Args:
        lattice: Of the solid at rest.
        young: Pa.
        poisson: Ratio of sideways contraction; at 0.5 nothing gives way.
    """
    if not 0 <= poisson < 0.5:
        raise InputError("poisson of a solid", value=poisson, allowed=">= 0 and < 0.5")
    slopes, volumes = _slopes(lattice)
    strain = np.zeros((len(slopes), 6, 4, 3))  # [E, (xx, yy, zz, 2yz, 2zx, 2xy), corner, axis]
    for axis, (first, second) in enumerate(_CURL):
        strain[:, axis, :, axis] = slopes[:, :, axis]
        strain[:, 3 + axis, :, first] = slopes[:, :, second]
        strain[:, 3 + axis, :, second] = slopes[:, :, first]
    shear = young / (2 * (1 + poisson))
    law = np.diag([2 * shear] * 3 + [shear] * 3)
    law[:3, :3] += young * poisson / ((1 + poisson) * (1 - 2 * poisson))
    strain = strain.reshape(len(slopes), 6, 12)
    blocks = volumes[:, None, None] * (strain.transpose(0, 2, 1) @ law @ strain)
    index = (3 * lattice.tetrahedra[:, :, None] + np.arange(3)).reshape(-1, 12)
    rows, columns = (
        np.broadcast_to(at, blocks.shape) for at in (index[:, :, None], index[:, None])
    )
    size = 3 * len(lattice.nodes)
    return csr_matrix((blocks.ravel(), (rows.ravel(), columns.ravel())), shape=(size, size))


def solid_rotations(lattice: Lattice) -> csr_matrix:
    """[3N, 3N] rad/m: small rotations of the nodes, the mean of the tetrahedra around them."""
    slopes, volumes = _slopes(lattice)
    curl = np.zeros((len(slopes), 3, 4, 3))  # [E, axis of rotation, corner, axis]
    for axis, (first, second) in enumerate(_CURL):
        curl[:, axis, :, second] = 0.5 * slopes[:, :, first]
        curl[:, axis, :, first] = -0.5 * slopes[:, :, second]
    around = np.bincount(
        lattice.tetrahedra.ravel(), np.repeat(volumes, 4), minlength=len(lattice.nodes)
    )
    share = volumes[:, None] / around[lattice.tetrahedra]
    blocks = share[:, :, None, None, None] * curl[:, None]  # [E, node, rotation, corner, axis]
    rows = 3 * lattice.tetrahedra[:, :, None, None, None] + np.arange(3)[:, None, None]
    columns = 3 * lattice.tetrahedra[:, None, None, :, None] + np.arange(3)
    rows, columns = (np.broadcast_to(at, blocks.shape).ravel() for at in (rows, columns))
    size = 3 * len(lattice.nodes)
    return csr_matrix((blocks.ravel(), (rows, columns)), shape=(size, size))


def _slopes(lattice: Lattice) -> tuple[np.ndarray, np.ndarray]:
    """Gradients [E, 4, 3] (1/m) of the corners' hat functions, and volumes [E] (m³) inside."""
    corners = lattice.nodes[lattice.tetrahedra]
    edges = corners[:, 1:] - corners[:, :1]
    inner = np.linalg.inv(edges).transpose(0, 2, 1)
    slopes = np.concatenate([-inner.sum(1, keepdims=True), inner], 1)
    volumes = np.linalg.det(edges) / 6
    return slopes, volumes * np.repeat(lattice.filled, 5)
