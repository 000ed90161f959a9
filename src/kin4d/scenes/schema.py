"""What a scene file may say: frozen dataclasses, one for each mapping of the file.

Lengths are metres, z is up; angles are degrees only in `rotation` and `fov`, else radians. Files
are named relative to the scene file and lie in its folder.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Annotated, NamedTuple

from kin4d.geometry.up_axis import UpAxis
from kin4d.loading import BodyType

Vector = tuple[float, float, float]


class Interval(NamedTuple):
    """Least and greatest number allowed; `open` excludes the least."""

    low: float
    high: float = float("inf")
    open: bool = False


Positive = Annotated[float, Interval(0, open=True)]
Fraction = Annotated[float, Interval(0, 1)]


@dataclass(frozen=True, kw_only=True)
class KeyframeSpec:
    """Where a robot is at one time. What is left out stays as it was.

    Attributes:
        time: Seconds.
        position: m, of the end effector in the world.
        rotation: Degrees: roll, pitch and yaw of the end effector about the world's axes.
        q: Coordinates by name, rad or m; not together with positions and rotations.
        gripper: Opening, 0 closed to 1 open.
    """

    time: Annotated[float, Interval(0)]
    position: Vector | None = None
    rotation: Vector | None = None
    q: dict[str, float] = field(default_factory=dict)
    gripper: Fraction | None = None


@dataclass(frozen=True, kw_only=True)
class MotionSpec:
    """How a robot is driven: by keyframes or by a file of actions.

    Attributes:
        keyframes: In order of time; the way through them is smooth, and at rest where it turns.
        actions: .npz, .npy, .csv or .parquet, as of `kin4d robot`.
        fps: Actions per second, if the file does not say.
        max_force: N or N m with which a coordinate moves at most, by name. A gripper needs it to
            stop at what it holds.
        tolerance: m by which poses may be missed.
    """

    keyframes: tuple[KeyframeSpec, ...] = ()
    actions: str | None = None
    fps: Positive | None = None
    max_force: dict[str, Positive] = field(default_factory=dict)
    tolerance: Positive = 2e-3


@dataclass(frozen=True, kw_only=True)
class PushSpec:
    """A force at a point for some time.

    Attributes:
        point: m, on the surface at rest.
        force: N.
        start: Seconds.
        duration: Seconds.
    """

    point: Vector
    force: Vector
    start: Annotated[float, Interval(0)] = 0.0
    duration: Positive


@dataclass(frozen=True, kw_only=True)
class BodySpec:
    """A body that takes part.

    Attributes:
        load: A mesh or clip, URDF or MJCF file, a robot's name or an object category.
        name: Unique in the scene; by default the body's own.
        body_type: What a mesh becomes; see `kin4d.load`.
        bare_mesh: Whether joints that are known are forgotten.
        position: m.
        rotation: Degrees: roll, pitch, yaw about the world's axes.
        q: Coordinates at the start by name, rad or m.
        floating: Whether a body with joints is free to move as a whole.
        material: rubber, foam, cloth, paper, wood, steel or jelly.
        mass: kg.
        size: m of the diagonal of a mesh's bounding box.
        up: Axis of a mesh file that points up.
        pin: Sides of a soft body that are fixed.
        seed: Of an object category.
        weights: Of a learned or articulated body.
        dof: Number of coordinates of a learned body.
        joint_damping: N m s/rad or N s/m of every joint.
        pushes: Forces on it.
        motion: How it is driven; it moves by forces and contact if there is none.
        contacts: How many points can touch something.
        contact_links: The links that can touch something; all if empty.
        contact_cells: See `kin4d.Actor`.
    """

    load: str
    name: str = ""
    body_type: BodyType = "auto"
    bare_mesh: bool = False
    position: Vector = (0.0, 0.0, 0.0)
    rotation: Vector = (0.0, 0.0, 0.0)
    q: dict[str, float] = field(default_factory=dict)
    floating: bool = False
    material: str | None = None
    mass: Positive | None = None
    size: Positive | None = None
    up: UpAxis | None = None
    pin: tuple[str, ...] = ()
    seed: int = 0
    weights: str = "small"
    dof: Annotated[int, Interval(1)] | None = None
    joint_damping: Annotated[float, Interval(0)] = 0.0
    pushes: tuple[PushSpec, ...] = ()
    motion: MotionSpec | None = None
    contacts: Annotated[int, Interval(0)] = 512
    contact_links: tuple[str, ...] = ()
    contact_cells: Annotated[int, Interval(8, 400)] = 40


@dataclass(frozen=True, kw_only=True)
class StaticSpec:
    """Something that stands still: a mesh or a box.

    Attributes:
        mesh: A mesh file.
        box: m, edge lengths.
        name: For people.
        color: Of a box, as #rrggbb.
        position: m, of the mesh's origin or the box's middle.
        rotation: Degrees: roll, pitch, yaw.
        size: m of the diagonal of a mesh's bounding box.
        up: Axis of a mesh file that points up.
    """

    mesh: str | None = None
    box: tuple[Positive, Positive, Positive] | None = None
    name: str = "static"
    color: str = "#b8a78f"
    position: Vector = (0.0, 0.0, 0.0)
    rotation: Vector = (0.0, 0.0, 0.0)
    size: Positive | None = None
    up: UpAxis | None = None


@dataclass(frozen=True, kw_only=True)
class CameraSpec:
    """A view.

    Attributes:
        name: Unique in the scene.
        eye: m.
        target: m, what it looks at.
        fov: Degrees, vertical.
        width: Pixels.
        height: Pixels.
    """

    name: str = "camera"
    eye: Vector
    target: Vector
    fov: Annotated[float, Interval(1, 170)] = 45.0
    width: Annotated[int, Interval(16, 8192)] = 720
    height: Annotated[int, Interval(16, 8192)] = 480


@dataclass(frozen=True, kw_only=True)
class SceneSpec:
    """A whole scene.

    Attributes:
        bodies: What takes part.
        static: What stands still.
        cameras: Views.
        ground: m, height of a floor; null for none.
        gravity: Whether bodies fall.
        surface: Material of floor and static meshes; null for each body's own.
        wind: m/s of the air.
        seconds: How long it runs.
        fps: Frames per second of the result.
        dt: Longest time step, s.
    """

    bodies: tuple[BodySpec, ...]
    static: tuple[StaticSpec, ...] = ()
    cameras: tuple[CameraSpec, ...] = ()
    ground: float | None = None
    gravity: bool = True
    surface: str | None = None
    wind: Vector | None = None
    seconds: Positive = 3.0
    fps: Positive = 30.0
    dt: Annotated[float, Interval(0, 1 / 30, open=True)] = 1 / 240
