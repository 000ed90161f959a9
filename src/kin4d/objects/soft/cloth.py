"""Scenes of cloth: held by a corner or an edge, dropped on something, waving in the wind."""

from __future__ import annotations

import numpy as np
from scipy.spatial.transform import Rotation

from kin4d.objects.soft.scene import Obstacle, SoftScene
from kin4d.objects.soft.skin import node_skin

_LIFT = np.array([0.0, 0.0, 1.5])  # m


def cloth_sheet(
    rng: np.random.Generator, *, aspect: tuple[float, float] = (0.6, 1.0)
) -> tuple[np.ndarray, np.ndarray, tuple[int, int]]:
    """A flat sheet in x and y about the origin: nodes [N, 3], triangles [E, 3], and its rows."""
    width = float(rng.uniform(0.5, 1.2))
    height = width * float(rng.uniform(*aspect))
    across = int(rng.integers(16, 25))
    down = max(8, round(across * height / width))
    x, y = np.meshgrid(np.linspace(0, width, across), np.linspace(0, height, down), indexing="ij")
    nodes = np.stack([x - width / 2, y - height / 2, np.zeros_like(x)], -1).reshape(-1, 3)
    # Real cloth starts with a little slack, which also decides where folds begin.
    nodes[:, 2] += 1e-3 * width * rng.normal(size=len(nodes))
    index = np.arange(across * down).reshape(across, down)
    a, b, c, d = index[:-1, :-1], index[1:, :-1], index[1:, 1:], index[:-1, 1:]
    alternate = np.add.outer(np.arange(across - 1), np.arange(down - 1)) % 2 == 1
    first = np.where(alternate[..., None], np.stack([a, b, d], -1), np.stack([a, b, c], -1))
    second = np.where(alternate[..., None], np.stack([b, c, d], -1), np.stack([a, c, d], -1))
    return nodes, np.concatenate([first.reshape(-1, 3), second.reshape(-1, 3)]), (across, down)


def fabric(rng: np.random.Generator) -> dict[str, float]:
    """From light silk to heavy cotton, a little stretchier than they are."""
    thickness = float(rng.uniform(0.8e-3, 2e-3))
    return {
        "density": float(rng.uniform(0.08, 0.35)) / thickness,
        "young": float(10 ** rng.uniform(5.0, 5.8)),
        "poisson": 0.3,
        "thickness": thickness,
        "damping": float(rng.uniform(0.002, 0.008)),
        "friction": float(rng.uniform(0.2, 0.8)),
    }


def hang_by_corner(rng: np.random.Generator) -> SoftScene:
    """Let go while one or two corners are held."""
    nodes, triangles, (across, down) = cloth_sheet(rng)
    corners = [0, (across - 1) * down, down - 1, across * down - 1]
    pins = np.array(corners[: int(rng.integers(1, 3))])
    tilt = Rotation.from_euler("xyz", [*rng.uniform(-0.6, 0.6, 2), rng.uniform(0, 2 * np.pi)])
    return _scene("cloth_corner", rng, tilt.apply(nodes) + _LIFT, triangles, pins=pins)


def hang_by_edge(rng: np.random.Generator) -> SoftScene:
    """A curtain whose rail is moved to and fro."""
    nodes, triangles, (across, down) = cloth_sheet(rng)
    upright = Rotation.from_euler("x", 90, degrees=True).apply(nodes) + _LIFT
    pins = np.arange(down - 1, across * down, down)
    swing = rng.uniform(0.03, 0.12) * np.array([rng.uniform(-1, 1), 1.0, 0.0])
    rate = 2 * np.pi * rng.uniform(0.4, 1.2)
    gather = rng.uniform(0.0, 0.35)
    rail = upright[pins]

    def lead(time: float) -> np.ndarray:
        closed = rail * [1 - gather * (1 - np.cos(rate * time / 2)) / 2, 1, 1]
        return closed + np.sin(rate * time) * swing

    return _scene("cloth_edge", rng, upright, triangles, pins=pins, lead=lead)


def cloth_drop(rng: np.random.Generator) -> SoftScene:
    """Fallen onto a ball, a box or a column that stands on a floor."""
    nodes, triangles, _ = cloth_sheet(rng, aspect=(0.8, 1.0))
    size = float(rng.uniform(0.12, 0.25) * np.ptp(nodes[:, 0]))
    height = float(rng.uniform(0.25, 0.45))
    shape = str(rng.choice(["sphere", "box", "cylinder"]))
    sizes = {
        "sphere": (size, 0.0, 0.0),
        "box": (size, float(size * rng.uniform(0.6, 1)), height / 2),
        "cylinder": (size, height / 2, 0.0),
    }[shape]
    top = 2 * size if shape == "sphere" else height
    centre = (0.0, 0.0, size if shape == "sphere" else height / 2)
    rotation = Rotation.from_euler("zx", [rng.uniform(0, np.pi), rng.uniform(-0.2, 0.2)])
    translation = [*rng.uniform(-0.3, 0.3, 2) * size, top + 0.12]
    obstacles = (Obstacle(shape="plane"), Obstacle(shape=shape, size=sizes, position=centre))
    return _scene(
        "cloth_drop", rng, rotation.apply(nodes) + translation, triangles, obstacles=obstacles
    )


def cloth_flag(rng: np.random.Generator) -> SoftScene:
    """Held along a pole, in gusts."""
    nodes, triangles, (_, down) = cloth_sheet(rng, aspect=(0.5, 0.75))
    upright = Rotation.from_euler("x", 90, degrees=True).apply(nodes) + _LIFT
    speed, gust = rng.uniform(3, 9), rng.uniform(0.2, 0.5)
    rate, side = 2 * np.pi * rng.uniform(0.4, 1.0), rng.uniform(0.15, 0.4)
    phase = rng.uniform(0, 2 * np.pi, 2)

    def wind(time: float) -> np.ndarray:
        strength = speed * (1 + gust * np.sin(rate * time + phase[0]))
        return strength * np.array([1, side * np.sin(1.7 * rate * time + phase[1]), 0.05])

    return _scene("flag", rng, upright, triangles, pins=np.arange(down), wind=wind)


def _scene(category, rng, nodes, triangles, **changes) -> SoftScene:
    material = fabric(rng)
    a, b, c = nodes[triangles].transpose(1, 0, 2)
    areas = 0.5 * np.linalg.norm(np.cross(b - a, c - a), axis=-1)
    masses = np.zeros(len(nodes))
    np.add.at(masses, triangles, (areas / 3 * material["density"] * material["thickness"])[:, None])
    return SoftScene(
        category=category,
        nodes=nodes,
        elements=triangles,
        masses=masses,
        skin=node_skin(len(nodes), triangles),
        material=material,
        **changes,
    )
