"""Base shapes of elastic solids: closed surfaces of unit size and even triangles."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from kin4d.geometry.mesh import Mesh
from kin4d.geometry.primitives import capsule, sphere

_LETTERS = {
    "C": ("###", "#..", "#..", "#..", "###"),
    "E": ("###", "#..", "###", "#..", "###"),
    "F": ("###", "#..", "###", "#..", "#.."),
    "H": ("#.#", "#.#", "###", "#.#", "#.#"),
    "L": ("#..", "#..", "#..", "#..", "###"),
    "S": ("###", "#..", "###", "..#", "###"),
    "T": ("###", ".#.", ".#.", ".#.", ".#."),
    "U": ("#.#", "#.#", "#.#", "#.#", "###"),
}


def blocks(filled: np.ndarray, size: tuple[float, float, float], cells: int, name: str) -> Mesh:
    """The surface of filled cells [X, Y, Z] bool within a box of `size`, each cut `cells` times."""
    fine = np.pad(filled.repeat(cells, 0).repeat(cells, 1).repeat(cells, 2), 1)
    quads = []
    for axis in range(3):
        u, v = np.eye(3, dtype=int)[(axis + 1) % 3], np.eye(3, dtype=int)[(axis + 2) % 3]
        for step in (-1, 1):
            corner = np.argwhere(fine & ~np.roll(fine, -step, axis)) - 1
            corner[:, axis] += step > 0
            ring = [corner, corner + u, corner + u + v, corner + v]
            quads.append(np.stack(ring if step > 0 else ring[::-1], axis=1))
    points, index = np.unique(np.concatenate(quads).reshape(-1, 3), axis=0, return_inverse=True)
    index = index.reshape(-1, 4)
    faces = np.concatenate([index[:, [0, 1, 2]], index[:, [0, 2, 3]]])
    vertices = (points / (np.array(filled.shape) * cells) - 0.5) * size
    return Mesh(vertices=vertices, faces=faces, name=name)


def soft_box(rng: np.random.Generator) -> Mesh:
    """A block of random proportions."""
    return blocks(np.ones((1, 1, 1), bool), tuple(rng.uniform(0.5, 1, 3)), 9, "box")


def bar(rng: np.random.Generator) -> Mesh:
    """A long block along x."""
    width, height = rng.uniform(0.12, 0.3, 2)
    return blocks(np.ones((4, 1, 1), bool), (1.0, width, height), 6, "bar")


def letter(rng: np.random.Generator) -> Mesh:
    """A thick letter standing up."""
    name = str(rng.choice(sorted(_LETTERS)))
    rows = np.array([[cell == "#" for cell in row] for row in _LETTERS[name]])
    size = (0.6, float(rng.uniform(0.15, 0.25)), 1.0)
    return blocks(rows[::-1].T[:, None, :], size, 4, f"letter {name}")


def plate(rng: np.random.Generator) -> Mesh:
    """A thin square slab, lying."""
    return blocks(np.ones((1, 1, 1), bool), (1.0, 1.0, float(rng.uniform(0.1, 0.2))), 12, "plate")


def soft_cylinder(rng: np.random.Generator) -> Mesh:
    """A cylinder along z."""
    radius = float(rng.uniform(0.15, 0.4))
    return _revolved([(0, -0.5), (radius, -0.5), (radius, 0.5), (0, 0.5)], "cylinder")


def cone(rng: np.random.Generator) -> Mesh:
    """A cone along z, its tip blunt."""
    radius = float(rng.uniform(0.25, 0.45))
    return _revolved([(0, -0.4), (radius, -0.4), (0.15 * radius, 0.5), (0, 0.5)], "cone")


def vase(rng: np.random.Generator) -> Mesh:
    """A turned shape with a waist."""
    belly, waist, lip = rng.uniform(0.3, 0.45), rng.uniform(0.12, 0.2), rng.uniform(0.2, 0.35)
    return _revolved(
        [(0, -0.5), (0.2, -0.5), (belly, -0.2), (waist, 0.25), (lip, 0.5), (0, 0.5)], "vase"
    )


def torus(rng: np.random.Generator) -> Mesh:
    """A ring lying flat."""
    import trimesh

    tube = float(rng.uniform(0.1, 0.18))
    solid = trimesh.creation.torus(0.5 - tube, tube, major_sections=40, minor_sections=14)
    return Mesh(vertices=solid.vertices, faces=solid.faces, name="torus")


def pill(rng: np.random.Generator) -> Mesh:
    """A capsule along z."""
    radius = float(rng.uniform(0.15, 0.3))
    return capsule(radius, 1 - 2 * radius, sections=20, name="capsule")


def soft_ball(rng: np.random.Generator) -> Mesh:
    """A sphere, pressed a little."""
    solid = sphere(0.5, subdivisions=3, name="ball")
    return solid.replace_vertices(solid.vertices * rng.uniform(0.7, 1, 3))


def blob(rng: np.random.Generator) -> Mesh:
    """A potato: a sphere with smooth bumps."""
    solid = sphere(0.5, subdivisions=3, name="blob")
    direction = solid.vertices / 0.5
    radius = np.ones(len(direction))
    for _ in range(5):
        wave = rng.normal(size=3) * 1.5
        radius += 0.12 * np.sin(direction @ wave + rng.uniform(0, 2 * np.pi))
    return solid.replace_vertices(solid.vertices * (0.8 * radius)[:, None])


SHAPES: dict[str, Callable[[np.random.Generator], Mesh]] = {
    "ball": soft_ball,
    "bar": bar,
    "blob": blob,
    "box": soft_box,
    "capsule": pill,
    "cone": cone,
    "cylinder": soft_cylinder,
    "letter": letter,
    "plate": plate,
    "torus": torus,
    "vase": vase,
}


def _revolved(profile: list[tuple[float, float]], name: str, *, around: int = 28) -> Mesh:
    """A profile of (radius, height), from axis to axis, turned about z."""
    corners = np.array(profile)
    lengths = np.linalg.norm(np.diff(corners, axis=0), axis=1)
    points = [
        start + (end - start) * np.arange(steps)[:, None] / steps
        for start, end, steps in zip(
            corners, corners[1:], np.maximum(1, np.rint(lengths / 0.07)).astype(int), strict=False
        )
    ]
    inner = np.concatenate(points)[1:]
    angle = 2 * np.pi * np.arange(around) / around
    rings = np.stack(
        [
            np.outer(inner[:, 0], np.cos(angle)),
            np.outer(inner[:, 0], np.sin(angle)),
            np.repeat(inner[:, 1:], around, axis=1),
        ],
        axis=-1,
    ).reshape(-1, 3)
    vertices = np.concatenate([rings, [[0, 0, corners[0, 1]], [0, 0, corners[-1, 1]]]])
    i, j = np.meshgrid(np.arange(len(inner) - 1), np.arange(around), indexing="ij")
    a, b = i * around + j, i * around + (j + 1) % around
    sides = np.concatenate(
        [np.stack([a, b, b + around], -1), np.stack([a, b + around, a + around], -1)]
    )
    ring, following, last = (
        np.arange(around),
        (np.arange(around) + 1) % around,
        around * (len(inner) - 1),
    )
    foot, head = np.full(around, len(rings)), np.full(around, len(rings) + 1)
    caps = [
        np.stack([foot, following, ring], 1),
        np.stack([head, last + ring, last + following], 1),
    ]
    return Mesh(vertices=vertices, faces=np.concatenate([sides.reshape(-1, 3), *caps]), name=name)
