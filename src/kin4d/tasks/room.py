"""Room: table, floor and walls with their patterns, the light, and where the camera stands."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING

import numpy as np

from kin4d.geometry.camera import Camera
from kin4d.geometry.material import SurfaceMaterial
from kin4d.geometry.mesh import Mesh
from kin4d.geometry.skin import Skin
from kin4d.render.shading import Lights

if TYPE_CHECKING:
    from kin4d.tasks.task_scene import TaskSpec

STYLES = 48
"""How many looks of a room there are; the look's number can be held out."""
_TEXELS = 128
_TABLES = (
    (196, 164, 122), (150, 108, 70), (222, 204, 176), (96, 78, 66), (176, 182, 188),
    (232, 230, 224), (70, 82, 98), (128, 140, 118), (208, 178, 150), (164, 196, 204),
)  # fmt: skip
_WALLS = (
    (226, 222, 212), (190, 204, 214), (206, 196, 178), (150, 164, 172), (214, 206, 220),
    (120, 132, 128), (230, 214, 196), (172, 186, 164), (98, 108, 124), (236, 236, 236),
)  # fmt: skip
_FLOORS = ((120, 108, 96), (150, 150, 152), (92, 84, 80), (178, 162, 142), (110, 122, 130))


@dataclass(frozen=True, eq=False, kw_only=True)
class Room:
    """What surrounds a task; nothing of it moves.

    Attributes:
        style: Its number, which says how table, walls and floor look.
        meshes: Table top first.
        lights: Where light comes from.
        eye: [3] m: where the camera is.
        target: [3] m: what it looks at.
        fov: Its vertical field of view, degrees.
    """

    style: int
    meshes: tuple[Mesh, ...]
    lights: Lights
    eye: np.ndarray
    target: np.ndarray
    fov: float

    @classmethod
    def sample(cls, rng: np.random.Generator, spec: TaskSpec) -> Room:
        """A random room, with a camera that sees the task's objects."""
        style = int(rng.integers(STYLES))
        low, high = spec.sides[int(rng.integers(len(spec.sides)))]
        azimuth = np.radians(rng.uniform(low, high))
        height = np.radians(rng.uniform(24, 48))
        fov = rng.uniform(34, 46)
        # The span fills most of the image's width, which is one and a half times its height.
        distance = spec.span / (1.5 * 2 * np.tan(np.radians(fov) / 2)) * rng.uniform(0.95, 1.12)
        distance += 0.25 * spec.span
        target = np.asarray(spec.focus) + rng.uniform(-0.025, 0.025, 3)
        ray = np.array(
            [np.cos(height) * np.cos(azimuth), np.cos(height) * np.sin(azimuth), np.sin(height)]
        )
        key = np.array([*rng.uniform(-0.9, 0.9, 2), rng.uniform(0.9, 1.6)])
        power = rng.uniform(0.75, 1.0)
        lights = Lights(
            key=key / np.linalg.norm(key),
            up=np.array([0.0, 0.0, 1.0]),
            key_power=power * rng.uniform(0.42, 0.62),
            sky_power=power * rng.uniform(0.36, 0.48),
            floor_power=power * rng.uniform(0.14, 0.24),
        )
        return cls(
            style=style,
            meshes=_walls(style),
            lights=lights,
            eye=target + distance * ray,
            target=target,
            fov=float(fov),
        )

    def camera(self, height: int, width: int) -> Camera:
        """The view at a size in pixels."""
        return Camera.look_at(self.eye, self.target, fov=self.fov, width=width, height=height)

    @property
    def skins(self) -> list[Skin]:
        """For `Surface.of`: none of the meshes moves."""
        return [Skin.rigid(np.zeros(len(m.vertices), np.int64), (m.name,)) for m in self.meshes]


@cache
def _walls(style: int) -> tuple[Mesh, ...]:
    """Table top, table's sides, floor and four walls of a style."""
    rng = np.random.default_rng([style, 77])
    table = _pattern(rng, _TABLES[style % len(_TABLES)], wall=False)
    wall = _pattern(rng, _WALLS[rng.integers(len(_WALLS))], wall=True)
    floor = _pattern(rng, _FLOORS[rng.integers(len(_FLOORS))], wall=False)
    deep, wide = rng.uniform(0.75, 1.0), rng.uniform(0.8, 1.1)
    far, drop, top = 1.9, -0.75, 1.6
    x, y = (-0.75, deep), (-wide, wide)
    brown = tuple(0.5 * (c / 255) ** 2.2 for c in _TABLES[style % len(_TABLES)])
    edge = SurfaceMaterial(name="edge", base_color=(*brown, 1.0))
    sides = [
        _quad((x[i], y[0], -0.04), (x[i], y[1], -0.04), (x[i], y[1], 0), (x[i], y[0], 0), edge)
        for i in (0, 1)
    ] + [
        _quad((x[0], y[i], -0.04), (x[1], y[i], -0.04), (x[1], y[i], 0), (x[0], y[i], 0), edge)
        for i in (0, 1)
    ]
    return (
        _quad(
            (x[0], y[0], 0), (x[1], y[0], 0), (x[1], y[1], 0), (x[0], y[1], 0), table, name="table"
        ),
        *sides,
        _quad((-far, -far, drop), (far, -far, drop), (far, far, drop), (-far, far, drop), floor),
        _quad((far, -far, drop), (far, far, drop), (far, far, top), (far, -far, top), wall),
        _quad((-far, far, drop), (-far, -far, drop), (-far, -far, top), (-far, far, top), wall),
        _quad((far, far, drop), (-far, far, drop), (-far, far, top), (far, far, top), wall),
        _quad((-far, -far, drop), (far, -far, drop), (far, -far, top), (-far, -far, top), wall),
    )


def _quad(a, b, c, d, material: SurfaceMaterial, *, name: str = "room") -> Mesh:
    """A rectangle whose texture repeats every half metre."""
    corners = np.array([a, b, c, d], np.float64)
    u = np.linalg.norm(corners[1] - corners[0]) / 0.5
    v = np.linalg.norm(corners[3] - corners[0]) / 0.5
    return Mesh(
        vertices=corners,
        faces=np.array([[0, 1, 2], [0, 2, 3]]),
        uv=np.array([[0, 0], [u, 0], [u, v], [0, v]], np.float32),
        materials=(material,),
        name=name,
    )


def _pattern(
    rng: np.random.Generator, color: tuple[int, int, int], *, wall: bool
) -> SurfaceMaterial:
    """A material with a small repeating image: plain, planks, checks, stripes, specks, grain."""
    from PIL import Image

    kinds = (
        ("plain", "stripes", "specks") if wall else ("plain", "planks", "checks", "grain", "specks")
    )
    kind = kinds[int(rng.integers(len(kinds)))]
    y, x = np.mgrid[0:_TEXELS, 0:_TEXELS] / _TEXELS
    contrast = rng.uniform(0.08, 0.2)
    tone = np.zeros((_TEXELS, _TEXELS))
    if kind == "planks":
        rows = int(rng.integers(3, 7))
        tone = rng.uniform(-1, 1, rows)[(y * rows).astype(int)]
        tone -= 1.5 * ((y * rows) % 1 < 0.06)
    elif kind == "checks":
        cells = int(rng.choice([4, 6, 8, 10]))
        tone = ((x * cells).astype(int) + (y * cells).astype(int)) % 2 * 2.0 - 1
    elif kind == "stripes":
        bars = int(rng.choice([4, 6, 10]))
        tone = 0.5 * np.sign(np.sin(2 * np.pi * bars * x))
    elif kind == "grain":
        tone = np.sin(2 * np.pi * (6 * y + 0.35 * np.sin(2 * np.pi * x) + rng.random()))
        tone = 0.6 * tone + 0.4 * np.sin(2 * np.pi * (17 * y + 0.5 * np.cos(2 * np.pi * x)))
    elif kind == "specks":
        tone = rng.normal(0, 0.35, (_TEXELS // 8, _TEXELS // 8)).repeat(8, 0).repeat(8, 1)
    image = np.clip(np.array(color) * (1 + contrast * tone[..., None]), 0, 255).astype(np.uint8)
    return SurfaceMaterial(
        name=kind,
        base_color=(1.0, 1.0, 1.0, 1.0),
        roughness=0.9,
        textures={"base_color": Image.fromarray(image)},
    )
