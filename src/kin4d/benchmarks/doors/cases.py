"""Cases of the doors benchmark: a cabinet with one door ajar, and a gripper's way to open it.

The closed gripper reaches behind the free edge of the door and follows an arc about the true
hinge. Where it reaches in, how wide the door is and which way it opens come from the true cabinet.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache

import numpy as np
import torch
from scipy.spatial.transform import Rotation

from kin4d.bodies.articulated import ArticulatedBody
from kin4d.bodies.robot.registry import load_robot
from kin4d.geometry.mesh import Mesh
from kin4d.geometry.sampling import sample_surface
from kin4d.objects.procedural.assembly import ArticulatedObject
from kin4d.objects.sources import articulated_source

CATEGORIES = (
    "cabinet",
    "wardrobe",
    "refrigerator",
    "microwave",
    "safe",
    "oven",
    "dishwasher",
)
"""Procedural kinds with doors on hinges; wardrobes with sliding doors are passed over."""

SECONDS, FPS = 3.0, 30.0
_AJAR, _OPEN = 0.35, 0.85  # rad at least at the start; of the range at the end
_ROOM = 0.09  # m that the free edge stands out at the start, so that the gripper fits behind it
_REACH, _GAP = 0.035, 0.005  # m of the fingers behind the door, and between them and it
_SMALLEST = 0.18  # m, width and height of a door
_ROWS = 240  # per second of the way
_RATE = 20.0  # 1/s, at which a door's own swing dies away


@dataclass(frozen=True, eq=False, kw_only=True)
class DoorCase:
    """A cabinet with one door ajar and the gripper's way.

    Attributes:
        name: Category and seed.
        body: The true cabinet.
        q: [k] its coordinates at the start: one door ajar, the rest closed.
        mesh: Its bare mesh in this state, m, z up.
        joint: Column of the door among the coordinates.
        point: [3] m, on the hinge.
        axis: [3] unit; positive angles open.
        limits: rad of the door.
        width: m from the hinge to the free edge.
        door_vertices: [V] bool of the mesh.
        door_faces: [F] bool of the mesh.
        carried: [V] bool: the door, and handles and knobs on it.
        damping: N m s/rad of the hinge.
        gripper: [P, 4, 4] poses of the gripper in the world, `_ROWS` per second.
    """

    name: str
    body: ArticulatedBody
    q: np.ndarray
    mesh: Mesh
    joint: int
    point: np.ndarray
    axis: np.ndarray
    limits: tuple[float, float]
    width: float
    door_vertices: np.ndarray
    door_faces: np.ndarray
    carried: np.ndarray
    damping: float
    gripper: np.ndarray

    @property
    def range(self) -> float:
        """rad between the door's limits."""
        return self.limits[1] - self.limits[0]

    @property
    def gripper_coordinates(self) -> np.ndarray:
        """[P, 6] position and rotation vector of the gripper, without jumps."""
        start = Rotation.from_matrix(self.gripper[0, :3, :3])
        turned = Rotation.from_matrix(self.gripper[:, :3, :3])
        # About the first pose: a floating body's rotation vector counts from its rest.
        relative = (turned * start.inv()).as_rotvec()
        matrices = Rotation.from_rotvec(relative).as_matrix()
        shift = self.gripper[:, :3, 3] - matrices @ self.gripper[0, :3, 3]
        return np.concatenate([shift, relative], 1)

    @property
    def goal(self) -> float:
        """rad by which the gripper turns about the hinge."""
        turn = self.gripper[-1, :3, :3] @ self.gripper[0, :3, :3].T
        return float(Rotation.from_matrix(turn).as_rotvec() @ self.axis)

    def turned(self, angle: float) -> np.ndarray:
        """[V, 3] m: the mesh with the door turned by `angle` rad about the true hinge."""
        turn = Rotation.from_rotvec(angle * self.axis).as_matrix()
        out = self.mesh.vertices.copy()
        out[self.carried] = (out[self.carried] - self.point) @ turn.T + self.point
        return out

    def angle(self, vertices: np.ndarray) -> float:
        """rad by which the door [V, 3] has turned about the true axis since the start."""
        before, after = self.mesh.vertices[self.door_vertices], vertices[self.door_vertices]
        turn = Rotation.align_vectors(after - after.mean(0), before - before.mean(0))[0]
        return float(turn.as_rotvec() @ self.axis)


@cache
def gripper_mesh() -> Mesh:
    """The closed gripper of kin4d_arm, in its own frame: fingers along z."""
    arm = load_robot("kin4d_arm")
    names = [link.name for link in arm.links]
    with torch.no_grad():
        poses = arm.link_poses(torch.zeros_like(arm.q0)).numpy()
    base = np.linalg.inv(poses[names.index("gripper")])
    parts = []
    for name in ("gripper", "finger_left", "finger_right"):
        number = names.index(name)
        mesh = arm.links[number].mesh
        assert mesh is not None
        parts.append(mesh.transformed(base @ poses[number]))
    return Mesh.concatenate(parts, name="gripper")


def door_cases(split: str, *, seed: int) -> Iterator[DoorCase]:
    """Cabinets of a split, one category after the other, without end."""
    rng = np.random.default_rng([seed, 24])
    source = articulated_source()
    while True:
        for category in CATEGORIES:
            _, number = source.only([category]).choose(rng, split)
            made = source.make(category, number)
            case = make_door_case(made.object)  # pyright: ignore[reportAttributeAccessIssue]
            if case is not None:
                yield case


def make_door_case(obj: ArticulatedObject) -> DoorCase | None:
    """The case of the object's largest door on a hinge; None if it has none that is fit for it."""
    best = max(_doors(obj), key=lambda found: found[0], default=None)
    return None if best is None else _case(obj, best[1])


def _doors(obj: ArticulatedObject) -> Iterator[tuple[float, int]]:
    """Size (m²) and link number of the doors on hinges."""
    for number, link in enumerate(obj.links[1:], 1):
        joint = obj.joints[number - 1]
        if joint.kind == "revolute" and joint.mimic is None and joint.name.startswith("door"):
            width, height = np.sort(np.ptp(link.vertices, axis=0))[1:]
            if width >= _SMALLEST:
                yield float(width * height), number


def _case(obj: ArticulatedObject, number: int) -> DoorCase | None:
    joint = obj.joints[number - 1]
    column = obj.free_joints.index(joint)
    closed = obj.poses(obj.q0[None])[0, number]
    axis = closed[:3, :3] @ (np.asarray(joint.axis) / np.linalg.norm(joint.axis))
    point = closed[:3, 3]
    on_door = obj.vertex_link == number
    shut = obj.vertices(obj.q0[None])[0]
    # A closed door lies in the plane of the front, which looks towards -y.
    leaf = shut[on_door]
    across = leaf.mean(0) - point
    across -= axis * (across @ axis) + np.array([0.0, across[1], 0.0])
    across /= max(float(np.linalg.norm(across)), 1e-12)
    outward = np.cross(axis, across)
    low, high = map(float, joint.limits)
    if outward @ [0.0, -1.0, 0.0] < 0.99 or obj.q0[column] != low:
        return None
    width = float(((leaf - point) @ across).max())
    thick = max(float(-((leaf - point) @ outward).min()), 0.0)
    ajar = low + max(_AJAR, float(np.arcsin(min((_ROOM + thick) / width, 1.0))))
    end = low + _OPEN * (high - low)
    if width < _SMALLEST or end - ajar < 0.5:
        return None
    q = obj.q0.copy()
    q[column] = ajar
    vertices = obj.vertices(q[None])[0]
    mesh = Mesh(vertices=vertices, faces=obj.faces, name=obj.category)
    body = obj.body()
    start = _reach_in(leaf, _link_mesh(obj, number, closed), point, axis, across, outward, width)
    return DoorCase(
        name=f"{obj.category} {obj.seed}",
        body=body,
        q=q,
        mesh=mesh,
        joint=column,
        point=point,
        axis=axis,
        limits=(low, high),
        width=width,
        door_vertices=on_door,
        door_faces=on_door[obj.faces[:, 0]],
        carried=np.isin(obj.vertex_link, _carried_links(obj, number)),
        damping=_RATE * _hinge_inertia(body, q, column),
        gripper=_arc(start, point, axis, ajar - low, end - low),
    )


def _carried_links(obj: ArticulatedObject, number: int) -> list[int]:
    """Numbers of a link and of all that hangs on it."""
    found = [number]
    for link, parent in enumerate(obj.parents):  # parents come before their children
        if parent in found:
            found.append(link)
    return found


def _link_mesh(obj: ArticulatedObject, number: int, pose: np.ndarray) -> Mesh:
    """A link's surface with its frame at `pose`."""
    link = obj.links[number]
    vertices = link.vertices @ pose[:3, :3].T + pose[:3, 3]
    return Mesh(vertices=vertices, faces=link.faces, name=link.name)


def _reach_in(
    leaf: np.ndarray,
    door: Mesh,
    point: np.ndarray,
    axis: np.ndarray,
    across: np.ndarray,
    outward: np.ndarray,
    width: float,
) -> np.ndarray:
    """[4, 4] of the gripper at a closed door: behind its free edge, where it is flattest."""
    points = sample_surface(door, 20000, seed=0).points(door.vertices) - point
    along, radius, depth = points @ axis, points @ across, points @ outward
    low, high = np.quantile((leaf - point) @ axis, [0.0, 1.0])
    half = np.ptp(gripper_mesh().vertices[:, 0]) / 2
    best, behind = (low + high) / 2, -np.inf
    for height in np.linspace(low + half, high - half, 15):
        near = (abs(along - height) < half) & (radius > width - 1.5 * _REACH)
        inner = float(depth[near].min()) if near.any() else -np.inf
        if inner > behind + 1e-3:
            best, behind = height, inner
    hand = gripper_mesh().vertices
    tip = hand[:, 2].max()
    fingers = hand[hand[:, 2] > tip - _REACH]
    pose = np.eye(4)
    pose[:3, :3] = np.stack([np.cross(outward, -across), outward, -across], 1)
    # Fingertips point to the hinge; the side of the fingers that faces the door is +y.
    pose[:3, 3] = (
        point
        + axis * best
        + across * (width - _REACH + tip)
        + outward * (behind - _GAP - fingers[:, 1].max())
    )
    return pose


def _arc(
    start: np.ndarray, point: np.ndarray, axis: np.ndarray, first: float, last: float
) -> np.ndarray:
    """[P, 4, 4]: `start` turned about the hinge from `first` to `last`, at rest at both ends."""
    share = np.linspace(0, 1, round(SECONDS * _ROWS) + 1)
    share = np.clip(share / 0.9, 0, 1)  # it waits at the end
    angle = first + (last - first) * share**3 * (10 - 15 * share + 6 * share**2)
    turns = Rotation.from_rotvec(angle[:, None] * axis).as_matrix()
    out = np.tile(np.eye(4), (len(angle), 1, 1))
    out[:, :3, :3] = turns @ start[:3, :3]
    out[:, :3, 3] = (start[:3, 3] - point) @ turns.transpose(0, 2, 1) + point
    return out


def _hinge_inertia(body: ArticulatedBody, q: np.ndarray, column: int) -> float:
    """kg m² of the door and what it carries about its hinge."""
    with torch.no_grad():
        moving = body.jacobian(torch.from_numpy(q))[..., column].numpy()
    return float((body.mass.numpy() * (moving**2).sum(-1)).sum())
