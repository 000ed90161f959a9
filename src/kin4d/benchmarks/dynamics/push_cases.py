"""Test objects and fair pushes: the same force at the same point for any engine."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import torch

from kin4d.benchmarks.dynamics import mujoco_tree
from kin4d.bodies.articulated import ArticulatedBody
from kin4d.bodies.floating import FloatingBase
from kin4d.dynamics import forces
from kin4d.dynamics.contact.contact_points import nearest_surface_point
from kin4d.errors import InputError
from kin4d.objects.procedural.assembly import ArticulatedObject
from kin4d.objects.procedural.categories import make_object
from kin4d.objects.sources import articulated_source
from kin4d.storage.splits import split_of

PUSH_SECONDS = 0.1


@dataclass(frozen=True, eq=False, kw_only=True)
class PushCase:
    """A push on one vertex, as strong as moves it by a given part of the object.

    Attributes:
        vertex: Of the body's rest mesh.
        at: [3] m, where it is at rest.
        force: [3] N.
        start: s.
        duration: s.
    """

    vertex: int
    at: np.ndarray
    force: np.ndarray
    start: float = 0.0
    duration: float = PUSH_SECONDS

    @property
    def ours(self) -> forces.Push:
        """As a force of kin4d."""
        at = tuple(self.at.tolist())
        return forces.Push(at, self.force, start=self.start, duration=self.duration)

    @property
    def theirs(self) -> mujoco_tree.MujocoPush:
        """As a push of `MujocoTree`."""
        end = self.start + self.duration
        return mujoco_tree.MujocoPush(
            vertex=self.vertex, force=self.force, start=self.start, end=end
        )


def held_out_objects(count: int, *, seed: int, split: str = "test") -> Iterator[ArticulatedObject]:
    """Objects of a split, one category after the other."""
    source = articulated_source()
    found, number = 0, seed
    while found < count:
        category = source.categories[number % len(source.categories)]
        # Most seeds are for training: go on until one is not.
        for step in range(1000):
            identity = source.identity(category, 1000 * (number + 1) + step)
            if split_of(identity) == split and identity.seed is not None:
                yield make_object(category, identity.seed)
                found += 1
                break
        number += 1


def make_push_case(
    body: ArticulatedBody,
    rng: np.random.Generator,
    *,
    distance: float = 0.3,
    floating: bool = False,
    tries: int = 50,
) -> PushCase:
    """A push in a random direction on a random vertex that it can move.

    Unhindered, and without gravity, the vertex would move by `distance` (of the diameter) in 1 s,
    of a body that stands fast or is `floating`.
    """
    whole = FloatingBase(body) if floating else body
    with torch.no_grad():
        moving = whole.jacobian(whole.q0).numpy()
    inertia = np.einsum("pik,p,pil->kl", moving, body.mass.numpy(), moving)
    links = body.skin.joints[:, 0]
    able = np.array([bool(body.joints_above(link.name)) for link in body.links])
    vertices = np.flatnonzero(able[links])
    for _ in range(tries):
        vertex = int(rng.choice(vertices))
        at = body.rest.vertices[vertex]
        near = nearest_surface_point(body.rest, tuple(at.tolist()), what="push").corners[0, 0]
        if links[near] != links[vertex]:  # another link is at the same point
            continue
        slope = vertex_jacobian(body, vertex)
        if floating:  # The root moves it along and turns it about the origin.
            slope = np.hstack([np.eye(3), np.cross(np.eye(3), at).T, slope])
        direction = rng.standard_normal(3)
        direction /= np.linalg.norm(direction)
        answer = slope @ np.linalg.solve(inertia, slope.T @ direction)
        speed = PUSH_SECONDS * float(np.linalg.norm(answer))
        if speed * body.mass.sum() < 1e-3 * PUSH_SECONDS:  # along an axis, or across a slider
            continue
        strength = distance * body.rest.bbox_diagonal / speed
        return PushCase(vertex=vertex, at=at, force=strength * direction)
    raise InputError(f"no vertex of '{body.name}' can be pushed")


def face_masses(body: ArticulatedBody) -> np.ndarray:
    """[F] kg: the mass of every link, spread evenly over its own triangles."""
    link = body.skin.joints[body.rest.faces[:, 0], 0]
    areas = body.rest.face_areas
    mass = np.array([0.0 if one.inertial is None else one.inertial.mass for one in body.links])
    size = np.bincount(link, areas, minlength=len(mass))
    return areas * (mass / np.maximum(size, 1e-30))[link]


def vertex_jacobian(body: ArticulatedBody, vertex: int) -> np.ndarray:
    """[3, k]: how one vertex moves at rest."""
    link = int(body.skin.joints[vertex, 0])
    with torch.no_grad():
        pose = body.link_poses(body.q0)[link].numpy()
        local = (body.rest.vertices[vertex] - pose[:3, 3]) @ pose[:3, :3]
        slope = body.point_jacobian(body.q0, torch.tensor([link]), torch.tensor(local[None]))
    return slope[0].numpy()


class VertexError(NamedTuple):
    """How far vertices are off, over the size of the object.

    Attributes:
        last: The largest of any vertex at the end.
        moved: The mean over all frames and those vertices that truly move by more than a thousandth
            of the size: a large still part does not flatter it.
        all: The mean over all frames and vertices.
    """

    last: float
    moved: float
    all: float


def vertex_error(found: np.ndarray, true: np.ndarray, size: float) -> VertexError:
    """Of vertices [T, V, 3]."""
    apart = np.linalg.norm(found - true, axis=-1) / size
    moved = np.linalg.norm(true - true[0], axis=-1).max(0) > 1e-3 * size
    some = float(apart[:, moved].mean()) if moved.any() else 0.0
    return VertexError(float(apart[-1].max()), some, float(apart.mean()))


def quantiles(values: Sequence[float]) -> dict[str, float]:
    """How values spread."""
    names = {"median": 50, "90 %": 90, "worst": 100}
    return {name: float(np.percentile(values, rank)) for name, rank in names.items()}
