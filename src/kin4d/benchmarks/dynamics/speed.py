"""How fast? Scenes in real time, MuJoCo's cloth beside ours, and what vertices cost."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from kin4d.benchmarks.dynamics.physics import modal_body
from kin4d.benchmarks.dynamics.push_cases import vertex_error
from kin4d.benchmarks.dynamics.scenes import SCENES, demo_sheet
from kin4d.benchmarks.dynamics.soft_forces import acting_on
from kin4d.benchmarks.report import Check, Report
from kin4d.bodies.articulated import ArticulatedBody
from kin4d.bodies.articulated_base import Link
from kin4d.bodies.body import Body
from kin4d.bodies.capabilities import modal_stiffness
from kin4d.bodies.floating import FloatingBase
from kin4d.bodies.inertial import Inertial
from kin4d.bodies.joint import Joint
from kin4d.bodies.modal import ModalBody
from kin4d.dynamics.forces import Spring
from kin4d.dynamics.scene import Actor, Scene
from kin4d.dynamics.simulate import simulate
from kin4d.dynamics.simulation import Simulation
from kin4d.geometry.elastic_sheet import sheet_masses
from kin4d.geometry.mesh import Mesh
from kin4d.objects.soft.scene import SoftScene
from kin4d.objects.soft.simulate import simulate_scene
from kin4d.objects.soft.skin import node_skin

_REPEATS = 5
_LEVELS = (4, 7, 9)  # how often a box is subdivided: 1.5 thousand to 1.6 million vertices


def run(*, quick: bool, seed: int) -> Report:
    """Rows for scenes, for the cloth, and for numbers of vertices."""
    report = Report()
    shows = SCENES.values()
    lengths = [0.5 if quick else show.seconds for show in shows]
    tasks = [
        _stepping(show.make(), seconds=length, dt=show.dt, order=show.order)
        for show, length in zip(shows, lengths, strict=True)
    ]
    found = fastest(tasks)
    factors = [length / spent for length, (spent, _) in zip(lengths, found, strict=True)]
    for name, factor, (spent, run) in zip(SCENES, factors, found, strict=True):
        report.rows.append(
            {
                "scene": name,
                "steps per second": round(1 / run.dt),
                "coordinates": sum(clip.q.shape[1] for clip in run.clips if clip.q is not None),
                "ms per step": 1e3 * spent / run.steps,
                "times real time": factor,
            }
        )
    row, ratio = _cloth(seconds=0.5 if quick else 2.0)
    report.rows += row
    report.ratios["speed over MuJoCo flex, same cloth"] = ratio
    report.checks += [
        Check("real-time factor of the slowest scene", min(factors), 10, at_least=True),
        Check("times faster than MuJoCo flex on the same cloth", ratio, 20, at_least=True),
    ]
    for kind in ("rigid links", "soft, floating, on the ground"):
        rows = _vertices(kind, _LEVELS[:2] if quick else _LEVELS)
        report.rows += rows
        times = [row["ms per step"] for row in rows]
        name = f"time per step from {rows[0]['vertices']} to {rows[-1]['vertices']} vertices"
        report.checks.append(
            Check(f"{name}, {kind}: largest over least", max(times) / min(times), 1.2)
        )
    report.notes.append(
        f"Second order; times are the best of {_REPEATS} runs, of stepping alone: bodies are "
        "prepared once, and vertices are decoded for frames only. What is compared takes turns. "
        "MuJoCo's cloth takes 240 steps a second, which it needs, and ours of eight modes 120."
    )
    return report


def fastest(
    tasks: Sequence[Callable[[], tuple[float, Any]]], *, rounds: int = _REPEATS
) -> list[tuple[float, Any]]:
    """The fastest of several runs of each task (seconds, result); they take turns."""
    found = [[task() for task in tasks] for _ in range(rounds)]
    return [min(column, key=lambda one: one[0]) for column in zip(*found, strict=True)]


def _stepping(scene: Scene | Actor, *, seconds: float, fps: float = 10, **options):
    """A task for `fastest`; it is compiled already."""
    simulate(scene, seconds=1 / fps, fps=fps, **options)

    def task() -> tuple[float, Simulation]:
        run = simulate(scene, seconds=seconds, fps=fps, **options)
        return run.wall_seconds, run

    return task


def _cloth(*, seconds: float) -> tuple[list[dict], float]:
    """A curtain in steady wind, by MuJoCo's flex and by its modes."""
    mesh = demo_sheet(width=0.8, height=1.0, columns=17, rows=21)
    material = {"density": 350.0, "young": 5e5, "poisson": 0.3, "thickness": 6e-4}
    material |= {"damping": 0.005, "friction": 0.5}
    pins = np.flatnonzero(mesh.vertices[:, 2] > mesh.bounds[1, 2] - 1e-6)
    soft = SoftScene(
        category="curtain",
        nodes=np.array(mesh.vertices),
        elements=mesh.faces,
        masses=sheet_masses(mesh, material["density"] * material["thickness"]),
        skin=node_skin(len(mesh.vertices), mesh.faces),
        material=material,
        pins=pins,
        wind=lambda now: np.array([0.0, -2.0 * min(now / 0.2, 1.0), 0.0]),
    )
    frames = round(24 * seconds) + 1

    def flex() -> tuple[float, np.ndarray]:
        started = time.perf_counter()
        clip = simulate_scene(soft, name="curtain", frames=frames)
        return time.perf_counter() - started, clip.vertices

    tasks = []
    for warp in (True, False):
        body = modal_body(soft, mesh, pins, warp=warp, modes=8, handles=40)
        actor = Actor(body, forces=acting_on(soft, mesh, pins, body, body), contacts=0)
        tasks.append(_stepping(actor, seconds=seconds, fps=24, dt=1 / 120, order=2))
    (theirs, truth), *ours = fastest([flex, *tasks])
    rows = [_cloth_row("MuJoCo flex", theirs / seconds, 0.0)]
    for label, (spent, run) in zip(("warped modes", "linear modes"), ours, strict=True):
        error = vertex_error(run.clips[0].vertices, truth, mesh.bbox_diagonal).moved
        rows.append(_cloth_row(label, spent / seconds, error))
    return rows, theirs / ours[0][0]


def _cloth_row(label: str, seconds: float, error: float) -> dict:
    return {
        "cloth by": label,
        "seconds per second": seconds,
        "mean error, of the diameter": error,
    }


def _vertices(kind: str, levels: Sequence[int]) -> list[dict]:
    """Rows of a bar of ever more vertices."""
    bars = [_bar(level) for level in levels]
    scenes = [_hung_or_dropped(kind, bar) for bar in bars]
    found = fastest([_stepping(scene, seconds=2.0, fps=2, order=2) for scene in scenes], rounds=15)
    return [
        {"bodies": kind, "vertices": len(bar.vertices), "ms per step": 1e3 * spent / run.steps}
        for bar, (spent, run) in zip(bars, found, strict=True)
    ]


def _bar(level: int) -> Mesh:
    import trimesh

    shape = trimesh.creation.box((0.5, 0.1, 0.06))
    for _ in range(level):
        shape = shape.subdivide()
    return Mesh(vertices=shape.vertices, faces=shape.faces, name="bar")


def _hung_or_dropped(kind: str, mesh: Mesh) -> Scene:
    if kind == "rigid links":
        return Scene([Actor(_swinging(mesh))])
    body = FloatingBase(ModalBody.solid(mesh, young=5e5, density=500.0, modes=6))
    stiffness = modal_stiffness(body)
    assert stiffness is not None
    ground = float(mesh.bounds[0, 2]) - 0.02
    return Scene([Actor(body, forces=[Spring(stiffness.numpy())])], ground=ground)


def _swinging(mesh: Mesh) -> Body:
    """A bar that swings from one of its ends."""
    origin = np.eye(4)
    origin[0, 3] = float(mesh.bounds[0, 0])
    moved = mesh.replace_vertices(mesh.vertices - origin[:3, 3])
    arm = Link("arm", moved, Inertial.of_mesh(moved))
    axis = np.array([0.0, 1.0, 0.0])
    joint = Joint(
        name="swing", kind="revolute", parent="wall", child="arm", origin=origin, axis=axis
    )
    return ArticulatedBody([Link("wall"), arm], [joint], name="bar")
