"""Running: every method on every case, on all cores, one line per method and goal."""

from __future__ import annotations

import multiprocessing
import os
import time
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from functools import partial

import numpy as np

from kin4d.benchmarks.object_pose.cases import Case, CaseSpec
from kin4d.benchmarks.object_pose.methods import Fitter, Method
from kin4d.benchmarks.object_pose.score import PoseMetrics, Score
from kin4d.errors import Kin4dError
from kin4d.progress import track
from kin4d.storage.worker import init_worker


@dataclass(frozen=True, kw_only=True)
class PoseResult:
    """One method on one goal.

    Attributes:
        group: The set.
        category: Of the object.
        instance: The object's name.
        pose: Number of the goal.
        method: Name of the method.
        score: How well it did.
        preparing: Seconds of processor time spent on M0, once for all goals.
        fitting: Seconds spent on this goal.
        refused: Why it gave up, in which case it is scored as if nothing moved; empty if it did
            not.
    """

    group: str
    category: str
    instance: str
    pose: int
    method: str
    score: Score
    preparing: float
    fitting: float
    refused: str = ""


def run_all(
    recipes: Sequence[CaseSpec],
    methods: Sequence[Method],
    *,
    poses: int,
    seed: int,
    workers: int | None = None,
) -> list[PoseResult]:
    """Every method on every case.

    Args:
        recipes: Of the cases.
        methods: Rows.
        poses: Goals per case.
        seed: Of everything.
        workers: Processes; 0 for none but this one, None for as many as there are cores.
    """
    work = partial(run_case, methods=tuple(methods), poses=poses, seed=seed)
    count = len(os.sched_getaffinity(0)) if workers is None else workers
    found: list[PoseResult] = []
    if count == 0:
        for recipe in track(recipes, "fitting"):
            found += work(recipe)
        return found
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(count, mp_context=context, initializer=init_worker) as pool:
        for results in track(pool.map(work, recipes), "fitting", total=len(recipes)):
            found += results
    return found


def run_case(
    recipe: CaseSpec, *, methods: Sequence[Method], poses: int, seed: int
) -> list[PoseResult]:
    """Every method on one case."""
    case = recipe.make(poses=poses, seed=seed)
    targets = [case.target(pose) for pose in range(poses)]
    metrics = [
        PoseMetrics(case.mesh, goal, seed=case.seed + 3 * pose)
        for pose, goal in enumerate(case.goals)
    ]
    return [result for method in methods for result in _run_method(case, method, targets, metrics)]


def _run_method(
    case: Case, method: Method, targets: Sequence[np.ndarray], metrics: Sequence[PoseMetrics]
) -> list[PoseResult]:
    begin, refused = time.process_time(), ""
    fitter: Fitter | None = None
    try:
        fitter = method.prepare(case)
    except Kin4dError as error:
        refused = str(error)
    preparing = time.process_time() - begin
    results = []
    for pose, (target, metric) in enumerate(zip(targets, metrics, strict=True)):
        begin, why = time.process_time(), refused
        vertices = case.mesh.vertices
        try:
            vertices = vertices if fitter is None else fitter(pose, target)
        except Kin4dError as error:
            why = str(error)
        fitting = time.process_time() - begin
        results.append(
            PoseResult(
                group=case.group,
                category=case.identity.category,
                instance=case.identity.name,
                pose=pose,
                method=method.name,
                score=metric.score(vertices),
                preparing=preparing,
                fitting=fitting,
                refused=why,
            )
        )
    return results
