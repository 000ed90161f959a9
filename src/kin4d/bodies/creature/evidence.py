"""ShapeEvidence: what a shape alone says about whether it bends like an animal."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from kin4d.bodies.creature.build import CreatureConfig, CreatureShape
from kin4d.geometry.mesh import Mesh
from kin4d.geometry.mesh_ops import label_components, merge_vertices
from kin4d.geometry.topology import Edges

MIN_CURVED = 0.45
"""Share of a surface that curves, from which on it is organic: more than 98 % of 400 objects of
articraft, all of 66 of PartNet-Mobility are below, and 26 of 30 animated creatures above."""

MIN_CONNECTED = 0.15
"""Share of the surface in its largest shell, below which it is a collection of parts."""

MIN_BRANCHES = 2
"""Branches with joints, from which on an organic shape is a creature."""

_BENDS = np.radians([2.0, 60.0])
_MERGED = 1e-5  # of the size: vertices nearer than this are one


@dataclass(frozen=True, eq=False, kw_only=True)
class ShapeEvidence:
    """How smooth, connected and branched a shape is.

    Attributes:
        curved: Share of the surface at edges that bend by 2 to 60 degrees: flat faces that meet at
            right angles have none, a ball or an animal of few triangles nearly all.
        connected: Share of the surface in its largest shell.
        branches: Ends of its skeleton with a joint before them; 0 if it is not organic.
        shape: Its skeleton; None if it is not organic.
    """

    curved: float
    connected: float
    branches: int
    shape: CreatureShape | None

    @classmethod
    def of(cls, mesh: Mesh, config: CreatureConfig | None = None) -> ShapeEvidence:
        """Of any mesh; the skeleton is only computed of an organic one."""
        curved, connected = _surface_shares(mesh)
        if curved < MIN_CURVED or connected < MIN_CONNECTED:
            return cls(curved=curved, connected=connected, branches=0, shape=None)
        shape = CreatureShape.of(mesh, config or CreatureConfig())
        return cls(curved=curved, connected=connected, branches=_branches(shape), shape=shape)

    @property
    def is_organic(self) -> bool:
        """Whether it is smooth and in one piece, more or less."""
        return self.shape is not None

    @property
    def is_creature(self) -> bool:
        """Whether it is organic and has branches to bend."""
        return self.branches >= MIN_BRANCHES

    def __str__(self) -> str:
        found = f"{self.curved:.0%} of the surface curves, {self.connected:.0%} is one shell"
        return f"{found}, {self.branches} branches bend" if self.is_organic else found


def _surface_shares(mesh: Mesh) -> tuple[float, float]:
    """How much of a surface curves, and is in its largest shell."""
    cell = np.rint((mesh.vertices - mesh.bounds[0]) / (_MERGED * mesh.bbox_diagonal))
    first, index = merge_vertices(cell)
    vertices, faces = mesh.vertices[first], index[mesh.faces]
    a, b, c = vertices[faces].transpose(1, 0, 2)
    normal = np.cross(b - a, c - a)
    area = np.linalg.norm(normal, axis=1)
    total = float(area.sum())
    if total <= 0:
        return 0.0, 0.0
    normal = normal / np.maximum(area, 1e-30)[:, None]
    one, other = Edges(faces).pairs().T // 3
    cosine = np.einsum("ei,ei->e", normal[one], normal[other])
    angle = np.arccos(np.clip(cosine, -1, 1))
    bent = (angle >= _BENDS[0]) & (angle <= _BENDS[1])
    curved = (area[one] + area[other])[bent].sum() / 3 / total
    shell = label_components(len(vertices), faces)[faces[:, 0]]
    return float(curved), float(np.bincount(shell, area).max() / total)


def _branches(shape: CreatureShape) -> int:
    """Ends of the skeleton that are on another bone than the root."""
    weights = shape.bones.node_weights
    is_parent = np.bincount(shape.skeleton.parent[1:], minlength=len(weights)) > 0
    return int((weights[~is_parent].argmax(1) > 0).sum())
