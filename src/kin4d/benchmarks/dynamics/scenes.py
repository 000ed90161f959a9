"""Scenes that show what mechanics without contact, friction and forces cannot."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from kin4d.bodies.analytic import hinge
from kin4d.bodies.articulated import ArticulatedBody
from kin4d.bodies.floating import FloatingBase
from kin4d.bodies.modal import ModalBody
from kin4d.bodies.rigid import RigidBody
from kin4d.dynamics.forces import Damping, Push, Spring, Wind
from kin4d.dynamics.materials import MATERIALS
from kin4d.dynamics.scene import Actor, Scene
from kin4d.dynamics.simulate import simulate
from kin4d.dynamics.simulation import Simulation
from kin4d.geometry.material import SurfaceMaterial as Look
from kin4d.geometry.material import hex_color
from kin4d.geometry.mesh import Mesh
from kin4d.geometry.primitives import sphere
from kin4d.objects.procedural.categories import make_object
from kin4d.objects.soft.shapes import SHAPES


def drawer() -> Scene:
    """An open drawer is pushed, slides shut and stops."""
    body = make_object("drawer_unit", 5).body()
    q, name = opened(body, "drawer", share=0.8)
    vertices = body.rest.vertices[body.skin.joints[:, 0] == body.link_index(name)]
    front = vertices[vertices[:, 1] < vertices[:, 1].min() + 0.01]
    at = tuple(front[np.linalg.norm(front - front.mean(0), axis=-1).argmin()].tolist())
    push = Push(at, (0.0, 12.0, 0.0), start=0.3, duration=0.15)
    return Scene([Actor(body, q=q, forces=[push], material="wood", contacts=0)])


def lid() -> Scene:
    """An open lid falls shut and stays."""
    body = make_object("storage_chest", 3).body()
    q, _ = opened(body, "lid", share=0.6)
    return Scene([Actor(body, q=q, material="wood", contacts=0)])


def curtain() -> Scene:
    """A cloth that hangs from its upper edge, in gusts of wind."""
    mesh = demo_sheet(width=0.8, height=1.0, columns=17, rows=21)
    cloth = MATERIALS["cloth"]
    held = np.flatnonzero(mesh.vertices[:, 2] > mesh.bounds[1, 2] - 1e-6)
    body = ModalBody.sheet(
        mesh,
        young=cloth.young,
        thickness=cloth.thickness,
        density=cloth.density,
        pinned=held,
        modes=10,
        handles=48,
    )
    forces = [Spring(body.stiffness.numpy()), Wind((0.0, -2.5, 0.0), gusts=0.8)]
    return Scene([Actor(body, material=cloth, forces=forces, contacts=0)])


def dropped() -> Scene:
    """A lumpy body falls on the ground, bounces, rolls and settles."""
    mesh = SHAPES["blob"](np.random.default_rng(4))
    mesh = mesh.replace_vertices(0.3 / mesh.bbox_diagonal * mesh.vertices)
    body = FloatingBase(RigidBody(mesh, density=MATERIALS["rubber"].density))
    start = np.array([0.0, 0.0, 0.5 - mesh.bounds[0, 2], 0.4, 0.3, 0.0])
    return Scene([Actor(body, q=start, material="rubber")], ground=0.0)


def jelly() -> Scene:
    """A soft body falls on the ground and wobbles."""
    mesh = SHAPES["blob"](np.random.default_rng(4))
    mesh = mesh.replace_vertices(0.3 / mesh.bbox_diagonal * mesh.vertices)
    soft = MATERIALS["jelly"]
    inner = ModalBody.solid(mesh, young=4 * soft.young, density=soft.density, modes=8, handles=48)
    body = FloatingBase(inner)
    stiffness = np.zeros((14, 14))
    stiffness[6:, 6:] = inner.stiffness.numpy()
    start = np.zeros(14)
    start[2] = 0.25 - mesh.bounds[0, 2]
    forces = [Spring(stiffness), Damping(viscosity=0.01 * stiffness)]
    return Scene([Actor(body, q=start, material=soft, forces=forces)], ground=0.0)


def collision() -> Scene:
    """A ball flies into a door that stands ajar: it bounces off, and the door swings open."""
    door = hinge(limits=(-1.9, 1.9))
    ball = RigidBody(sphere(0.15, color="#c0504d", name="ball"), density=400.0)
    start = np.array([0.55, -1.2, 1.2, 0.0, 0.0, 0.0])
    throw = np.array([0.0, 4.0, 1.0, 0.0, 0.0, 0.0])
    return Scene(
        [
            Actor(door, name="door", material="wood", q=np.array([0.1])),
            Actor(FloatingBase(ball), name="ball", material="rubber", q=start, qd=throw),
        ],
        ground=0.0,
    )


@dataclass(frozen=True)
class DemoScene:
    """A scene and how it is run.

    Attributes:
        make: The scene.
        seconds: How many are worth seeing.
        dt: Time step, s.
        order: Of the variational integrator.
    """

    make: Callable[[], Scene]
    seconds: float
    dt: float = 1 / 240
    order: int = 2

    def run(self, *, seconds: float | None = None, fps: float = 30.0) -> Simulation:
        """Make it and let it run."""
        length = self.seconds if seconds is None else seconds
        return simulate(self.make(), seconds=length, fps=fps, dt=self.dt, order=self.order)


SCENES = {
    "drawer": DemoScene(drawer, 2.0),
    "lid": DemoScene(lid, 2.0),
    "curtain": DemoScene(curtain, 3.0, dt=1 / 120),
    "dropped": DemoScene(dropped, 3.0),
    "jelly": DemoScene(jelly, 2.0, dt=1 / 120),
    "collision": DemoScene(collision, 2.5),
}
"""Scenes by name."""


def opened(body: ArticulatedBody, part: str, *, share: float) -> tuple[np.ndarray, str]:
    """Coordinates [k] with the first joint named like `part` moved towards its farther limit."""
    names = [name for name in body.coordinates if name.startswith(part)]
    index = body.coordinates.index(names[0])
    q = body.q0.numpy().copy()
    low, high = body.limits[index].tolist()
    q[index] = share * (high if abs(high) > abs(low) else low)
    return q, names[0]


def demo_sheet(*, width: float, height: float, columns: int, rows: int) -> Mesh:
    """A rectangle in x and z, standing on z = 0 (m)."""
    x, z = np.meshgrid(np.linspace(0, width, columns), np.linspace(0, height, rows), indexing="ij")
    vertices = np.stack([x - width / 2, np.zeros_like(x), z], -1).reshape(-1, 3)
    index = np.arange(columns * rows).reshape(columns, rows)
    a, b, c, d = index[:-1, :-1], index[1:, :-1], index[1:, 1:], index[:-1, 1:]
    alternate = np.add.outer(np.arange(columns - 1), np.arange(rows - 1)) % 2 == 1
    first = np.where(alternate[..., None], np.stack([a, b, d], -1), np.stack([a, b, c], -1))
    second = np.where(alternate[..., None], np.stack([b, c, d], -1), np.stack([a, c, d], -1))
    faces = np.concatenate([first.reshape(-1, 3), second.reshape(-1, 3)])
    look = Look(name="cloth", base_color=hex_color("#3f8fbf"), double_sided=True)
    return Mesh(vertices=vertices, faces=faces, materials=(look,), name="cloth")
