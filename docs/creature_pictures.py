"""Make the pictures of docs/creatures.md: python docs/creature_pictures.py [NAME ...].

The contact sheet of files is made by `kin4d bench creatures --images`.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import torch

from kin4d.dynamics.forces import Push
from kin4d.dynamics.scene import Actor, Scene
from kin4d.dynamics.simulate import simulate
from kin4d.export.video import write_image, write_video
from kin4d.geometry.clip import Clip
from kin4d.objects.creatures import KINDS, Creature, make_creature
from kin4d.render.pointmaps import render_clip

FOLDER = Path(__file__).parent / "images"
FPS = 24
WALKERS = (("biped", 0), ("quadruped", 2), ("insect", 0), ("bird", 3))


def kinds() -> Path:
    """Creatures of every kind, each at rest, at random and in its gait."""
    rows = []
    for kind in KINDS:
        row = []
        for seed in range(4):
            creature = make_creature(kind, seed)
            body = creature.body
            q = torch.zeros(3, 6 + len(body.q0), dtype=torch.float64)
            q[1, 6:] = body.sample(1, seed=1)[0]
            q[2] = torch.from_numpy(creature.gait(8)[2])
            row += [*draw(creature, q, width=200, height=160, centred=True)]
        rows.append(np.concatenate(row, 1))
    return write_image(np.concatenate(rows), FOLDER / "creature_kinds.jpg")


def walk() -> Path:
    """Four creatures on their way."""
    strips = []
    for kind, seed in WALKERS:
        creature = make_creature(kind, seed)
        strips.append(draw(creature, torch.from_numpy(creature.gait(2 * FPS, cycles=2.0))))
    return write_video(tiled(strips), FOLDER / "creatures_walk.gif", fps=FPS)


def fall() -> Path:
    """The four fall in a heap."""
    return write_video(tiled([_simulated(*one) for one in WALKERS]), FOLDER / "creatures_fall.gif",
                       fps=FPS)  # fmt: skip


def drag() -> Path:
    """The four are dragged ahead by what is foremost."""
    strips = [_simulated(*one, dragged=True) for one in WALKERS]
    return write_video(tiled(strips), FOLDER / "creatures_drag.gif", fps=FPS)


def _simulated(kind: str, seed: int, *, dragged: bool = False) -> np.ndarray:
    """[T, H, W, 3] of two seconds: dropped from a third of its size, or dragged along."""
    creature = make_creature(kind, seed)
    mesh, body = creature.body.rest, creature.floating
    start = body.q0.numpy().copy()
    start[2] = (0.0 if dragged else 0.3 * mesh.bbox_diagonal) - mesh.bounds[0, 2]
    if not dragged:
        start[3:5] = 0.3, 0.2
    weight = 9.81 * float(body.mass.sum())
    at = mesh.vertices[mesh.vertices[:, 1].argmax()]
    pull = [Push(at, weight * np.array([0.0, 0.35, 0.5]), duration=2.0)] if dragged else []
    scene = Scene([Actor(body, q=start, forces=pull)], ground=0.0)
    # Small creatures fall as fast as large ones, over fewer lengths: time is in their own measure.
    pace = np.sqrt(creature.length)
    run = simulate(scene, seconds=2.0 * pace, fps=FPS / pace, dt=pace / 120)
    return render_clip(run.clip, width=240, height=180, threads=1, checker=True).rgb


def tiled(strips: list[np.ndarray]) -> np.ndarray:
    """[T, H, W, 3] of four clips, two by two."""
    rows = [np.concatenate(strips[i : i + 2], axis=2) for i in (0, 2)]
    return np.concatenate(rows, axis=1)


def draw(
    creature: Creature,
    q: torch.Tensor,
    *,
    width: int = 240,
    height: int = 180,
    centred: bool = False,
) -> np.ndarray:
    """[T, H, W, 3] uint8 of coordinates [T, 6 + k] of the creature free in space."""
    with torch.no_grad():
        vertices = creature.floating.vertices(q).numpy()
    if centred:
        vertices = vertices - vertices.mean(1, keepdims=True)
    clip = Clip(mesh=creature.body.rest, vertices=vertices.astype(np.float32), fps=FPS)
    return render_clip(clip, width=width, height=height, threads=1, checker=not centred).rgb


PICTURES: dict[str, Callable[[], Path]] = {
    "kinds": kinds,
    "walk": walk,
    "fall": fall,
    "drag": drag,
}


def main(names: list[str]) -> None:
    """Draw some of the pictures, all by default."""
    for name in names or PICTURES:
        print(PICTURES[name]())


if __name__ == "__main__":
    main(sys.argv[1:])
