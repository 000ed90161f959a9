"""A contact sheet: creatures at rest and in random states, the failures with the rest."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import torch

from kin4d.bodies.creature.build import skeletal_body
from kin4d.errors import Kin4dError
from kin4d.export.video import write_image
from kin4d.geometry.clip import Clip
from kin4d.geometry.mesh import Mesh
from kin4d.render.pointmaps import render_clip


def draw_creatures(
    files: Sequence[Path],
    path: Path,
    *,
    seed: int,
    count: int = 20,
    states: int = 4,
    tile: int = 120,
    columns: int = 2,
) -> Path:
    """Write an image of some files: for each, its rest and random states in a row.

    Args:
        files: Animated files, of which `count` are drawn by seed.
        path: Target.
        seed: Of the files and the states.
        count: Files.
        states: Random states of each.
        tile: Pixels of each.
        columns: Files side by side.
    """
    order = np.random.default_rng(seed).permutation(len(files))[:count]
    strips = [_strip(files[i], states, tile, seed) for i in sorted(order.tolist())]
    blank = np.full((tile, (1 + states) * tile, 3), 255, np.uint8)
    strips += [blank] * (-len(strips) % columns)
    rows = [np.concatenate(strips[i : i + columns], 1) for i in range(0, len(strips), columns)]
    path.parent.mkdir(parents=True, exist_ok=True)
    return write_image(np.concatenate(rows), path)


def _strip(file: Path, states: int, tile: int, seed: int) -> np.ndarray:
    """[tile, (1 + states) tile, 3] uint8; white where a file cannot be read."""
    sheet = np.full((tile, (1 + states) * tile, 3), 255, np.uint8)
    try:
        mesh = Mesh.load(file)
    except Kin4dError:
        return sheet
    body = skeletal_body(mesh)
    q = torch.cat([body.q0[None], body.sample(states, seed=seed)])
    with torch.no_grad():
        frames = body.vertices(q).numpy().astype(np.float32)
    rgb = render_clip(
        Clip(mesh=mesh, vertices=frames, fps=1.0), width=tile, height=tile, threads=1
    ).rgb
    return np.concatenate([*rgb], axis=1)
