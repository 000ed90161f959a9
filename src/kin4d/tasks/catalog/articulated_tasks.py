"""Tasks with articulated objects: drawers, doors, lids, buttons."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from kin4d.objects.procedural.parts import PartShapes
from kin4d.tasks.catalog.placement import looked_at
from kin4d.tasks.fixtures import Fixture, doors, drawers, lids
from kin4d.tasks.props import Geom, mesh_of, prop_material
from kin4d.tasks.scene_builder import SceneBuilder
from kin4d.tasks.task_scene import TaskSpec
from kin4d.tasks.trajectory import Trajectory, above, grasp_pose

_SHAPES = PartShapes(sides=20)
_OBLIQUE = ((-132.0, -104.0), (104.0, 132.0))
_FINGER = 0.012  # half the thickness of a finger, m


class _Placed:
    """A fixture on the table: where points of its part are at a value of its joint."""

    def __init__(
        self, builder: SceneBuilder, fixture: Fixture, *, x: float, yaw: float, value: float
    ):
        self.fixture, self.yaw = fixture, yaw
        c, s = np.cos(yaw), np.sin(yaw)
        self.rotation = np.array([[c, -s, 0], [s, c, 0], [0, 0, 1.0]])
        # The handle of the shut fixture comes to (x, 0): furniture of any size is in reach.
        handle = self.rotation @ (fixture.origin + fixture.handle)
        self.at = np.array([x - handle[0], -handle[1], 0.0])
        builder.add_fixture("fixture", fixture, self.at[:2].tolist(), yaw=yaw, value=value)

    def point(self, local: np.ndarray, value: float) -> np.ndarray:
        """[3] m: a point of the part, given in its frame, in the world."""
        fixture = self.fixture
        if fixture.revolute:
            moved = _rotation(fixture.axis, value) @ local
        else:
            moved = local + value * fixture.axis
        return self.at + self.rotation @ (fixture.origin + moved)


def open_drawer(builder: SceneBuilder, trajectory: Trajectory) -> TaskSpec:
    """Grasp a drawer's handle and pull."""
    rng = builder.rng
    fixture = drawers(rng)
    placed = _Placed(
        builder, fixture, x=rng.uniform(0.02, 0.07), yaw=rng.uniform(-0.3, 0.3), value=0.0
    )
    tilt, pull = rng.uniform(0.55, 0.95), min(fixture.limits[1] - 0.01, rng.uniform(0.09, 0.12))
    handle = placed.point(fixture.handle, 0.0)
    _take(trajectory, handle, placed.yaw, tilt)
    trajectory.go(
        grasp_pose(placed.point(fixture.handle, pull), yaw=placed.yaw, tilt=tilt), speed=0.18
    )
    trajectory.grip(0.7, seconds=0.25)
    trajectory.translate(-0.05 * _approach(placed.yaw, tilt), speed=0.3)
    return TaskSpec(
        instruction="open the drawer",
        trajectory=trajectory,
        success=lambda s: s.joint("fixture") > 0.055,
        objects=(fixture.kind,),
        focus=(-0.02, 0.0, 0.12),
        span=0.52,
        sides=_OBLIQUE,
    )


def close_drawer(builder: SceneBuilder, trajectory: Trajectory) -> TaskSpec:
    """Push an open drawer shut."""
    rng, arm = builder.rng, builder.arm
    fixture = _smooth(drawers(rng))
    value = min(fixture.limits[1], rng.uniform(0.075, 0.11))
    placed = _Placed(
        builder, fixture, x=rng.uniform(0.02, 0.07), yaw=rng.uniform(-0.3, 0.3), value=value
    )
    tilt = rng.uniform(0.7, 1.1)
    front = fixture.handle - [0.016, 0, 0]
    back = -arm.tip * _approach(placed.yaw, tilt)
    trajectory.grip(0.0, seconds=0.1)
    first = placed.point(front, value) + back
    trajectory.go(
        grasp_pose(first - 0.05 * _approach(placed.yaw, tilt), yaw=placed.yaw, tilt=tilt), speed=0.4
    )
    trajectory.go(grasp_pose(first, yaw=placed.yaw, tilt=tilt), speed=0.25)
    trajectory.go(
        grasp_pose(placed.point(front, -0.006) + back, yaw=placed.yaw, tilt=tilt), speed=0.18
    )
    # A finger caught in the handle would pull the drawer open again.
    trajectory.wait(0.1).translate(np.array([0, 0, 0.02]), speed=0.15)
    trajectory.translate(-0.06 * _approach(placed.yaw, tilt), speed=0.3)
    return TaskSpec(
        instruction="close the drawer",
        trajectory=trajectory,
        success=lambda s: s.joint("fixture") < 0.015,
        objects=(fixture.kind,),
        focus=(-0.02, 0.0, 0.12),
        span=0.52,
        sides=_OBLIQUE,
    )


def open_door(builder: SceneBuilder, trajectory: Trajectory) -> TaskSpec:
    """Grasp a door's handle and swing it open."""
    rng = builder.rng
    fixture = doors(rng)
    placed = _Placed(
        builder, fixture, x=rng.uniform(0.02, 0.06), yaw=rng.uniform(-0.2, 0.2), value=0.0
    )
    tilt, swing = rng.uniform(0.5, 0.95), rng.uniform(0.85, 1.1)
    side = float(np.sign(fixture.axis[2]))
    _take(trajectory, placed.point(fixture.handle, 0.0), placed.yaw, tilt)
    arc = [
        grasp_pose(placed.point(fixture.handle, a), yaw=placed.yaw + 0.85 * side * a, tilt=tilt)
        for a in np.linspace(0, swing, 15)[1:]
    ]
    trajectory.follow(arc, speed=0.16).grip(0.8, seconds=0.25)
    trajectory.translate(-0.06 * _approach(placed.yaw + 0.85 * side * swing, tilt), speed=0.3)
    return TaskSpec(
        instruction=f"open the {fixture.kind} door",
        trajectory=trajectory,
        success=lambda s: s.joint("fixture") > 0.6,
        objects=(fixture.kind,),
        focus=(0.0, 0.0, 0.12),
        span=0.54,
        sides=_OBLIQUE,
    )


def close_door(builder: SceneBuilder, trajectory: Trajectory) -> TaskSpec:
    """Push an open door shut."""
    rng, arm = builder.rng, builder.arm
    fixture = _smooth(doors(rng))
    value = rng.uniform(0.8, 1.2)
    placed = _Placed(
        builder, fixture, x=rng.uniform(0.02, 0.06), yaw=rng.uniform(-0.2, 0.2), value=value
    )
    panel = fixture.panel
    free = panel[np.abs(panel[:, 1]).argmax(), 1]
    spot = np.array([panel[0, 0] - _FINGER - 0.002, 0.62 * free, panel[1, 2] - arm.tip - 0.012])
    away = spot - [0.05, 0, 0]
    trajectory.grip(0.0, seconds=0.1)
    first = placed.point(away, value)
    yaw = placed.yaw + 0.5 * float(np.sign(fixture.axis[2])) * value
    trajectory.go(grasp_pose(above(first, 0.08), yaw=yaw), speed=0.4)
    trajectory.go(grasp_pose(first, yaw=yaw), speed=0.3)
    arc = [
        grasp_pose(placed.point(spot, a), yaw=placed.yaw + (yaw - placed.yaw) * a / value)
        for a in np.linspace(value, -0.01, 15)
    ]
    trajectory.follow(arc, speed=0.18).translate(
        -0.04 * _approach(placed.yaw, np.pi / 2), speed=0.3
    )
    return TaskSpec(
        instruction=f"close the {fixture.kind} door",
        trajectory=trajectory,
        success=lambda s: s.joint("fixture") < 0.12,
        objects=(fixture.kind,),
        focus=(0.0, 0.0, 0.12),
        span=0.54,
        sides=_OBLIQUE,
    )


def open_lid(builder: SceneBuilder, trajectory: Trajectory) -> TaskSpec:
    """Lift a lid by its tab."""
    rng = builder.rng
    fixture = lids(rng)
    placed = _Placed(
        builder, fixture, x=rng.uniform(-0.07, -0.02), yaw=rng.uniform(-0.5, 0.5), value=0.0
    )
    tilt, swing = 0.55, rng.uniform(1.0, 1.25)
    _take(trajectory, placed.point(fixture.handle, 0.0), placed.yaw, tilt)
    arc = [
        grasp_pose(placed.point(fixture.handle, a), yaw=placed.yaw, tilt=tilt)
        for a in np.linspace(0, swing, 15)[1:]
    ]
    trajectory.follow(arc, speed=0.18).grip(0.8, seconds=0.25)
    trajectory.translate(-0.05 * _approach(placed.yaw, tilt), speed=0.3)
    return TaskSpec(
        instruction=f"open the lid of the {_plain(fixture.kind)}",
        trajectory=trajectory,
        success=lambda s: s.joint("fixture") > 0.65,
        objects=(fixture.kind,),
        focus=(-0.02, 0.0, 0.12),
        span=0.5,
        sides=((-140.0, -60.0), (60.0, 140.0)),
    )


def close_lid(builder: SceneBuilder, trajectory: Trajectory) -> TaskSpec:
    """Push an open lid shut."""
    rng, arm = builder.rng, builder.arm
    fixture = _smooth(lids(rng))
    value, side = rng.uniform(1.1, 1.5), rng.choice([-1.0, 1.0])
    yaw = side * rng.uniform(0.9, 1.7)
    placed = _Placed(builder, fixture, x=0.0, yaw=yaw, value=value)
    hand = (yaw + np.pi / 2) % np.pi - np.pi / 2

    def spot(angle: float, off: float = 0.0) -> np.ndarray:
        # Side of a finger against an upright lid, tip of the finger on a level one.
        gap = arm.tip * max(np.cos(angle), 0) + (_FINGER + 0.002) * np.sin(angle) + off
        return placed.point(above(fixture.handle, 0.015 + gap), angle)

    trajectory.grip(0.0, seconds=0.1)
    trajectory.go(grasp_pose(above(spot(value, 0.05), 0.07), yaw=hand), speed=0.4)
    trajectory.go(grasp_pose(spot(value, 0.05), yaw=hand), speed=0.3)
    trajectory.follow(
        [grasp_pose(spot(a), yaw=hand) for a in np.linspace(value, -0.02, 15)], speed=0.18
    )
    trajectory.translate((0, 0, 0.06), speed=0.3)
    return TaskSpec(
        instruction=f"close the lid of the {_plain(fixture.kind)}",
        trajectory=trajectory,
        success=lambda s: s.joint("fixture") < 0.15,
        objects=(fixture.kind,),
        focus=looked_at(spot(value), spot(0.0), height=0.14),
        span=0.58,
        sides=((-140.0, -40.0), (40.0, 140.0)),
    )


def press_button(builder: SceneBuilder, trajectory: Trajectory) -> TaskSpec:
    """Push a large button down; it stays down."""
    rng, arm = builder.rng, builder.arm
    name, color = prop_material(rng, besides=("black",))
    _, shell = prop_material(rng, besides=(name,))
    half, height = rng.uniform(0.045, 0.06), rng.uniform(0.03, 0.06)
    radius, travel = rng.uniform(0.026, 0.034), 0.03
    box = _SHAPES.rounded_box((-half, -half, 0), (half, half, height), 0.012, shell)
    collar = _SHAPES.cylinder(radius + 0.005, height - 0.001, height + 0.004, (60, 62, 68))
    cap = _SHAPES.cylinder(radius, -travel, 0.008, color)
    top = height + travel + 0.008
    fixture = Fixture(
        kind="button",
        base_mesh=mesh_of([box, collar], "box"),
        part_mesh=mesh_of([cap], "button"),
        base_geoms=(Geom("box", (half, half, height / 2), (0, 0, height / 2)),),
        part_geoms=(
            Geom("cylinder", (radius, (travel + 0.008) / 2), (0, 0, (0.008 - travel) / 2)),
        ),
        origin=np.array([0, 0, top - 0.008]),
        axis=np.array([0.0, 0.0, -1.0]),
        revolute=False,
        limits=(0.0, travel),
        panel=np.array([[-radius, -radius, 0], [radius, radius, 0.008]]),
        handle=np.array([0, 0, 0.008]),
        mass=0.05,
        friction=2.0,
        damping=8.0,
    )
    at = rng.uniform((-0.08, -0.14), (0.08, 0.14))
    builder.add_fixture("fixture", fixture, at.tolist(), yaw=rng.uniform(-0.6, 0.6), value=0.0)
    yaw = rng.uniform(-0.6, 0.6)
    trajectory.grip(0.0, seconds=0.1)
    trajectory.go(grasp_pose(np.array([*at, top + arm.tip + 0.06]), yaw=yaw), speed=0.4)
    trajectory.go(grasp_pose(np.array([*at, top + arm.tip + 0.01]), yaw=yaw), speed=0.3)
    trajectory.go(grasp_pose(np.array([*at, top + arm.tip - travel]), yaw=yaw), speed=0.12).wait(
        0.15
    )
    trajectory.translate((0, 0, 0.07), speed=0.3)
    return TaskSpec(
        instruction=f"press the {name} button",
        trajectory=trajectory,
        success=lambda s: s.joint("fixture") > 0.6 * travel,
        objects=("button",),
        focus=looked_at(at, height=0.08),
        span=0.44,
    )


def _take(trajectory: Trajectory, handle: np.ndarray, yaw: float, tilt: float) -> None:
    """Come at a handle along the approach and close on it."""
    trajectory.grip(0.75, seconds=0.1)
    trajectory.go(grasp_pose(handle - 0.08 * _approach(yaw, tilt), yaw=yaw, tilt=tilt), speed=0.35)
    trajectory.go(grasp_pose(handle, yaw=yaw, tilt=tilt), speed=0.2)
    trajectory.grip(0.0, seconds=0.35)


def _approach(yaw: float, tilt: float) -> np.ndarray:
    """[3] unit vector that the hand of `grasp_pose` points along."""
    return grasp_pose(np.zeros(3), yaw=yaw, tilt=tilt)[:3, 2]


def _rotation(axis: np.ndarray, angle: float) -> np.ndarray:
    from scipy.spatial.transform import Rotation

    return Rotation.from_rotvec(angle * axis).as_matrix()


def _smooth(fixture: Fixture) -> Fixture:
    """The same, for pushing: a finger slides along its part and does not drag it back."""
    return replace(
        fixture, part_geoms=tuple(replace(geom, slippery=True) for geom in fixture.part_geoms)
    )


def _plain(kind: str) -> str:
    return kind.replace("_", " ")
