"""Fixtures: furniture and boxes with one joint to work, from the articulated objects.

An object of `kin4d.objects.procedural` is scaled to the size of a table top, all its joints but one
are kept shut, and that one gets a handle large enough for a gripper. Fixtures look to -x, towards
the robot.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from kin4d.geometry.mesh import Mesh
from kin4d.objects.procedural.assembly import ArticulatedObject
from kin4d.objects.procedural.categories import make_object
from kin4d.objects.procedural.parts import MeshPart, PartShapes
from kin4d.tasks.props import WHITE, Geom, mesh_of, prop_material

_SHAPES = PartShapes(sides=12)
_FRONT = np.array([[0.0, 1.0, 0.0], [-1.0, 0.0, 0.0], [0.0, 0.0, 1.0]])  # -y looks to -x


@dataclass(frozen=True, eq=False, kw_only=True)
class Fixture:
    """Something with a fixed base and one moving part.

    Attributes:
        kind: Category it was made from.
        base_mesh: In the fixture's frame, on z = 0.
        part_mesh: In the part's frame, whose origin is on the joint's axis.
        base_geoms: What the base collides as.
        part_geoms: What the part collides as.
        origin: [3] m: the part's frame in the fixture's.
        axis: [3] unit vector; positive values open.
        revolute: Whether the joint is a hinge; else it slides.
        limits: Joint values (rad or m); the first is shut.
        panel: [2, 3] m: corners of the part's front panel, in the part's frame.
        handle: [3] m: where to grasp, in the part's frame.
        mass: kg of the part.
        friction: N or N m that it takes to move the part.
        damping: N s/m or N m s/rad.
    """

    kind: str
    base_mesh: Mesh
    part_mesh: Mesh
    base_geoms: tuple[Geom, ...]
    part_geoms: tuple[Geom, ...]
    origin: np.ndarray
    axis: np.ndarray
    revolute: bool
    limits: tuple[float, float]
    panel: np.ndarray
    handle: np.ndarray
    mass: float = 0.4
    friction: float = 0.08
    damping: float = 0.15


def drawers(rng: np.random.Generator) -> Fixture:
    """A chest of drawers, one of which runs."""
    while True:
        made = make_object("drawer_unit", int(rng.integers(1_000_000)))
        size = np.array([rng.uniform(0.24, 0.34), rng.uniform(0.2, 0.26), rng.uniform(0.2, 0.3)])
        made = _fitted(made, size)
        order = rng.permutation(len(made.joints))
        for index in order:
            panel = _panel(made, index)
            middle = panel.mean(0) + _origin(made, index)
            tall, wide = panel[1, 2] - panel[0, 2], panel[1, 1] - panel[0, 1]
            if middle[2] > 0.085 and tall > 0.045 and wide > 0.1:
                at = np.array([panel[0, 0], panel[:, 1].mean(), panel[:, 2].mean()])
                height = min(0.05, 0.7 * tall)
                travel = max(0.6 * size[1], 0.12)
                return _fixture(
                    made, index, rng, at=at, height=height, limits=(0.0, travel),
                    friction=1.0, damping=4.0,
                )  # fmt: skip


def doors(rng: np.random.Generator) -> Fixture:
    """A cupboard, safe, microwave or refrigerator with one door that turns about z."""
    while True:
        kind = str(rng.choice(["microwave", "safe", "cabinet", "refrigerator"]))
        made = make_object(kind, int(rng.integers(1_000_000)))
        size = np.array([rng.uniform(0.2, 0.28), rng.uniform(0.14, 0.2), rng.uniform(0.2, 0.26)])
        made = _fitted(made, size)
        for index, joint in enumerate(made.joints):
            if joint.kind != "revolute" or abs(joint.axis[2]) < 0.99:
                continue
            panel = _panel(made, index)
            tall, wide = np.ptp(panel[:, 2]), np.ptp(panel[:, 1])
            middle = panel.mean(0) + _origin(made, index)
            if wide < 0.11 or tall < 0.1 or wide > 0.24 or not 0.08 < middle[2] < 0.2:
                continue
            # The free edge is the one away from the hinge, which is the part's origin.
            free = panel[np.abs(panel[:, 1]).argmax(), 1]
            at = np.array([panel[0, 0], free - np.sign(free) * 0.022, panel[:, 2].mean()])
            return _fixture(
                made, index, rng, at=at, height=min(0.1, 0.6 * tall), limits=(0.0, 1.9), bar=True
            )


def lids(rng: np.random.Generator) -> Fixture:
    """A box or chest with a lid hinged at the back."""
    while True:
        kind = str(rng.choice(["box", "box", "storage_chest"]))
        made = make_object(kind, int(rng.integers(1_000_000)))
        size = np.array([rng.uniform(0.16, 0.24), rng.uniform(0.12, 0.16), rng.uniform(0.08, 0.13)])
        made = _fitted(made, size)
        for index, joint in enumerate(made.joints):
            if joint.kind != "revolute" or abs(joint.axis[0]) < 0.99 or joint.origin[1, 3] <= 0:
                continue
            panel = _panel(made, index)
            if np.ptp(panel[:, 0]) < 0.09:
                continue
            at = np.array([panel[0, 0], panel[:, 1].mean(), max(panel[1, 2] - 0.012, 0.004)])
            return _fixture(made, index, rng, at=at, height=0.03, limits=(0.0, 1.9))


def _fitted(made: ArticulatedObject, size: np.ndarray) -> ArticulatedObject:
    """Scaled so that it fills `size` [3] m (width, depth, height) with all joints shut."""
    shut = made.vertices(np.zeros((1, len(made.q0))))[0]
    return made.stretched(size / np.ptp(shut, axis=0))


def _members(made: ArticulatedObject, index: int) -> list[int]:
    """Links that move with joint `index`: its own, and all that hang on it."""
    found = [index + 1]
    for link, parent in enumerate(made.parents):
        if parent in found:
            found.append(link)
    return found


def _origin(made: ArticulatedObject, index: int) -> np.ndarray:
    """[3] m: where joint `index` is in the fixture's frame."""
    pose = made.poses(np.zeros((1, len(made.q0))))[0, index + 1]
    return _FRONT @ (pose[:3, 3] + [0, 0, -_floor(made)])


def _floor(made: ArticulatedObject) -> float:
    return float(made.vertices(np.zeros((1, len(made.q0))))[0][:, 2].min())


def _panel(made: ArticulatedObject, index: int) -> np.ndarray:
    """[2, 3] m: the moving link's box in its own frame, fixture's axes, up to its front face."""
    link = made.links[index + 1]
    vertices = link.vertices @ _FRONT.T
    corners = vertices[link.faces]
    normal = np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0])
    flat = -normal[:, 0] > 0.99 * np.linalg.norm(normal, axis=1)
    low, high = vertices.min(0), vertices.max(0)
    if flat.any():
        # The front face is where most of the area that looks to the front lies.
        depth = np.round(corners[flat].mean(1)[:, 0], 4)
        area = np.linalg.norm(normal[flat], axis=1)
        planes, which = np.unique(depth, return_inverse=True)
        low[0] = planes[np.bincount(which.ravel(), area).argmax()]
    return np.stack([low, high])


def _fixture(
    made: ArticulatedObject,
    index: int,
    rng: np.random.Generator,
    *,
    at: np.ndarray,
    height: float,
    limits: tuple[float, float],
    bar: bool = False,
    friction: float = 0.08,
    damping: float = 0.15,
) -> Fixture:
    joint, members, floor = made.joints[index], _members(made, index), _floor(made)
    poses = made.poses(np.zeros((1, len(made.q0))))[0]
    origin, panel = _origin(made, index), _panel(made, index)
    base = [link for link in range(len(made.links)) if link not in members]
    still = [_link_mesh(made, link, poses[link], np.array([0, 0, floor])) for link in base]
    moving = [_link_mesh(made, link, poses[link], poses[index + 1][:3, 3]) for link in members]
    _, color = prop_material(rng)
    pull, geom, grasp = _handle(at, height, color, bar=bar)
    moving.append(mesh_of(pull, "handle"))
    depth = min(0.02, float(np.ptp(panel[:, 0])))
    board = panel.copy()
    if not (joint.kind == "revolute" and abs(joint.axis[0]) > 0.99):
        board[1, 0] = panel[0, 0] + depth
    solid = np.concatenate([mesh.vertices for mesh in still])
    low, high = solid.min(0), solid.max(0)
    return Fixture(
        kind=made.category,
        base_mesh=Mesh.concatenate(still, name=made.category),
        part_mesh=Mesh.concatenate(moving, name=joint.name),
        base_geoms=(_box(low, high),),
        part_geoms=(_box(*board, slippery=True), geom),
        origin=origin,
        axis=_FRONT @ joint.axis,
        revolute=joint.kind == "revolute",
        limits=limits,
        panel=panel,
        handle=grasp,
        friction=friction,
        damping=damping,
    )


def _link_mesh(made: ArticulatedObject, link: int, pose: np.ndarray, about: np.ndarray) -> Mesh:
    one = made.links[link]
    vertices = (one.vertices @ pose[:3, :3].T + pose[:3, 3] - about) @ _FRONT.T
    alpha = np.full((len(one.colors), 1), 255, np.uint8)
    return Mesh(
        vertices=vertices,
        faces=one.faces,
        colors=np.concatenate([one.colors, alpha], 1),
        materials=(WHITE,),
        name=one.name,
    )


def _handle(
    at: np.ndarray, height: float, color: tuple[int, int, int], *, bar: bool
) -> tuple[list[MeshPart], Geom, np.ndarray]:
    """Parts, collision shape and grasp point of a handle standing out to -x from `at`."""
    x, y, z = at.tolist()
    half = height / 2
    if bar:
        reach, radius = 0.045, 0.0095
        rod = _SHAPES.cylinder(radius, z - half, z + half, color).moved(x - reach, y)
        posts = [
            _SHAPES.box(
                (x - reach, y - 0.006, z + s * 0.8 * half - 0.006),
                (x + 0.004, y + 0.006, z + s * 0.8 * half + 0.006),
                color,
            )
            for s in (-1, 1)
        ]
        geom = Geom("cylinder", (radius, half), (x - reach, y, z))
        return [rod, *posts], geom, np.array([x - reach, y, z])
    reach, thick = 0.048, 0.018
    low, high = (x - reach, y - thick / 2, z - half), (x + 0.004, y + thick / 2, z + half)
    geom = _box(np.array(low), np.array(high))
    return [_SHAPES.box(low, high, color)], geom, np.array([x - 0.032, y, z])


def _box(low: np.ndarray, high: np.ndarray, *, slippery: bool = False) -> Geom:
    middle, size = (low + high) / 2, np.maximum((high - low) / 2, 1e-3)
    return Geom("box", tuple(size.tolist()), tuple(middle.tolist()), slippery)
