"""Creature: a made animal as a body in a skin, with its true joints, their limits and a gait."""

from __future__ import annotations

from colorsys import hsv_to_rgb
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import torch

from kin4d.bodies.floating import FloatingBase
from kin4d.bodies.segmented import JointSpec, SegmentedBody
from kin4d.bodies.skinned import SkinnedBody, fade_weights
from kin4d.errors import InputError
from kin4d.geometry.heat_weights import heat_weights
from kin4d.geometry.lattice import signed_volume
from kin4d.geometry.mesh import Mesh, vertex_normals
from kin4d.objects.creatures.anatomy import Anatomy, Bone
from kin4d.objects.creatures.kinds import GLIDES, KINDS
from kin4d.objects.creatures.surface import creature_surface

_SIZES = (0.15, 2.5)  # m: body lengths
_DENSITY = 1000.0  # kg/m³
_SHARPNESS = 0.25  # of the distance between bones, within which a vertex follows both
_GROUND = 0.02  # body lengths: feet that are lower stand
_SPEED = 0.5  # body lengths in a cycle, of creatures that glide


@dataclass(frozen=True, eq=False)
class Creature:
    """A creature at rest, looking along +y, with z up.

    Attributes:
        kind: Its kind.
        length: m, its body length.
        bones: Its bones, in body lengths.
        body: Its surface on its joints. Coordinates are called after bones: "left_leg1.bend".
    """

    kind: str
    length: float
    bones: tuple[Bone, ...]
    body: SkinnedBody

    @cached_property
    def floating(self) -> FloatingBase:
        """The body free in space."""
        return FloatingBase(self.body)

    @property
    def joints(self) -> np.ndarray:
        """[J, 3] m: where the joints are at rest."""
        return self.length * np.array([bone.start for bone in self.bones if bone.moves])

    def gait(self, frames: int, *, cycles: float = 1.0) -> np.ndarray:
        """[T, 6 + k] coordinates of `floating` on its way ahead: feet stand where they are set, and
        creatures without feet glide.

        Args:
            frames: T.
            cycles: Of the gait, over all frames.
        """
        time = np.arange(frames) * cycles / frames
        q = np.zeros((frames, 6 + len(self.body.q0)))
        waves = [move.wave for bone in self.bones for move in bone.moves]
        q[:, 6:] = np.stack([wave.at(time) for wave in waves], 1)
        q[:, 6:] = np.clip(q[:, 6:], *self.body.limits.numpy().T)
        if self.kind in GLIDES:
            q[:, 1] = _SPEED * self.length * time
        else:
            with torch.no_grad():
                vertices = self.floating.vertices(torch.from_numpy(q)).numpy()
            q[:, :3] = _planted(vertices, _GROUND * self.length)
        return q


def make_creature(kind: str, seed: int, *, cells: int = 88) -> Creature:
    """The creature of a kind and a seed.

    Args:
        kind: One of `KINDS`.
        seed: Any.
        cells: Of the grid its surface is drawn on, along the longest side.
    """
    if kind not in KINDS:
        raise InputError("kind of creature", value=kind, allowed=", ".join(KINDS))
    rng = np.random.default_rng([seed, list(KINDS).index(kind)])
    anatomy = KINDS[kind](rng)
    length = float(np.exp(rng.uniform(*np.log(_SIZES))))
    vertices, faces, far = creature_surface(anatomy.bones, cells=cells)
    weights = _weights(anatomy, vertices, faces, far)
    mesh = Mesh(
        vertices=length * vertices,
        faces=faces,
        colors=_colors(vertices, faces, rng),
        name=f"{kind}_{seed}",
    )
    return Creature(kind, length, tuple(anatomy.bones), _body(anatomy, mesh, weights, length))


def _body(anatomy: Anatomy, mesh: Mesh, weights: np.ndarray, length: float) -> SkinnedBody:
    """The skinned body of weights [V, B]; bones without moves belong to their parents."""
    specs: list[JointSpec] = []
    link = np.zeros(len(anatomy.bones), np.int64)
    for number, bone in enumerate(anatomy.bones):
        link[number] = link[bone.parent] if bone.parent >= 0 else 0
        for move in bone.moves:
            specs.append(
                JointSpec(
                    name=f"{bone.name}.{move.name}",
                    parent=int(link[number]),
                    kind="revolute",
                    point=length * bone.start,
                    axis=move.axis,
                    limits=move.limits,
                )
            )
            link[number] = len(specs)
    spread = np.zeros((len(weights), len(specs) + 1))
    np.add.at(spread.T, link, weights.T)
    mass = _DENSITY * max(signed_volume(mesh), 1e-9)
    tree = SegmentedBody(mesh, link[weights.argmax(1)], specs, mass=mass)
    return SkinnedBody(tree, spread)


def _weights(
    anatomy: Anatomy, vertices: np.ndarray, faces: np.ndarray, far: np.ndarray
) -> np.ndarray:
    """[V, B] how much each vertex follows each bone: the one it is nearest to (`far` [V, B]), and
    towards their joints the bones next to it."""
    bones = anatomy.bones
    parent = np.array([bone.parent for bone in bones])
    linked = np.eye(len(bones), dtype=bool)
    child = np.flatnonzero(parent >= 0)
    linked[child, parent[child]] = linked[parent[child], child] = True
    nearest = far.argmin(1)
    radius = np.array([max(bone.radius) for bone in bones])
    gap = np.where(linked[nearest], far - far.min(1, keepdims=True), np.inf)
    shares = np.exp(-gap / (_SHARPNESS * radius[nearest, None]))
    shares /= shares.sum(1, keepdims=True)
    return fade_weights(heat_weights(vertices, faces, shares, 0.7 * radius[nearest]))


def _colors(vertices: np.ndarray, faces: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """[V, 4] uint8: a back in one colour and a belly that is lighter, perhaps with bands."""
    hue, shade = rng.uniform(-0.05, 0.2), rng.uniform(0.3, 0.85)  # brown, red, yellow to green
    back = 255 * np.array(hsv_to_rgb(hue % 1, rng.uniform(0.15, 0.65), shade))
    belly = back + (255 - back) * rng.uniform(0.3, 0.8)
    light = 0.5 - 0.5 * np.tanh(2.5 * (vertex_normals(vertices, faces)[:, 2] + 0.35))
    color = back + light[:, None] * (belly - back)
    if rng.random() < 0.4:
        wave = np.sin(vertices @ rng.normal(0, 1, 3) * rng.uniform(20, 45))
        color *= 1 - 0.35 * (wave > 0.45)[:, None]
    return np.concatenate([color.astype(np.uint8), np.full((len(color), 1), 255, np.uint8)], 1)


def _planted(vertices: np.ndarray, ground: float) -> np.ndarray:
    """[T, 3] m: shifts of vertices [T, V, 3] that keep what is near the ground where it is.

    Args:
        vertices: m, in the body's frame.
        ground: m, height below which a vertex stands.
    """
    lift = -vertices[:, :, 2].min(1)
    shift = np.zeros((len(vertices), 3))
    shift[:, 2] = lift
    for t in range(1, len(vertices)):
        before, after = vertices[t - 1], vertices[t]
        height = np.maximum(before[:, 2] + lift[t - 1], after[:, 2] + lift[t])
        stands = np.maximum(1 - height / ground, 1e-9)
        slip = stands @ (after - before)[:, :2] / stands.sum()
        shift[t, :2] = shift[t - 1, :2] - slip
    return shift
