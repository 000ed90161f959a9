"""Cases from the textbook: pendulum, spinning top, sliding block, bouncing ball."""

from __future__ import annotations

import numpy as np
import torch

from kin4d.benchmarks.dynamics.closed_forms import (
    bounce_heights,
    double_pendulum,
    flip_time,
    sliding_distance,
    spinning_body,
)
from kin4d.benchmarks.report import Check, Report
from kin4d.bodies.analytic import pendulum
from kin4d.bodies.floating import FloatingBase
from kin4d.bodies.rigid import RigidBody
from kin4d.dynamics.materials import Material
from kin4d.dynamics.scene import Actor, Scene
from kin4d.dynamics.simulate import simulate
from kin4d.geometry.mesh import Mesh
from kin4d.geometry.primitives import box

_GRAVITY = 9.81
_FRICTIONS = (0.2, 0.5, 0.9)
_RESTITUTIONS = (0.3, 0.6, 0.9)


def run(*, quick: bool, seed: int) -> Report:
    """One row for each quantity."""
    report = Report()
    few = slice(1, 2) if quick else slice(None)
    cases = [_pendulum(), *_spinning(quick), *map(_sliding, _FRICTIONS[few])]
    cases += [_bouncing(value) for value in _RESTITUTIONS[few]]
    for case, quantity, error, threshold in cases:
        report.rows.append({"case": case, "quantity": quantity, "error": error})
        report.checks.append(Check(f"{case}: {quantity}", error, threshold))
    report.notes.append(
        "Closed forms: the double pendulum and the spinning body integrated to 1e-12 (DOP853), "
        "flips by elliptic integrals, the block by Coulomb's law, the ball by its restitution."
    )
    return report


def _pendulum() -> tuple[str, str, float, float]:
    body = pendulum(length=0.5)
    start = np.array([1.2, 0.8])
    found = simulate(Actor(body, q=start, contacts=0), seconds=3, fps=60).clips[0]
    exact = double_pendulum(start, np.zeros(2), found.times, length=0.5, gravity=_GRAVITY)
    with torch.no_grad():
        true = body.vertices(torch.from_numpy(exact)).numpy()
    error = np.linalg.norm(found.vertices[-1] - true[-1], axis=-1).max() / body.rest.bbox_diagonal
    return "double pendulum", "vertex error after 3 s, of the diameter", float(error), 1e-3


def _spinning(quick: bool) -> list[tuple[str, str, float, float]]:
    """A box thrown with a spin about its middle axis, which flips again and again."""
    sides = np.array([0.3, 0.2, 0.1])
    body = RigidBody(box((0.3, 0.2, 0.1)))
    mass = float(body.mass.sum())
    moments = mass / 12 * (np.square(sides).sum() - np.square(sides))
    spin = np.array([0.02, 6.0, 0.02])
    flip = flip_time(moments, spin)
    rate = np.array([0.3, -0.2, 0.1, *spin])
    seconds = (2 if quick else 3) * flip * 1.1
    scene = Scene([Actor(FloatingBase(body), qd=rate, contacts=0)], gravity=False)
    found = simulate(scene, seconds=seconds, fps=240).clips[0]
    rotations = spinning_body(moments, spin, found.times)
    drift = rate[:3] * found.times[:, None]
    true = np.einsum("tij,vj->tvi", rotations, body.rest.vertices) + drift[:, None]
    error = np.linalg.norm(found.vertices - true, axis=-1)[found.times < flip * 1.1].max()
    assert found.q is not None
    with torch.no_grad():
        points = FloatingBase(body).points(torch.from_numpy(found.q)).numpy()
        pose = FloatingBase(body).root_pose(torch.from_numpy(found.q)).numpy()
    weights = np.full(points.shape[1], mass / points.shape[1])
    # Fourth-order differences: their own error is a millionth at this spin and frame rate.
    speed = (8 * (points[3:-1] - points[1:-3]) - (points[4:] - points[:-4])) * found.fps / 12
    linear = np.einsum("p,tpi->ti", weights, speed)
    angular = np.einsum("p,tpi->ti", weights, np.cross(points[2:-2], speed))
    along = np.einsum("ti,i->t", pose[:, :, 1][:, :3], moments * spin)
    crossings = np.flatnonzero(np.diff(np.sign(along))) / found.fps
    gaps = np.diff(crossings)
    return [
        ("spinning box", "vertex error after one flip, of the diameter",
         float(error / body.rest.bbox_diagonal), 1e-3),
        ("spinning box", "change of momentum, relative", _change(linear), 1e-6),
        ("spinning box", "change of angular momentum, relative", _change(angular), 1e-4),
        ("spinning box", "time between flips (Dzhanibekov), relative",
         float(abs(gaps / flip - 1).max()), 0.01),
    ]  # fmt: skip


def _change(track: np.ndarray) -> float:
    return float(np.linalg.norm(track - track[0], axis=-1).max() / np.linalg.norm(track[0]))


def _sliding(friction: float) -> tuple[str, str, float, float]:
    """At which slope a block begins to slide; the slope is a tilt of gravity."""
    material = Material(name="block", friction=friction, restitution=0.0, damping=0.0)
    body = FloatingBase(RigidBody(box((0.4, 0.3, 0.1))))

    def slid_distance(slope: float) -> float:
        pull = _GRAVITY * np.array([np.sin(slope), 0.0, -np.cos(slope)])
        scene = Scene([Actor(body, material=material)], ground=-0.05, gravity=tuple(pull))
        clip = simulate(scene, seconds=1, fps=24).clips[0]
        return float((clip.vertices[-1] - clip.vertices[0]).mean(0)[0])

    low, high = 0.9 * friction, 1.1 * friction
    for _ in range(7):
        middle = 0.5 * (low + high)
        slid = slid_distance(np.arctan(middle)) > 0.005
        low, high = (low, middle) if slid else (middle, high)
    steep = np.arctan(2 * friction)
    off = abs(slid_distance(steep) / sliding_distance(steep, friction, 1.0) - 1)
    edge = abs(0.5 * (low + high) / friction - 1)
    name = f"sliding block, friction {friction}"
    return name, "tan(slope) where it slides, and way at twice that, relative", max(edge, off), 0.02


def _bouncing(restitution: float) -> tuple[str, str, float, float]:
    import trimesh

    # A vertex is its lowest point: a flat or an edge below would make it spin.
    shape = trimesh.creation.uv_sphere(radius=0.1, count=[16, 16])
    ball = FloatingBase(RigidBody(Mesh(vertices=shape.vertices, faces=shape.faces, name="ball")))
    material = Material(name="ball", restitution=restitution, damping=0.0, friction=0.0)
    scene = Scene([Actor(ball, material=material)], ground=-1.1)
    clip = simulate(scene, seconds=2.2, fps=240).clips[0]
    assert clip.q is not None
    height = clip.q[:, 2] + 1.0  # of the lowest point above the ground
    low = (height[1:-1] < height[:-2]) & (height[1:-1] <= height[2:])
    bounces = np.flatnonzero(low) + 1
    ends = [*bounces[1:], len(height)]
    tops = [height[a:b].max() for a, b in zip(bounces, ends, strict=True) if b < len(height)][:2]
    exact = bounce_heights(1.0, restitution, len(tops))
    error = float(abs(np.array(tops) / exact - 1).max()) if tops else float("inf")
    name = f"bouncing ball, restitution {restitution}"
    return name, "height after one and two bounces, relative", error, 0.02
