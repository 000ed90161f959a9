"""SkinDistortion: how much of a surface a deformation stretches or crushes."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from kin4d.geometry.mesh import Mesh
from kin4d.geometry.mesh_ops import merge_vertices

FACTOR = 1.5
"""An edge is distorted if its length changes by more than this factor."""


@dataclass(frozen=True, eq=False, kw_only=True)
class SkinDistortion:
    """The edges of a surface at rest.

    Attributes:
        pairs: [E, 2] vertices.
        lengths: [E] m.
    """

    pairs: np.ndarray
    lengths: np.ndarray

    @classmethod
    def of(cls, mesh: Mesh) -> SkinDistortion:
        """Every edge once, also where vertices are doubled; edges without length are left out."""
        first, index = merge_vertices(mesh.vertices)
        faces = index[mesh.faces]
        pairs = np.concatenate([faces[:, [0, 1]], faces[:, [1, 2]], faces[:, [2, 0]]])
        pairs = first[np.unique(np.sort(pairs, axis=1), axis=0)]
        lengths = np.linalg.norm(mesh.vertices[pairs[:, 0]] - mesh.vertices[pairs[:, 1]], axis=1)
        real = lengths > 1e-9 * mesh.bbox_diagonal
        return cls(pairs=pairs[real], lengths=lengths[real])

    def share(self, vertices: np.ndarray) -> float:
        """The share of edges that are distorted at vertices [V, 3]."""
        now = np.linalg.norm(vertices[self.pairs[:, 0]] - vertices[self.pairs[:, 1]], axis=1)
        ratio = now / self.lengths
        return float(((ratio > FACTOR) | (ratio < 1 / FACTOR)).mean()) if len(ratio) else 0.0
