"""Scores of the creatures benchmark: fits to frames, random states, and joints."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch

from kin4d.benchmarks.creatures.cases import CreatureCase
from kin4d.bodies.body import Body
from kin4d.bodies.capabilities import StateSampler
from kin4d.bodies.skin_distortion import SkinDistortion
from kin4d.fitting.fit import fit
from kin4d.geometry.lattice import signed_volume
from kin4d.geometry.mesh import Mesh

NEAR = 0.05
"""Of the size: a true joint is found if a predicted one is as near."""


def fit_scores(body: Body, case: CreatureCase, *, seed: int) -> list[float]:
    """Of every frame: mean distance of the surface after a fit without correspondences, as a share
    of the distance at rest. The body must be free in space."""
    scores = []
    for frame in case.frames:
        target = case.mesh.replace_vertices(frame.vertices)
        found = fit(body, target, starts=body.q0[None], seed=seed)
        gap = case.samples.points(found.vertices) - case.samples.points(frame.vertices)
        scores.append(float(np.linalg.norm(gap, axis=1).mean()) / frame.motion)
    return scores


@dataclass(frozen=True, kw_only=True)
class StateScores:
    """Random states of a body.

    Attributes:
        distorted: Mean share of edges that are stretched or crushed by more than 1.5.
        volume: Share of the states whose volume is within 15 % of rest.
        motion: Mean distance of vertices from rest, in sizes: states that hardly move distort
            nothing.
    """

    distorted: float
    volume: float
    motion: float


def state_scores(mesh: Mesh, states: np.ndarray) -> StateScores:
    """Of vertices [S, V, 3] (m)."""
    distortion, rest = SkinDistortion.of(mesh), signed_volume(mesh)
    ratio = np.array([signed_volume(mesh.replace_vertices(one)) / rest for one in states])
    gap = np.linalg.norm(states - mesh.vertices, axis=-1).mean()
    return StateScores(
        distorted=float(np.mean([distortion.share(one) for one in states])),
        volume=float((np.abs(ratio - 1) < 0.15).mean()),
        motion=float(gap) / mesh.bbox_diagonal,
    )


def random_states(body: Body, count: int, *, seed: int) -> np.ndarray:
    """[count, V, 3] m: random states of a body that samples some."""
    assert isinstance(body, StateSampler)
    with torch.no_grad():
        return body.vertices(body.sample(count, seed=seed)).numpy()


def found_joints(true: np.ndarray, predicted: np.ndarray, size: float) -> tuple[int, int]:
    """How many of true joints [J, 3] have a predicted one [P, 3] near, and the other way round."""
    if not len(true) or not len(predicted):
        return 0, 0
    gap = np.linalg.norm(true[:, None] - predicted, axis=-1)
    return int((gap.min(1) <= NEAR * size).sum()), int((gap.min(0) <= NEAR * size).sum())
