"""Modes: the vibration modes of elastically connected nodes, the softest first."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.sparse import csc_matrix, csr_matrix, diags
from scipy.sparse.linalg import eigsh
from scipy.spatial import KDTree

from kin4d.errors import InputError
from kin4d.geometry.sampling import farthest_points

_RIGID = 6


@dataclass(frozen=True, eq=False, kw_only=True)
class Modes:
    """Small vibrations of nodes.

    Attributes:
        nodes: [N, 3] m, at rest.
        masses: [N] kg.
        displacement: [N, 3, k] m; the largest of each mode is 1.
        spin: [N, 3, k] rad: rotations.
        stiffness: [k] J: the energy of mode i is 1/2 stiffness[i] q[i]².
        pinned: [N] bool: nodes that do not move.
    """

    nodes: np.ndarray
    masses: np.ndarray
    displacement: np.ndarray
    spin: np.ndarray
    stiffness: np.ndarray
    pinned: np.ndarray

    def subsample(self, count: int, *, seed: int = 0) -> Modes:
        """Modes of fewer nodes, each with the mass of all that are nearest to it."""
        if count >= len(self.nodes):
            return self
        chosen = []
        for group in (np.flatnonzero(self.pinned), np.flatnonzero(~self.pinned)):
            # What is held is seen to be held: it must not hang from two or three nodes.
            share = min(len(group), max(8, round(count * len(group) / len(self.nodes))))
            if share:
                chosen.append(group[farthest_points(self.nodes[group], share, seed=seed)])
        kept = np.concatenate(chosen)
        _, nearest = KDTree(self.nodes[kept]).query(self.nodes)
        return Modes(
            nodes=self.nodes[kept],
            masses=np.bincount(nearest, self.masses, minlength=len(kept)),
            displacement=self.displacement[kept],
            spin=self.spin[kept],
            stiffness=self.stiffness,
            pinned=self.pinned[kept],
        )


def vibration_modes(
    nodes: np.ndarray,
    masses: np.ndarray,
    stiffness: csc_matrix,
    rotation: csr_matrix,
    pinned: np.ndarray,
    count: int,
) -> Modes:
    """The softest modes of nodes [N, 3] under a stiffness [3N, 3N] (N/m)."""
    rigid_motions = 0 if pinned.any() else _RIGID
    largest = 3 * int((~pinned).sum()) - rigid_motions - 2
    if not 1 <= count <= largest:
        raise InputError(
            "cannot find so many modes",
            value=count,
            allowed=f"1 to {largest} for {len(nodes)} nodes",
        )
    free = np.repeat(~pinned, 3)
    mass = diags(np.repeat(masses, 3)[free], format="csc")
    inner = csc_matrix(stiffness[free][:, free])
    # Shifted below zero by about the softest mode, because rigid motions make it singular.
    shift = -_softness(nodes, masses, stiffness)
    start = np.random.default_rng(0).random(int(free.sum()))
    values, vectors = eigsh(inner, k=count + rigid_motions, M=mass, sigma=shift, v0=start)
    order = np.argsort(values)[rigid_motions:]
    shapes = np.zeros((3 * len(nodes), count))
    shapes[free] = vectors[:, order]
    spins = (rotation @ shapes).reshape(-1, 3, count)
    shapes = shapes.reshape(-1, 3, count)
    longest = np.linalg.norm(shapes, axis=1)
    peak = longest.argmax(0)
    sign = np.sign(shapes[peak, abs(shapes[peak, :, np.arange(count)]).argmax(1), np.arange(count)])
    scale = sign / longest.max(0)
    return Modes(
        nodes=np.array(nodes),
        masses=masses,
        displacement=shapes * scale,
        spin=spins * scale,
        stiffness=np.maximum(values[order], 0) * scale**2,
        pinned=pinned,
    )


def _softness(nodes: np.ndarray, masses: np.ndarray, stiffness: csc_matrix) -> float:
    """Roughly the first squared frequency (1/s²): that of bending the longest axis."""
    arms = nodes - np.average(nodes, axis=0, weights=masses)
    _, axes = np.linalg.eigh(np.einsum("n,ni,nj->ij", masses, arms, arms))
    along, across = arms @ axes[:, 2], arms @ axes[:, 0]
    bend = np.outer(along**2, axes[:, 0]) - 2 * np.outer(along * across, axes[:, 2])
    flat = bend.ravel()
    return float(flat @ (stiffness @ flat) / (masses @ np.square(bend).sum(1)))
