"""Images: rest, target and fit side by side, and a body's coordinates swept one by one."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from kin4d.benchmarks.object_pose.cases import Case, CaseSpec
from kin4d.benchmarks.object_pose.methods import Learned, Method
from kin4d.bodies.body import Body, bake, sweep_joints
from kin4d.export.video import write_image, write_video
from kin4d.geometry.clip import Clip
from kin4d.render.pointmaps import render_clip

_SHOWN, _ROW = 12, 6
_SWEPT = 4


def draw_fit(
    folder: Path, recipes: Sequence[CaseSpec], weights: str, *, seed: int, count: int = _SHOWN
) -> list[Path]:
    """Write ``neurok_fits.jpg``, sheets of fits, and ``neurok_sweep.gif``, coordinates swept.

    Args:
        folder: Where to.
        recipes: What to choose objects from.
        weights: As for `LearnedBody.from_mesh`.
        seed: Of states.
        count: Objects with fits; the first few of them are swept.
    """
    from kin4d.neurok.body import LearnedBody

    cases = chosen_cases(recipes, count, seed=seed)
    row = min(_ROW, count)
    sheet = fit_sheet(cases, Learned(weights))
    height, width = len(sheet), sheet.shape[1] // count
    rows = [sheet[:, i * width : (i + row) * width] for i in range(0, count - row + 1, row)]
    bodies = [LearnedBody.from_mesh(case.mesh, weights) for case in cases[:_SWEPT]]
    gap = np.full((height // 30, row * width, 3), 255, np.uint8)
    stacked = [part for one in rows for part in (one, gap)][:-1]
    folder.mkdir(parents=True, exist_ok=True)
    return [
        write_image(np.concatenate(stacked), folder / "neurok_fits.jpg"),
        write_video(sweep_frames(bodies), folder / "neurok_sweep.gif", fps=24),
    ]


def fit_sheet(cases: Sequence[Case], method: Method, *, tile: int = 160) -> np.ndarray:
    """[3 tile, n tile, 3] uint8: a column per case; M0, its first goal, and what a method makes.

    Args:
        cases: n of them.
        method: Asked for the fits.
        tile: Width and height of each view, pixels.
    """
    columns = []
    for case in cases:
        found = method.prepare(case)(0, case.target(0))
        frames = np.stack([case.mesh.vertices, case.goals[0], found]).astype(np.float32)
        clip = Clip(mesh=case.mesh, vertices=frames, fps=1.0)
        rgb = render_clip(clip, width=tile, height=tile, threads=1).rgb
        columns.append(rgb.reshape(-1, tile, 3))
    return np.concatenate(columns, axis=1)


def sweep_frames(
    bodies: Sequence[Body], *, coordinates: int = 2, frames: int = 24, tile: int = 180
) -> np.ndarray:
    """[T, tile, n tile, 3] uint8: bodies side by side, each sweeping its first coordinates.

    Args:
        bodies: n of them, z up.
        coordinates: Shown of each; a body that has fewer rests in the end.
        frames: Of each coordinate's sweep.
        tile: Width and height of each view, pixels.
    """
    columns = []
    for body in bodies:
        states = sweep_joints(body, frames=frames)[: coordinates * frames]
        rest = body.q0.expand(coordinates * frames - len(states), -1)
        clip = bake(body, np.concatenate([states.numpy(), rest.numpy()]))
        columns.append(render_clip(clip, width=tile, height=tile, threads=1).rgb)
    return np.concatenate(columns, axis=2)


def chosen_cases(recipes: Sequence[CaseSpec], count: int, *, seed: int) -> list[Case]:
    """`count` cases of different categories, evenly spread over `recipes`."""
    first = {recipe.category: recipe for recipe in reversed(recipes)}
    names = sorted(first)
    picked = [names[i] for i in np.linspace(0, len(names) - 1, count).round().astype(int)]
    return [first[name].make(poses=1, seed=seed) for name in picked]
