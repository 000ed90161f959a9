"""A contact sheet of doors: the start, the truth's end and the predicted body's end."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from kin4d.benchmarks.doors.cases import gripper_mesh
from kin4d.export.video import write_image
from kin4d.geometry.clip import Clip
from kin4d.geometry.mesh import Mesh
from kin4d.render.pointmaps import render_clip

if TYPE_CHECKING:
    from kin4d.benchmarks.doors import DoorResult

_BODY, _DOOR, _HAND = (190, 190, 190), (230, 120, 60), (70, 140, 210)


def draw_doors(
    results: Sequence[DoorResult], path: Path, *, tile: int = 150, columns: int = 3
) -> Path:
    """Write three pictures of each cabinet side by side, `columns` cabinets in a row."""
    strips = [_strip(result, tile) for result in results]
    strips += [np.full_like(strips[0], 255)] * (-len(strips) % columns)
    rows = [np.concatenate(strips[i : i + columns], 1) for i in range(0, len(strips), columns)]
    path.parent.mkdir(parents=True, exist_ok=True)
    return write_image(np.concatenate(rows), path)


def _strip(result: DoorResult, tile: int) -> np.ndarray:
    """[tile, 3 tile, 3] uint8."""
    from kin4d.benchmarks.doors import PREDICTED

    case, end = result.case, result.runs[PREDICTED].vertices
    hand = [gripper_mesh().transformed(pose) for pose in (case.gripper[0], case.gripper[-1])]
    truth = case.turned(float(result.truth.angles[-1]))
    frames = [
        np.concatenate([vertices, own.vertices])
        for vertices, own in ((case.mesh.vertices, hand[0]), (truth, hand[1]), (end, hand[1]))
    ]
    mesh = Mesh.concatenate(
        [
            _colored(case.mesh, np.where(case.door_vertices[:, None], _DOOR, _BODY)),
            _colored(hand[0], np.tile(_HAND, (len(hand[0].vertices), 1))),
        ],
        name="door",
    )
    clip = Clip(mesh=mesh, vertices=np.stack(frames).astype(np.float32), fps=1.0)
    return np.concatenate([*render_clip(clip, width=tile, height=tile, threads=1).rgb], axis=1)


def _colored(mesh: Mesh, colors: np.ndarray) -> Mesh:
    alpha = np.full((len(colors), 1), 255)
    rgba = np.concatenate([colors, alpha], 1).astype(np.uint8)
    return Mesh(vertices=mesh.vertices, faces=mesh.faces, colors=rgba, name=mesh.name)
