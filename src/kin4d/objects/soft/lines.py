"""Scenes of ropes and chains: swinging from one or two ends, and falling in a heap."""

from __future__ import annotations

import numpy as np
from scipy.spatial.transform import Rotation

from kin4d.objects.soft.scene import Obstacle, SoftScene
from kin4d.objects.soft.skin import chain_skin, tube_skin

_LIFT = np.array([0.0, 0.0, 1.6])  # m


def rope_swing(rng: np.random.Generator) -> SoftScene:
    """A rope hanging from its ends or one of them, which are moved about."""
    return _swing("rope_swing", rng, _line(rng, int(rng.integers(24, 40))), _rope)


def rope_fall(rng: np.random.Generator) -> SoftScene:
    """A rope falling over something onto a floor."""
    return _fall("rope_fall", rng, _line(rng, int(rng.integers(24, 40))), _rope)


def chain_swing(rng: np.random.Generator) -> SoftScene:
    """A chain hanging from its ends or one of them, which are moved about."""
    return _swing("chain_swing", rng, _line(rng, int(rng.integers(12, 22))), _chain)


def chain_fall(rng: np.random.Generator) -> SoftScene:
    """A chain falling over something onto a floor."""
    return _fall("chain_fall", rng, _line(rng, int(rng.integers(12, 22))), _chain)


def _line(rng: np.random.Generator, count: int) -> np.ndarray:
    """[N, 3] m along x, with a slight random wave so that nothing starts exactly straight."""
    along = np.linspace(-0.5, 0.5, count)
    wave = 0.01 * np.sin(2 * np.pi * (along[:, None] * rng.uniform(0.5, 2, 2) + rng.random(2)))
    return rng.uniform(0.6, 1.4) * np.column_stack([along, wave])


def _swing(category: str, rng: np.random.Generator, line: np.ndarray, make) -> SoftScene:
    rotation = Rotation.from_euler("zy", [rng.uniform(0, 2 * np.pi), rng.uniform(-0.8, 0.8)])
    nodes = rotation.apply(line) + _LIFT
    pins = np.array([0, len(nodes) - 1] if rng.random() < 0.5 else [0])
    held = nodes[pins]
    swing = rng.normal(size=(len(pins), 3)) * [0.15, 0.15, 0.08]
    closer = 0.35 * (held.mean(0) - held) if len(pins) == 2 else 0.0
    rate = 2 * np.pi * rng.uniform(0.4, 1.2)

    def lead(time: float) -> np.ndarray:
        # A hand starts gently: a jerk would ring through the line.
        ease = 1 - (1 + 6 * time) * np.exp(-6 * time)
        return held + ease * (closer + np.sin(rate * time) * swing)

    return make(category, rng, nodes, pins=pins, lead=lead)


def _fall(category: str, rng: np.random.Generator, line: np.ndarray, make) -> SoftScene:
    rotation = Rotation.from_euler("zy", [rng.uniform(0, 2 * np.pi), rng.uniform(-0.5, 0.5)])
    size = float(rng.uniform(0.08, 0.18))
    shape = str(rng.choice(["sphere", "box", "cylinder"]))
    sizes = (size, size, size) if shape == "box" else (size, size, 0.0)
    nodes = rotation.apply(line)
    nodes += [0, 0, 2 * size + 0.1 - nodes[:, 2].min()]
    nodes[:, :2] += rng.normal(size=2) * 0.3 * size
    obstacles = (
        Obstacle(shape="plane"),
        Obstacle(shape=shape, size=sizes, position=(0.0, 0.0, size)),
    )
    return make(category, rng, nodes, obstacles=obstacles)


def _rope(category: str, rng: np.random.Generator, nodes: np.ndarray, **changes) -> SoftScene:
    thickness = float(rng.uniform(0.012, 0.03))
    material = {
        "density": float(rng.uniform(600, 1200)),
        "young": float(10 ** rng.uniform(6.3, 7.3)),
        # Strands slide on each other: a rope bends far more easily than a rod of its size.
        "bending": float(10 ** rng.uniform(-4, -2)),
        "thickness": thickness,
        "damping": float(rng.uniform(0.001, 0.004)),
        "friction": float(rng.uniform(0.3, 0.8)),
    }
    skin = tube_skin(nodes, 0.5 * thickness)
    mass = material["density"] * np.pi * (0.5 * thickness) ** 2 * _length(nodes)
    return _scene(category, nodes, mass, skin, material, changes)


def _chain(category: str, rng: np.random.Generator, nodes: np.ndarray, **changes) -> SoftScene:
    link = _length(nodes) / (len(nodes) - 1)
    wire = float(rng.uniform(0.07, 0.11)) * link
    # A link is as wide as this, and its wire runs around it.
    material = {
        "density": 7800.0,
        "young": 2e7,
        "bending": 0.0,
        "thickness": 0.64 * link,
        "damping": 0.005,
        "friction": float(rng.uniform(0.3, 0.6)),
    }
    mass = material["density"] * np.pi * wire**2 * 2.6 * link * (len(nodes) - 1)
    return _scene(category, nodes, mass, chain_skin(nodes, wire), material, changes)


def _scene(category, nodes, mass, skin, material, changes) -> SoftScene:
    edges = np.stack([np.arange(len(nodes) - 1), np.arange(1, len(nodes))], axis=1)
    share = np.full(len(nodes), 1.0)
    share[[0, -1]] = 0.5
    return SoftScene(
        category=category,
        nodes=nodes,
        elements=edges,
        masses=mass * share / share.sum(),
        skin=skin,
        material=material,
        **changes,
    )


def _length(nodes: np.ndarray) -> float:
    return float(np.linalg.norm(np.diff(nodes, axis=0), axis=-1).sum())
