"""Contact sheets: what a method predicts, as given and with each joint open."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import torch

from kin4d.benchmarks.prior.baselines import Predictor, one_part
from kin4d.benchmarks.prior.cases import PriorCaseSpec
from kin4d.benchmarks.prior.mechanism import Mechanism, joints_of_specs
from kin4d.bodies.segmented import SegmentedBody
from kin4d.errors import Kin4dError
from kin4d.export.video import write_image
from kin4d.geometry.clip import Clip
from kin4d.geometry.material import SurfaceMaterial
from kin4d.geometry.mesh import Mesh
from kin4d.render.pointmaps import render_clip

_COLORS = np.array(
    [[190, 190, 190], [230, 120, 60], [70, 140, 210], [90, 175, 90], [200, 90, 160], [220, 190, 60],
     [120, 100, 200], [70, 190, 190]], np.uint8
)  # fmt: skip


def draw_predictions(
    folder: Path,
    specs: Sequence[PriorCaseSpec],
    predictor: Predictor,
    *,
    seed: int,
    count: int = 10,
    joints: int = 5,
    tile: int = 160,
) -> list[Path]:
    """Write ``prior_<set>.jpg`` for every set: a row per object.

    Args:
        folder: Where to.
        specs: Cases, in an order drawn by seed: the first of each set are shown.
        predictor: The method.
        seed: Of states.
        count: Objects of each set.
        joints: Shown of each object, the most probable first.
        tile: Pixels.
    """
    folder.mkdir(parents=True, exist_ok=True)
    written = []
    for group in dict.fromkeys(spec.group for spec in specs):
        rows = []
        for spec in [spec for spec in specs if spec.group == group][:count]:
            try:
                mesh = spec.make(seed=seed).mesh
            except Kin4dError:
                continue
            try:
                body = predictor.predict(mesh)
            except Kin4dError:
                body = one_part(mesh)
            rows.append(prediction_strip(body, joints=joints, tile=tile))
        if rows:
            name = f"prior_{group.replace(' ', '_')}.jpg"
            written.append(write_image(np.concatenate(rows), folder / name))
    return written


def prediction_strip(body: SegmentedBody, *, joints: int = 5, tile: int = 160) -> np.ndarray:
    """[tile, (joints + 1) tile, 3] uint8: as given, then each joint open, then white.

    Parts have colours; the static one is grey.
    """
    states = torch.stack([body.q0, *_open_states(body)[:joints]])
    with torch.no_grad():
        frames = body.vertices(states).numpy().astype(np.float32)
    clip = Clip(mesh=_colored(body.rest, body.part), vertices=frames, fps=1.0)
    rgb = render_clip(clip, width=tile, height=tile, threads=1).rgb
    sheet = np.full((tile, (joints + 1) * tile, 3), 255, np.uint8)
    sheet[:, : len(rgb) * tile] = np.concatenate([*rgb], axis=1)
    return sheet


def _open_states(body: SegmentedBody) -> list[torch.Tensor]:
    """One for every joint at its farther end, the most probable first."""
    specs = body.joint_specs
    linked, number = joints_of_specs(specs)
    mechanism = Mechanism(body.rest.vertices, number[body.part], linked)
    ends = mechanism.open_state()
    order = sorted(range(len(specs)), key=lambda i: -(specs[i].probability or 0.0))
    states = []
    for row in order:
        state = body.q0.clone()
        state[body.coordinates.index(specs[row].name)] = float(ends[number[row + 1] - 1])
        states.append(state)
    return states


def _colored(mesh: Mesh, part: np.ndarray) -> Mesh:
    """Every triangle in the colour of its part."""
    number = np.where(part > 0, 1 + (part - 1) % (len(_COLORS) - 1), 0)
    colors = np.concatenate([_COLORS[number], np.full((len(part), 1), 255, np.uint8)], axis=1)
    white = SurfaceMaterial(name="parts", base_color=(1.0, 1.0, 1.0, 1.0))
    return Mesh(
        vertices=mesh.vertices, faces=mesh.faces, colors=colors, materials=(white,), name=mesh.name
    )
