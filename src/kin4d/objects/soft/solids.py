"""Scenes of elastic solids: falling, poked, twisted and shaken."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from scipy.spatial.transform import Rotation

from kin4d.geometry.lattice import Lattice
from kin4d.geometry.mesh import Mesh
from kin4d.objects.soft.scene import Obstacle, SoftPush, SoftScene
from kin4d.objects.soft.shapes import SHAPES
from kin4d.objects.soft.skin import embedded_skin

_LONG = ("bar", "capsule", "cylinder", "letter", "vase", "cone", "box")
_TALL = ("ball", "blob", "box", "capsule", "cone", "cylinder", "letter", "vase")


def shape(rng: np.random.Generator, names: tuple[str, ...] = tuple(SHAPES)) -> Mesh:
    """One of the named shapes, 0.2 to 0.5 m large."""
    mesh = SHAPES[str(rng.choice(names))](rng)
    return mesh.replace_vertices(mesh.vertices * rng.uniform(0.2, 0.5))


def rubber(rng: np.random.Generator, mesh: Mesh) -> dict[str, float]:
    """From jelly to soft rubber, as stiff as the shape needs to bear its own weight.

    A post of height L and side t buckles under itself below a modulus of about 1.5 rho g L (L/t)².
    """
    sizes = np.ptp(mesh.bounds, axis=0)
    density = float(rng.uniform(200, 1100))
    least = 1.5 * density * 9.81 * sizes.max() * (sizes.max() / sizes.min()) ** 2
    return {
        "density": density,
        "young": float(least * 10 ** rng.uniform(0.1, 1.1)),
        "poisson": float(rng.uniform(0.3, 0.45)),
        "damping": float(rng.uniform(0.002, 0.01)),
        "friction": float(rng.uniform(0.3, 0.9)),
    }


def fall(rng: np.random.Generator) -> SoftScene:
    """Thrown down to a floor, at times over a step."""
    mesh = shape(rng)
    vertices = _rotation(rng).apply(np.array(mesh.vertices))
    vertices[:, 2] += rng.uniform(0.1, 0.5) - vertices[:, 2].min()
    obstacles = [Obstacle(shape="plane")]
    if rng.random() < 0.4:
        side = tuple(rng.uniform(0.05, 0.12, 3).tolist())
        obstacles.append(Obstacle(shape="box", size=side, position=(0.0, 0.0, side[2])))
        vertices[:, 2] += 2 * side[2]
    spin, throw = rng.normal(size=3) * 2, rng.normal(size=3) * [0.4, 0.4, 0.2]
    scene = _scene("solid_fall", rng, mesh.replace_vertices(vertices), obstacles=tuple(obstacles))
    speeds = np.cross(spin, scene.nodes - scene.nodes.mean(0)) + throw - [0, 0, rng.uniform(0, 2)]
    return replace(scene, velocity=speeds)


def poke(rng: np.random.Generator) -> SoftScene:
    """Stuck to a table and pushed here and there."""
    mesh = _standing(rng)
    scene = _scene("solid_poke", rng, mesh)
    vertices, young = mesh.vertices, scene.material["young"]
    tall = float(np.ptp(vertices[:, 2]))
    section = float(scene.masses.sum()) / scene.material["density"] / tall
    high = np.flatnonzero(vertices[:, 2] > np.quantile(vertices[:, 2], 0.5))
    pushes = []
    for start in (0.05, 0.7, 1.3):
        pressed = vertices[rng.choice(high)]
        reach = 0.15 * mesh.bbox_diagonal
        share = np.exp(-np.square(np.linalg.norm(vertices - pressed, axis=-1) / reach))
        inward = vertices.mean(0) - pressed + rng.normal(size=3) * 0.2 * mesh.bbox_diagonal
        # As a post of that section gives way at that height, by bending and by shearing.
        height = pressed[2] - vertices[:, 2].min()
        bending, shearing = young * section**2 / (4 * height**3), 0.4 * young * section / height
        strength = bending * shearing / (bending + shearing) * height * rng.uniform(0.15, 0.45)
        force = strength * inward / np.linalg.norm(inward)
        length = float(rng.uniform(0.25, 0.5))
        pushes.append(SoftPush(share=share / share.sum(), force=force, start=start, length=length))
    return replace(scene, pins=_end(scene.nodes, 2, low=True), pushes=tuple(pushes))


def twist(rng: np.random.Generator) -> SoftScene:
    """Held at both ends, which are wrung, pulled and bent."""
    mesh = shape(rng, _LONG)
    axis = int(np.ptp(mesh.bounds, axis=0).argmax())
    mesh = mesh.replace_vertices(np.roll(mesh.vertices, -axis, axis=1))
    scene = _scene("solid_twist", rng, mesh)
    left, right = _end(scene.nodes, 0, low=True), _end(scene.nodes, 0, low=False)
    pins = np.concatenate([left, right])
    held = scene.nodes[pins]
    middle = held[len(left) :].mean(0)
    size = np.ptp(mesh.vertices[:, 0])
    angle = rng.uniform(0.6, 2.4) * rng.choice([-1, 1]) * np.array([1, *rng.uniform(-0.4, 0.4, 2)])
    pull = size * np.array([rng.uniform(-0.2, 0.25), *rng.uniform(-0.2, 0.2, 2)])

    def lead(time: float) -> np.ndarray:
        amount = np.sin(np.pi * min(time, 2.0) / 2) ** 2
        rotation = Rotation.from_rotvec(amount * angle)
        moved = held.copy()
        moved[len(left) :] = rotation.apply(held[len(left) :] - middle) + middle + amount * pull
        return moved

    return replace(scene, pins=pins, lead=lead)


def shake(rng: np.random.Generator) -> SoftScene:
    """Stuck to a table that is shaken."""
    scene = _scene("solid_shake", rng, _standing(rng))
    pins = _end(scene.nodes, 2, low=True)
    held = scene.nodes[pins]
    swing = 0.15 * np.ptp(scene.nodes[:, 2]) * rng.normal(size=3) * [1, 1, 0.4]
    rate = 2 * np.pi * rng.uniform(1.0, 2.5)
    return replace(scene, pins=pins, lead=lambda time: held + np.sin(rate * time) * swing)


def _standing(rng: np.random.Generator) -> Mesh:
    mesh = shape(rng, _TALL)
    rotated = Rotation.from_euler("z", rng.uniform(0, 2 * np.pi)).apply(np.array(mesh.vertices))
    rotated[:, 2] -= rotated[:, 2].min()
    return mesh.replace_vertices(rotated)


def _rotation(rng: np.random.Generator) -> Rotation:
    return Rotation.from_quat(rng.normal(size=4))


def _end(nodes: np.ndarray, axis: int, *, low: bool) -> np.ndarray:
    """[P] nodes at one end of an axis: the outermost layer."""
    pressed = nodes[:, axis] if low else -nodes[:, axis]
    return np.flatnonzero(pressed < pressed.min() + 0.06 * np.ptp(pressed))


def _scene(category: str, rng: np.random.Generator, mesh: Mesh, **changes) -> SoftScene:
    material = rubber(rng, mesh)
    lattice = Lattice.around(mesh)
    return SoftScene(
        category=category,
        nodes=lattice.nodes,
        elements=lattice.tetrahedra,
        masses=lattice.volumes * material["density"],
        skin=embedded_skin(*lattice.carriers(mesh.vertices), mesh.faces, len(lattice.nodes)),
        material=material,
        notes={"shape": mesh.name},
        **changes,
    )
