"""How fast clips are written, against numpy writing the same number of bytes."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np

from kin4d.benchmarks.report import Check, Report
from kin4d.export.gltf import write_glb
from kin4d.export.pc2 import write_pc2
from kin4d.export.usd import write_usd
from kin4d.geometry.clip import Clip
from kin4d.geometry.mesh import Mesh
from kin4d.geometry.skin import SkinAnimation
from kin4d.progress import track

MAX_RATIO = 3.0
SHEET = (250, 400, 120)  # rows, columns, frames

_NUMPY, _MORPH, _USD = "numpy tofile", "GLB, morph targets", "USD, time samples, fast"


def run(*, quick: bool, seed: int) -> Report:
    """Time every writer, and numpy writing the clip's vertices.

    The clip is a waving sheet of 100 000 vertices and 120 frames; for the skinned GLB, the same
    sheet in eight rigid strips. Each file is a new one in a temporary folder. The best of
    several interleaved repetitions counts (`quick`: of fewer): the one least disturbed by whatever
    else the machine does.
    """
    rows, columns, frames = SHEET
    repetitions = 5 if quick else 15
    sheet = waving_sheet(rows=rows, columns=columns, frames=frames, seed=seed)
    strips = rigid_strips(sheet, count=8)
    writers: dict[str, tuple[Callable[[Path], object], str]] = {
        _NUMPY: (lambda path: sheet.vertices.tofile(path), "clip.bin"),
        _MORPH: (lambda path: write_glb(sheet, path), "clip.glb"),
        "GLB, joints and skin": (lambda path: write_glb(strips, path), "clip.glb"),
        "USD, time samples": (lambda path: write_usd(sheet, path), "clip.usdc"),
        _USD: (lambda path: write_usd(sheet, path, fast=True), "clip.usdc"),
        "PC2 with OBJ": (lambda path: write_pc2(sheet, path), "clip.pc2"),
    }
    seconds = {name: [] for name in writers}
    sizes = dict.fromkeys(writers, 0)
    for _ in track(range(repetitions), "writing clips"):
        for name, (write, file) in writers.items():
            spent, sizes[name] = _time(write, file)
            seconds[name].append(spent)
    best = {name: min(times) for name, times in seconds.items()}
    ratios = {name: best[name] / best[_NUMPY] for name in writers}
    return Report(
        rows=[
            {
                "format": name,
                "seconds": best[name],
                "MB": sizes[name] / 1e6,
                "ratio": ratios[name],
            }
            for name in writers
        ],
        ratios={f"{name} / {_NUMPY}": ratio for name, ratio in ratios.items() if name != _NUMPY},
        checks=[
            Check("GLB write time / numpy write time", ratios[_MORPH], MAX_RATIO),
            Check("USD write time / numpy write time, fast", ratios[_USD], MAX_RATIO),
        ],
        notes=[
            f"{rows * columns} vertices, {frames} frames, best of {repetitions} repetitions",
            "numpy writes the clip's vertices alone; GLB and USD hold the faces as well",
            "the PC2's size is the cache alone; its time includes the OBJ, which is text",
        ],
    )


def waving_sheet(*, rows: int, columns: int, frames: int, seed: int) -> Clip:
    """A one-metre sheet with random waves running over it, at 24 frames per second."""
    random = np.random.default_rng(seed)
    y, x = np.meshgrid(np.linspace(0, 1, rows), np.linspace(0, 1, columns), indexing="ij")
    index = np.arange(rows * columns).reshape(rows, columns)
    a, b, c, d = (index[:-1, :-1], index[:-1, 1:], index[1:, 1:], index[1:, :-1])
    faces = np.concatenate(
        [np.stack(corners, -1).reshape(-1, 3) for corners in ((a, b, c), (a, c, d))]
    )
    rest = np.stack([x, y, np.zeros_like(x)], -1).reshape(-1, 3)
    mesh = Mesh(vertices=rest, faces=faces, name="sheet")
    vertices = np.repeat(rest[None].astype(np.float32), frames, 0)
    for _ in range(3):
        wave, speed, phase = random.normal(size=(2, 3)) * 6, random.normal() * 4, random.normal()
        for frame, points in enumerate(vertices):
            angles = np.sin(rest[:, :2] @ wave + speed * frame / 24 + phase)
            points += 0.02 * angles.astype(np.float32)
    return Clip(mesh=mesh, vertices=vertices, fps=24.0)


def rigid_strips(sheet: Clip, *, count: int) -> Clip:
    """The sheet cut into `count` strips that turn about the y axis, with its skin."""
    rest = sheet.mesh.vertices
    strip = np.minimum((rest[:, 0] * count).astype(int), count - 1)
    angles = np.linspace(0, 1, len(sheet))[:, None] * np.linspace(0.5, 2, count)
    transforms = np.tile(np.eye(4), (len(sheet), count, 1, 1))
    transforms[..., 0, 0] = transforms[..., 2, 2] = np.cos(angles)
    transforms[..., 0, 2] = np.sin(angles)
    transforms[..., 2, 0] = -np.sin(angles)
    names = tuple(f"strip{i}" for i in range(count))
    skin = SkinAnimation(
        joints=strip[:, None],
        weights=np.ones((len(rest), 1), np.float32),
        names=names,
        transforms=transforms,
    )
    vertices = np.stack([skin.apply(pose, rest) for pose in transforms])
    return replace(sheet, vertices=vertices, skin=skin)


def _time(write: Callable[[Path], object], file: str) -> tuple[float, int]:
    """Seconds to write a new file, and its size in bytes."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / file
        start = time.perf_counter()
        write(path)
        return time.perf_counter() - start, path.stat().st_size
