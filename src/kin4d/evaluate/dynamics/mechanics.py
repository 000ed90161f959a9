"""Are the mechanics right? Exact bodies beside MuJoCo, with the same masses, joints and pushes."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from kin4d.bodies.robot_names import load_robot, robot_names
from kin4d.bodies.tree import TreeBody
from kin4d.evaluate.dynamics.mujoco_tree import MujocoTree
from kin4d.evaluate.dynamics.pushed import fair_push, held_out_objects, vertex_error
from kin4d.evaluate.report import Check, Report
from kin4d.motion.forces import Limits
from kin4d.motion.scene import Actor, Scene
from kin4d.motion.simulate import simulate

_URDF = ("sketch", "ur5", "panda", "so101", "z1", "kinova")
_FPS = 24.0
_OUR_STEP = 1 / 480  # s
_STEP = {False: 1e-3, True: 1.25e-4}  # s, of the reference: stops are stiff


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
                f"vertex error after 1 s against MuJoCo, {column}: worst of {len(errors)} bodies, "
                "of the diameter",
                max(errors),
                1e-3,
            )
        )
    report.notes += [
        "Every body is pushed for 0.1 s in a random direction at a random vertex of a moving link, "
        "as hard as would move the vertex by 0.3 diameters in a second, and falls under gravity. "
        "Errors are the largest of any vertex, over the diameter. Steps of 1/480 s, fourth order.",
        "MuJoCo gives the accelerations of the reference, integrated by Runge-Kutta at 1/1000 s, "
        "and at 1/8000 s where joints have stops, which are inelastic on both sides.",
    ]
    return report


def _bodies(objects: int, robots: int, seed: int) -> Iterator[tuple[str, TreeBody]]:
    for made in held_out_objects(objects, seed=seed):
        yield "test object", made.body()
    known = robot_names()
    for name in [name for name in _URDF if name in known][:robots]:
        yield "URDF", load_robot(name, missing="skip")


def _row(body: TreeBody, rng: np.random.Generator) -> dict[str, float]:
    push = fair_push(body, rng)
    size = body.rest.diameter
    row: dict[str, float] = {"coordinates": len(body.coordinates)}
    unbounded = np.tile([-np.inf, np.inf], (len(body.coordinates), 1))
    for stops, label in ((False, "free joints"), (True, "joints with stops")):
        true = MujocoTree(body, limited=stops).run(
            seconds=1, pushes=[push.theirs], fps=_FPS, step=_STEP[stops]
        )
        forces = [push.ours] if stops else [push.ours, Limits(restitution=0, bounds=unbounded)]
        scene = Scene([Actor(body, forces=forces, contacts=0)])
        found = simulate(scene, seconds=1, fps=_FPS, dt=_OUR_STEP)
        error, _ = vertex_error(found.clips[0].vertices, true.vertices, size)
        way = np.linalg.norm(true.vertices - true.vertices[0], axis=-1).max() / size
        row[f"way, {label}"] = float(way)
        row[f"error after 1 s, {label}"] = error
    return row
