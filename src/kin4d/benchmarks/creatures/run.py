"""Running the creatures benchmark: skeletons and linear modes on every file."""

from __future__ import annotations

import time
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from kin4d.benchmarks.creatures.cases import CreatureCase, case_name
from kin4d.benchmarks.creatures.scores import (
    StateScores,
    fit_scores,
    found_joints,
    random_states,
    state_scores,
)
from kin4d.benchmarks.object_pose.linear import LinearBody
from kin4d.bodies.creature.build import skeletal_body
from kin4d.bodies.creature.evidence import ShapeEvidence
from kin4d.bodies.floating import FloatingBase
from kin4d.errors import Kin4dError

STATES = 16
"""Random states of each body."""

MODES = 30
"""Linear modes of the reference."""


@dataclass(frozen=True, eq=False, kw_only=True)
class CreatureResult:
    """What was measured on one file.

    Attributes:
        name: Folder and file.
        kind: The folder.
        vertices: Of the mesh.
        coordinates: Of the skeleton.
        seconds: Of processor time from mesh to body.
        is_creature: Whether `auto` takes it for one.
        fits: Points off after the fit of the skeleton to each frame, as a share of rest.
        linear: The same of linear modes.
        states: Of the skeleton, at random.
        frames: The file's own frames, scored like states.
        joints: How many true joints turn visibly.
        found: How many of them have a predicted one near.
        middle: How many have the middle of the shape near.
        predicted: How many joints are predicted.
        right: How many of those have a visible true one near.
    """

    name: str
    kind: str
    vertices: int
    coordinates: int
    seconds: float
    is_creature: bool
    fits: list[float]
    linear: list[float]
    states: StateScores
    frames: StateScores | None
    joints: int
    found: int
    middle: int
    predicted: int
    right: int


def run_creature(path: Path, *, frames: int, seed: int) -> CreatureResult | str:
    """All scores of a file, or why it was left out."""
    try:
        case = CreatureCase.of(path, frames=frames, seed=seed)
    except Kin4dError as error:
        return f"{case_name(path)}: left out: {str(error).replace(str(path), path.name)}"
    mesh, size = case.mesh, case.mesh.bbox_diagonal
    begin = time.process_time()
    body = skeletal_body(mesh)
    seconds = time.process_time() - begin
    true = case.rig.positions[case.rig.visible()]
    specs = body.tree.joint_specs
    points = np.unique([spec.point for spec in specs] or np.zeros((0, 3)), axis=0)
    found, right = found_joints(true, points, size)
    middle, _ = found_joints(true, mesh.bounds.mean(0)[None], size)
    truth = np.stack([frame.vertices for frame in case.frames]) if case.frames else None
    return CreatureResult(
        name=case.name,
        kind=case.kind,
        vertices=len(mesh.vertices),
        coordinates=len(body.q0),
        seconds=seconds,
        is_creature=ShapeEvidence.of(mesh).is_creature,
        fits=fit_scores(FloatingBase(body), case, seed=seed),
        linear=fit_scores(LinearBody.of_mesh(mesh, MODES), case, seed=seed),
        states=state_scores(mesh, random_states(body, STATES, seed=seed)),
        frames=None if truth is None else state_scores(mesh, truth),
        joints=len(true),
        found=found,
        middle=middle,
        predicted=len(points),
        right=right,
    )
