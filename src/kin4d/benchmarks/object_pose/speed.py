"""What a mesh's size costs: making a body of it, decoding a state, fitting it to a target."""

from __future__ import annotations

import multiprocessing
import resource
import time
from concurrent.futures import ProcessPoolExecutor

import numpy as np
import torch

from kin4d.benchmarks.report import Check, Report
from kin4d.geometry.mesh import Mesh
from kin4d.geometry.sampling import sample_surface
from kin4d.storage.worker import init_worker

SIZES = (1_000, 10_000, 50_000, 200_000, 1_000_000)
_BAR = 50_000  # vertices at which thresholds apply
_OPEN = 0.8  # rad
_TIMES = 5


def run(weights: str, *, quick: bool) -> Report:
    """A table over sizes, each in a process of its own, so that memory is its own too."""
    sizes = SIZES[:1] if quick else SIZES
    context = multiprocessing.get_context("spawn")
    rows = []
    for size in sizes:
        with ProcessPoolExecutor(1, mp_context=context, initializer=init_worker) as pool:
            rows.append(pool.submit(measure, size, weights).result())
    report = Report(rows=rows)
    for row in rows:
        if abs(row["vertices"] / _BAR - 1) < 0.1:
            report.checks = [
                Check("50k vertices: mesh to body (s)", row["to body s"], 2.0),
                Check("50k vertices: decoding all (ms)", row["decode ms"], 20.0),
                Check("50k vertices: fit (s)", row["fit s"], 3.0),
                Check("50k vertices: memory of the process (GB)", row["memory GB"], 2.0),
            ]
    report.notes = ["Costs by size: a chest of two finely divided boxes, one thread, wall time."]
    return report


def measure(size: int, weights: str) -> dict[str, float | int]:
    """One row: a chest of about `size` vertices, brought to where its lid is open."""
    from kin4d.fitting.fit import fit
    from kin4d.neurok.body import LearnedBody

    # What is loaded and compiled once is no part of a mesh's cost.
    warm, opened = chest(200)
    fit(LearnedBody.from_mesh(warm, weights), opened)
    mesh, opened = chest(size)
    begin = time.perf_counter()
    body = LearnedBody.from_mesh(mesh, weights)
    making = time.perf_counter() - begin
    q = body.q0 + 0.1
    decoding = []
    with torch.no_grad():
        for _ in range(_TIMES):
            begin = time.perf_counter()
            body.vertices(q)
            decoding.append(time.perf_counter() - begin)
    target = sample_surface(opened, 4096, seed=1).points(opened.vertices)
    begin = time.perf_counter()
    fit(body, target)
    return {
        "vertices": len(mesh.vertices),
        "to body s": making,
        "decode ms": 1e3 * float(np.median(decoding)),
        "fit s": time.perf_counter() - begin,
        "memory GB": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20,
    }


def chest(size: int) -> tuple[Mesh, Mesh]:
    """A chest of about `size` vertices with its lid shut, and the same with its lid open."""
    steps = max(1, round((size / 12) ** 0.5 - 1))
    trunk, faces = _grid_box((1.0, 0.6, 0.4), (0.0, 0.0, 0.0), steps)
    lid, _ = _grid_box((1.0, 0.6, 0.08), (0.0, 0.0, 0.245), steps)
    faces = np.concatenate([faces, faces + len(trunk)])
    hinge = np.array([0.0, 0.3, 0.205])
    c, s = np.cos(_OPEN), np.sin(_OPEN)
    rotation = np.array([[1, 0, 0], [0, c, s], [0, -s, c]])
    shut = Mesh(vertices=np.concatenate([trunk, lid]), faces=faces, name="chest")
    return shut, shut.replace_vertices(np.concatenate([trunk, (lid - hinge) @ rotation.T + hinge]))


def _grid_box(
    size: tuple[float, float, float], centre: tuple[float, float, float], steps: int
) -> tuple[np.ndarray, np.ndarray]:
    """Vertices and faces of a box whose sides are grids, joined where they meet."""
    line = np.linspace(-0.5, 0.5, steps + 1)
    u, v = (part.ravel() for part in np.meshgrid(line, line, indexing="ij"))
    flat = np.stack([u, v, np.full_like(u, 0.5)], axis=1)
    corner = (np.arange(steps)[:, None] * (steps + 1) + np.arange(steps)).ravel()
    quad = np.stack([corner, corner + steps + 1, corner + steps + 2, corner + 1], axis=1)
    one = np.concatenate([quad[:, [0, 1, 2]], quad[:, [0, 2, 3]]])
    vertices, faces = [], []
    for axis in range(3):
        side = np.roll(flat, axis, axis=1)
        for sign in (1, -1):
            faces.append((one if sign > 0 else one[:, ::-1]) + len(flat) * len(vertices))
            vertices.append(side if sign > 0 else side * np.roll([1, 1, -1], axis))
    scaled = np.concatenate(vertices) * np.array(size) + np.array(centre)
    return scaled, np.concatenate(faces)
