"""Does anything break? Random pushes on random objects, hung, standing and thrown about."""

from __future__ import annotations

import numpy as np

from kin4d.benchmarks.dynamics.push_cases import held_out_objects, make_push_case
from kin4d.benchmarks.report import Check, Report
from kin4d.bodies.articulated import ArticulatedBody
from kin4d.bodies.floating import FloatingBase
from kin4d.dynamics.forces import Push
from kin4d.dynamics.materials import MATERIALS
from kin4d.dynamics.scene import Actor, Scene
from kin4d.dynamics.simulate import simulate
from kin4d.dynamics.simulation import DivergedError, Simulation

_STEPS = 500
_STEP = 1 / 240
_FASTEST = 300.0  # diameters per second: nothing here is pushed or falls that hard


def run(*, quick: bool, seed: int) -> Report:
    """One row for fixed and one for free objects, and thresholds on what must not happen."""
    report = Report()
    rng = np.random.default_rng(seed)
    count, per_object = (20, 4) if quick else (1000, 10)
    tally: dict[str, list[dict[str, float]]] = {"fixed": [], "free, on the ground": []}
    for made in held_out_objects(count // per_object, seed=seed + 7):
        body = made.body()
        for number in range(per_object):
            support = "fixed" if number % 2 == 0 else "free, on the ground"
            tally[support].append(_one(body, support, rng))
    for support, found in tally.items():
        report.rows.append(
            {
                "object": support,
                "pushes": len(found),
                "steps each": _STEPS,
                "not finite": sum(one["not finite"] for one in found),
                "exploded": sum(one["exploded"] for one in found),
                "stopped": sum(one["stopped"] for one in found),
                "deepest in the ground (of the size)": max(one["depth"] for one in found),
                "farthest beyond a limit (of its range)": max(one["beyond"] for one in found),
            }
        )
    broken = sum(row["not finite"] + row["exploded"] + row["stopped"] for row in report.rows)
    depth = max(row["deepest in the ground (of the size)"] for row in report.rows)
    report.checks = [
        Check(f"{count} random pushes of {_STEPS} steps: NaN, explosions and stops", broken, 0),
        Check("deepest penetration in them, of the size", depth, 0.01),
    ]
    report.notes.append(
        "Pushes last 0.1 s and would move the vertex they hit by 0.1 to 30 diameters in a second; "
        "objects and directions are random, so are materials. Penetration is measured on all "
        "vertices of every frame, not only on those that the mechanics watch."
    )
    return report


def _one(body: ArticulatedBody, support: str, rng: np.random.Generator) -> dict[str, float]:
    distance = float(10 ** rng.uniform(-1, 1.5))
    fair = make_push_case(body, rng, distance=distance, floating=support != "fixed")
    push = Push(tuple(fair.at.tolist()), fair.force, duration=fair.duration)
    material = MATERIALS[str(rng.choice(list(MATERIALS)))]
    size = body.rest.bbox_diagonal
    if support == "fixed":
        scene = Scene([Actor(body, forces=[push], material=material, contacts=0)])
        floor = -np.inf
    else:
        floor = float(body.rest.bounds[0, 2]) - 0.02 * size
        scene = Scene([Actor(FloatingBase(body), forces=[push], material=material)], ground=floor)
    stopped = False
    try:
        run = simulate(scene, seconds=_STEPS * _STEP, dt=_STEP, fps=30)
    except DivergedError as error:
        run, stopped = error.simulation, True
    return {"stopped": float(stopped), **_harm(run, body, floor, size)}


def _harm(run: Simulation, body: ArticulatedBody, floor: float, size: float) -> dict[str, float]:
    clip = run.clips[0]
    finite = np.isfinite(clip.vertices).all() and np.isfinite(run.energy).all()
    speed = abs(np.diff(clip.vertices, axis=0)).max(initial=0.0) * clip.fps / size
    assert clip.q is not None
    own = clip.q[:, -len(body.coordinates) :]
    low, high = body.limits.numpy().T
    span = np.where(np.isfinite(high - low), np.maximum(high - low, 1e-6), np.inf)
    return {
        "not finite": float(not finite),
        "exploded": float(not speed < _FASTEST),
        "depth": max(0.0, float(floor - clip.vertices[..., 2].min()) / size),
        "beyond": float(max(((low - own) / span).max(), ((own - high) / span).max(), 0.0)),
    }
