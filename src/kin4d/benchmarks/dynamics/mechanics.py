"""Are the mechanics right? Exact bodies beside MuJoCo, with the same masses, joints and pushes."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from kin4d.benchmarks.dynamics.mujoco_tree import MujocoTree
from kin4d.benchmarks.dynamics.push_cases import held_out_objects, make_push_case, vertex_error
from kin4d.benchmarks.report import Check, Report
from kin4d.bodies.articulated import ArticulatedBody
from kin4d.bodies.robot.registry import list_robots, load_robot
from kin4d.dynamics.forces import Limits
from kin4d.dynamics.scene import Actor, Scene
from kin4d.dynamics.simulate import simulate

_URDF = ("kin4d_arm", "ur5", "panda", "so101", "z1", "kinova")
_FPS = 24.0
_STEP = 1 / 480  # s, at most
# Of the size, between a step and its two halves. Arms of many links that whirl about magnify any
# error within a second, up to a hundred thousand times.
_TOLERANCE = 1e-9


def run(*, quick: bool, seed: int) -> Report:
    """One row for each body, pushed and let go under gravity for a second."""
    report = Report()
    rng = np.random.default_rng(seed)
    for source, body in _bodies(4 if quick else 24, 1 if quick else len(_URDF), seed):
        report.rows.append({"body": body.name, "from": source, **_row(body, rng)})
    for column in ("free joints", "joints with stops"):
        errors = [row[f"error after 1 s, {column}"] for row in report.rows]
        report.checks.append(
            Check(
                f"vertex error after 1 s against MuJoCo's equations, {column}: worst of "
                f"{len(errors)} bodies, of the diameter",
                max(errors),
                1e-3,
            )
        )
    report.notes += [
        "Every body is pushed for 0.1 s in a random direction at a random vertex of a moving link, "
        "as hard as would move the vertex by 0.3 diameters in a second, and falls under gravity. "
        "Errors are the largest of any vertex, over the diameter. Fourth order, steps of 1/480 s "
        "that are halved while a step and its halves end more than 1e-9 of the size apart; beside "
        "them the errors without that.",
        "MuJoCo gives mass matrices and inertial forces of the reference. It is integrated with "
        "error control (DOP853, 1e-9); impacts at stops are located, without bounce, and what "
        "rests on stops is held by forces that never pull: MuJoCo's own limits are springs, which "
        "yield.",
    ]
    return report


def _bodies(objects: int, robots: int, seed: int) -> Iterator[tuple[str, ArticulatedBody]]:
    for made in held_out_objects(objects, seed=seed):
        yield "test object", made.body()
    known = list_robots()
    for name in [name for name in _URDF if name in known][:robots]:
        yield "URDF", load_robot(name, missing="skip")


def _row(body: ArticulatedBody, rng: np.random.Generator) -> dict[str, float]:
    push = make_push_case(body, rng)
    size = body.rest.bbox_diagonal
    row: dict[str, float] = {"coordinates": len(body.coordinates)}
    unbounded = np.tile([-np.inf, np.inf], (len(body.coordinates), 1))
    for stops, label in ((False, "free joints"), (True, "joints with stops")):
        truth = MujocoTree(body, limited=stops)
        true = truth.run(seconds=1, pushes=[push.theirs], fps=_FPS)
        forces = [push.ours] if stops else [push.ours, Limits(restitution=0, bounds=unbounded)]
        scene = Scene([Actor(body, forces=forces, contacts=0)])
        found = simulate(scene, seconds=1, fps=_FPS, dt=_STEP, tolerance=_TOLERANCE)
        error = vertex_error(found.clips[0].vertices, true.vertices, size).last
        coarse = simulate(scene, seconds=1, fps=_FPS, dt=_STEP)
        plain = vertex_error(coarse.clips[0].vertices, true.vertices, size).last
        way = np.linalg.norm(true.vertices - true.vertices[0], axis=-1).max() / size
        row[f"way, {label}"] = float(way)
        row[f"impacts, {label}"] = true.impacts
        row[f"error after 1 s, {label}"] = error
        row[f"the same with fixed steps, {label}"] = plain
    return row
