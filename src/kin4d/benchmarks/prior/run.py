"""Running the prior benchmark: every row on every case, on all cores."""

from __future__ import annotations

import multiprocessing
import os
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from functools import partial

from kin4d.benchmarks.prior import motion_scores, particulate
from kin4d.benchmarks.prior.baselines import TRUE_JOINTS, Predictor, one_part, true_body
from kin4d.benchmarks.prior.cases import PriorCase, PriorCaseSpec
from kin4d.benchmarks.prior.comparison import Comparison
from kin4d.benchmarks.prior.joint_scores import JointScores
from kin4d.benchmarks.prior.motion_scores import MotionScores
from kin4d.benchmarks.prior.particulate import ParticulateScores
from kin4d.benchmarks.prior.plausibility import Plausibility
from kin4d.bodies.segmented import SegmentedBody
from kin4d.errors import Kin4dError
from kin4d.progress import track
from kin4d.storage.worker import init_worker


@dataclass(frozen=True, kw_only=True)
class PriorResult:
    """One row on one object.

    Attributes:
        group: The set.
        category: Of the object.
        name: Of the object.
        method: Of the row.
        motion: Recall and precision.
        parts: Particulate's protocol.
        joints: Types, axes and ranges.
        samples: Plausibility of random states; None if nothing moves.
        confidence: Of the whole body.
        seconds: Of processor time for the prediction.
        refused: Why there is none, in which case nothing moves; empty if there is.
    """

    group: str
    category: str
    name: str
    method: str
    motion: MotionScores
    parts: ParticulateScores
    joints: JointScores
    samples: Plausibility | None
    confidence: float | None
    seconds: float
    refused: str = ""


def run_prior_cases(
    specs: Sequence[PriorCaseSpec],
    predictors: Sequence[Predictor],
    *,
    seed: int,
    workers: int | None = None,
) -> tuple[list[PriorResult], list[str]]:
    """Every row on every case, and what could not be read.

    Args:
        specs: Of the cases.
        predictors: Rows; that of the true joints is added.
        seed: Of states and samples.
        workers: Processes; 0 for none but this one, None for as many as there are cores.
    """
    work = partial(_run_spec, predictors=tuple(predictors), seed=seed)
    count = len(os.sched_getaffinity(0)) if workers is None else workers
    found: list[list[PriorResult] | str] = []
    if count == 0:
        found += [work(spec) for spec in track(specs, "predicting")]
    else:
        context = multiprocessing.get_context("spawn")
        with ProcessPoolExecutor(count, mp_context=context, initializer=init_worker) as pool:
            found += track(pool.map(work, specs), "predicting", total=len(specs))
    results = [one for some in found if not isinstance(some, str) for one in some]
    return results, [some for some in found if isinstance(some, str)]


def run_prior_case(case: PriorCase, predictors: Sequence[Predictor]) -> list[PriorResult]:
    """Every row on one case."""
    rows: list[tuple[str, Callable[[], SegmentedBody]]] = [
        (one.name, partial(one.predict, case.mesh)) for one in predictors
    ]
    rows.append((TRUE_JOINTS, partial(true_body, case)))
    return [_scored(case, name, predict) for name, predict in rows]


def _run_spec(
    spec: PriorCaseSpec, *, predictors: Sequence[Predictor], seed: int
) -> list[PriorResult] | str:
    try:
        case = spec.make(seed=seed)
    except Kin4dError as error:
        return f"{spec.group}: left out: {error}"
    return run_prior_case(case, predictors)


def _scored(case: PriorCase, name: str, predict: Callable[[], SegmentedBody]) -> PriorResult:
    begin, refused = time.process_time(), ""
    try:
        body = predict()
    except Kin4dError as error:
        body, refused = one_part(case.mesh), str(error)
    seconds = time.process_time() - begin
    compare = partial(Comparison.of, body, case.face_link, case.joints, seed=case.seed)
    few = compare(count=motion_scores.POINTS)
    return PriorResult(
        group=case.group,
        category=case.category,
        name=case.name,
        method=name,
        motion=MotionScores.of(few),
        parts=ParticulateScores.of(compare(count=particulate.POINTS, least=1)),
        joints=JointScores.of(few),
        samples=Plausibility.of(body, seed=case.seed),
        confidence=body.confidence,
        seconds=seconds,
        refused=refused,
    )
