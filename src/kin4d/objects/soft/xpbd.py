"""A small solver for soft things: extended position-based dynamics with many small steps.

Macklin, Müller and Chentanez 2016 (compliant constraints), Macklin et al. 2019 (one pass over the
constraints in each of many small steps), Macklin and Müller 2021 (Neo-Hookean tetrahedra). Ropes
and cloth need one kind of constraint only, ``|sum_k c_k x_k| = rest`` over up to four nodes: with
(1, -1) it is an edge, with the weights of a flat pair of triangles or of three nodes in a row
(Bergou et al. 2006) and rest 0 it is bending.

Right for ropes and chains. Of stiff cloth and solids one pass at a time never reaches the end, so
they come out softer than their material; `kin4d.objects.soft.flex` does not have that flaw.
"""

from __future__ import annotations

import numpy as np

from kin4d.objects.soft.scene import SoftScene
from kin4d.objects.soft.xpbd_kernels import advance

_SHAPES = {"plane": 0, "sphere": 1, "box": 2, "cylinder": 3}


class XpbdEngine:
    """One scene in the making; see `kin4d.objects.soft.simulate.Engine`.

    Args:
        scene: What to simulate.
        substeps: Small steps in each step that is asked for; by default many for lines, which
            must not stretch and cost little, and few for the rest.
    """

    def __init__(self, scene: SoftScene, *, substeps: int | None = None) -> None:
        self.scene = scene
        self.substeps = substeps or (40 if scene.dimension == 1 else 6)
        self.nodes = np.array(scene.nodes, np.float64)
        self.speeds = np.zeros_like(self.nodes)
        if scene.velocity is not None:
            self.speeds[:] = scene.velocity
        self._inverse = 1 / scene.masses
        self._inverse[scene.pins] = 0
        self._lines = _lines(scene)
        self._solid = _solid(scene)
        self._touching, self._touch_shares = _touching(scene)
        rows = [(_SHAPES[o.shape], *o.size, *o.position) for o in scene.obstacles]
        self._obstacles = np.array(rows, np.float64).reshape(-1, 7)

    def step(self, forces: np.ndarray, held: np.ndarray, length: float) -> None:
        """Go on by `length` s, under forces [N, 3] N, the pins ending at `held` [P, 3] m."""
        material = self.scene.material
        advance(
            self.nodes,
            self.speeds,
            self._inverse,
            forces,
            np.array(self.scene.gravity, np.float64),
            self.scene.pins,
            held,
            length / self.substeps,
            self.substeps,
            material.get("damping", 0.0),
            *self._lines,
            *self._solid,
            self._touching,
            self._touch_shares,
            0.5 * material.get("thickness", 0.0),
            material.get("friction", 0.0),
            self._obstacles,
        )


def _lines(scene: SoftScene) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Stencils [C, 4], weights [C, 4], rest lengths [C] and compliances [C] (m/N)."""
    if scene.dimension == 3:
        return np.zeros((0, 4), np.int64), np.zeros((0, 4)), np.zeros(0), np.zeros(0)
    parts = _rope(scene) if scene.dimension == 1 else _cloth(scene)
    stencils, weights, stiffness = (np.concatenate(columns) for columns in zip(*parts, strict=True))
    rest = np.linalg.norm(np.einsum("ck,cki->ci", weights, scene.nodes[stencils]), axis=-1)
    rest[len(parts[0][0]) :] = 0  # bending is flat at rest
    return stencils, weights, rest, 1 / np.maximum(stiffness, 1e-12)


def _rope(scene: SoftScene):
    a, b = scene.elements.T
    length = np.linalg.norm(scene.nodes[b] - scene.nodes[a], axis=-1)
    radius, young = 0.5 * scene.material["thickness"], scene.material["young"]
    edges = _stencil((a, b), (1, -1)), young * np.pi * radius**2 / length
    bending = young * np.pi * radius**4 / 4 / length[:-1] ** 3 * scene.material.get("bending", 1.0)
    bends = _stencil((a[:-1], b[:-1], b[1:]), (1, -2, 1)), bending
    return [(*edges[0], edges[1]), (*bends[0], bends[1])]


def _cloth(scene: SoftScene):
    nodes, triangles = scene.nodes, scene.elements
    young, thickness = scene.material["young"], scene.material["thickness"]
    poisson = scene.material["poisson"]
    corners = nodes[triangles]
    areas = 0.5 * np.linalg.norm(
        np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0]), axis=-1
    )
    half: dict[tuple[int, int], list[tuple[int, int]]] = {}
    for row, (a, b, c) in enumerate(triangles.tolist()):
        for i, j, k in ((a, b, c), (b, c, a), (c, a, b)):
            half.setdefault((min(i, j), max(i, j)), []).append((k, row))
    edges = np.array(list(half))
    around = np.array([sum(areas[row] for _, row in sides) for sides in half.values()])
    squared = np.square(nodes[edges[:, 1]] - nodes[edges[:, 0]]).sum(-1)
    # A triangulated spring net is as stiff as the sheet it stands for (Van Gelder 1998).
    stretch = young * thickness * around / squared
    inner = [
        (i, j, sides[0][0], sides[1][0], areas[sides[0][1]] + areas[sides[1][1]])
        for (i, j), sides in half.items()
        if len(sides) == 2
    ]
    table = np.array(inner)
    flap = table[:, :4].astype(np.int64)
    rigidity = young * thickness**3 / (12 * (1 - poisson**2))
    bend = 3 * rigidity / table[:, 4]
    ends = _stencil((edges[:, 0], edges[:, 1]), (1, -1))
    return [(*ends, stretch), (flap, _flap_weights(nodes, flap), bend)]


def _flap_weights(nodes: np.ndarray, flap: np.ndarray) -> np.ndarray:
    """[C, 4]: sums of cotangents of two triangles on an edge, which vanish on flat sheets."""
    i, j, k, m = nodes[flap].transpose(1, 0, 2)

    def cotangent(tip: np.ndarray, left: np.ndarray, right: np.ndarray) -> np.ndarray:
        a, b = left - tip, right - tip
        return np.einsum("ci,ci->c", a, b) / np.linalg.norm(np.cross(a, b), axis=-1)

    ik, im = cotangent(i, j, k), cotangent(i, j, m)
    jk, jm = cotangent(j, i, k), cotangent(j, i, m)
    return np.stack([jk + jm, ik + im, -(ik + jk), -(im + jm)], axis=1)


def _stencil(columns: tuple[np.ndarray, ...], weights: tuple[float, ...]):
    count = len(columns[0])
    filled = [*columns, *[columns[0]] * (4 - len(columns))]
    scale = [*weights, *[0.0] * (4 - len(weights))]
    return np.stack(filled, axis=1).astype(np.int64), np.tile(scale, (count, 1)).astype(np.float64)


def _solid(scene: SoftScene) -> tuple[np.ndarray, np.ndarray, np.ndarray, float, float]:
    """Tetrahedra [E, 4], inverse rest edges [E, 3, 3], volumes [E] and Lamé's two (Pa)."""
    if scene.dimension < 3:
        return np.zeros((0, 4), np.int64), np.zeros((0, 3, 3)), np.zeros(0), 1.0, 1.0
    corners = scene.nodes[scene.elements]
    edges = (corners[:, 1:] - corners[:, :1]).mT
    young, poisson = scene.material["young"], scene.material["poisson"]
    shear = young / (2 * (1 + poisson))
    bulk = young * poisson / ((1 + poisson) * (1 - 2 * poisson))
    volumes = np.linalg.det(edges) / 6
    return scene.elements, np.ascontiguousarray(np.linalg.inv(edges)), volumes, shear, bulk


def _touching(scene: SoftScene) -> tuple[np.ndarray, np.ndarray]:
    """Points that may touch: nodes [K, 4] that carry each, and their shares [K, 4]."""
    if scene.dimension < 3:
        count = len(scene.nodes)
        return _stencil((np.arange(count),), (1.0,))
    carry = scene.skin.carry
    nodes = np.zeros((scene.skin.count, 4), np.int64)
    shares = np.zeros((scene.skin.count, 4))
    for row in range(scene.skin.count):
        span = slice(carry.indptr[row], carry.indptr[row + 1])
        nodes[row, : span.stop - span.start] = carry.indices[span]
        shares[row, : span.stop - span.start] = carry.data[span]
    return nodes, shares
