"""Analytic bodies: small machines with known kinematics, for trying, testing and teaching."""

from __future__ import annotations

import numpy as np

from kin4d.bodies.articulated import ArticulatedBody
from kin4d.bodies.articulated_base import Link
from kin4d.bodies.inertial import Inertial
from kin4d.bodies.joint import Joint
from kin4d.errors import InputError
from kin4d.geometry.mesh import Mesh
from kin4d.geometry.primitives import box, cylinder


def hinge(
    *,
    width: float = 0.8,
    height: float = 2.0,
    thickness: float = 0.04,
    limits: tuple[float, float] = (0.0, 1.9),
    density: float = 500.0,
) -> ArticulatedBody:
    """A door in its frame: one revolute coordinate, "door" (rad), about the vertical z axis.

    The frame stands on z = 0 around the panel; sizes in metres, density in kg/m^3.
    """
    gap, post = 0.005, 0.08
    frame = Mesh.concatenate(
        [
            _at(box((post, post, height + post), color="#7a5a3a"), x, 0.0, (height + post) / 2)
            for x in (-(post / 2 + gap), width + gap + post / 2)
        ]
        + [
            _at(
                box((width + 2 * gap, post, post), color="#7a5a3a"), width / 2, 0, height + post / 2
            )
        ],
        name="frame",
    )
    panel = _at(
        box((width, thickness, height - 2 * gap), color="#b98a56"), width / 2, 0, height / 2
    )
    knobs = [
        _at(
            cylinder(0.02, 0.06, color="#d8c060"),
            width - 0.08,
            side * 0.05,
            height * 0.48,
            upright=True,
        )
        for side in (-1, 1)
    ]
    door = Mesh.concatenate([panel, *knobs], name="door")
    return ArticulatedBody(
        [_link("frame", frame, density), _link("door", door, density)],
        [
            Joint(
                name="door",
                kind="revolute",
                parent="frame",
                child="door",
                axis=np.array([0.0, 0.0, 1.0]),
                limits=limits,
            )
        ],
        name="hinge",
    )


def slider_chain(
    *,
    count: int = 3,
    size: tuple[float, float, float] = (0.5, 0.4, 0.2),
    travel: float = 0.3,
    density: float = 500.0,
) -> ArticulatedBody:
    """Trays that slide out of one another: `count` prismatic coordinates along -y (m).

    Each tray is a fifth smaller than the one it slides in, so none touches another.
    """
    if count < 1:
        raise InputError("a slider chain needs a slider", value=count, allowed="count >= 1")
    palette = ("#5b6b7a", "#3f8fbf", "#e0a030", "#c0504d", "#6aa84f")
    links, joints = [], []
    for i in range(count + 1):
        dims = np.array(size) * 0.8**i
        links.append(_link(f"tray{i}", _tray(dims, palette[i % len(palette)]), density))
        if i:
            joints.append(
                Joint(
                    name=f"slide{i}",
                    kind="prismatic",
                    parent=f"tray{i - 1}",
                    child=f"tray{i}",
                    axis=np.array([0.0, -1.0, 0.0]),
                    limits=(0.0, travel * 0.8 ** (i - 1)),
                )
            )
    return ArticulatedBody(links, joints, name="slider_chain")


def pendulum(*, count: int = 2, length: float = 0.5, mass: float = 1.0) -> ArticulatedBody:
    """Point masses (kg) on massless rods (m) swinging in the x-z plane about the y axis.

    At q = 0 it hangs straight down from the origin; coordinate i is the angle (rad) of rod i
    relative to rod i - 1.
    """
    if count < 1:
        raise InputError("a pendulum needs a rod", value=count, allowed="count >= 1")
    pivot = cylinder(0.02, 0.06, color="#404040").transformed(_quarter_turn())
    links, joints = [Link("pivot", pivot)], []
    for i in range(count):
        rod = _at(box((0.012, 0.012, length), color="#9aa0a6"), 0, 0, -length / 2)
        bob = _at(cylinder(0.05, 0.03, color="#c0504d"), 0, 0, -length, upright=True)
        point = Inertial(mass, np.array([0, 0, -length]), np.zeros((3, 3)))
        links.append(Link(f"rod{i + 1}", Mesh.concatenate([rod, bob]), point))
        origin = np.eye(4)
        origin[2, 3] = -length if i else 0.0
        joints.append(
            Joint(
                name=f"angle{i + 1}",
                kind="revolute",
                parent=links[i].name,
                child=links[i + 1].name,
                origin=origin,
                axis=np.array([0.0, 1.0, 0.0]),
            )
        )
    return ArticulatedBody(links, joints, name="pendulum")


def _tray(dims: np.ndarray, color: str) -> Mesh:
    """An open box: floor and four walls, standing on z = 0."""
    width, depth, height = dims
    wall = 0.03 * width
    panels = [_at(box((width, depth, wall), color=color), 0, 0, wall / 2)]
    for sign in (-1, 1):
        side = box((wall, depth, height), color=color)
        panels.append(_at(side, sign * (width - wall) / 2, 0, height / 2))
        end = box((width - 2 * wall, wall, height * 0.6), color=color)
        panels.append(_at(end, 0, sign * (depth - wall) / 2, height * 0.3))
    return Mesh.concatenate(panels)


def _link(name: str, mesh: Mesh, density: float) -> Link:
    return Link(name, mesh, Inertial.of_mesh(mesh, density=density))


def _quarter_turn() -> np.ndarray:
    """z to y: lays an upright cylinder along y."""
    return np.array([[1.0, 0, 0, 0], [0, 0, 1, 0], [0, -1, 0, 0], [0, 0, 0, 1]])


def _at(mesh: Mesh, x: float, y: float, z: float, *, upright: bool = False) -> Mesh:
    matrix = _quarter_turn() if upright else np.eye(4)
    matrix[:3, 3] = x, y, z
    return mesh.transformed(matrix)
