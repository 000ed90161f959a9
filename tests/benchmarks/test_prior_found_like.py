"""Found-like cases: untidy, and the truth about them still holds."""

from __future__ import annotations

import numpy as np

from kin4d.benchmarks.prior.baselines import true_body
from kin4d.benchmarks.prior.cases import PriorCaseSpec
from kin4d.benchmarks.prior.comparison import Comparison
from kin4d.benchmarks.prior.found_like import found_like
from kin4d.benchmarks.prior.motion_scores import POINTS, MotionScores
from kin4d.geometry.pieces import split_surface

DRAWERS = PriorCaseSpec(group="procedural dev", category="drawer_unit", number=7)


def test_truth_of_found_like_cases_can_be_predicted() -> None:
    changes = set()
    for seed in range(6):
        clean = DRAWERS.make(seed=seed)
        case = found_like(clean)
        assert case.group == "procedural dev, found-like"
        assert len(case.face_link) == len(case.mesh.faces)
        assert set(case.face_link) == set(clean.face_link)
        pieces = [
            int(split_surface(one.vertices, one.faces).max()) for one in (clean.mesh, case.mesh)
        ]
        changes.add(np.sign(pieces[1] - pieces[0]))
        found = Comparison.of(
            true_body(case), case.face_link, case.joints, count=POINTS, seed=case.seed
        )
        scores = MotionScores.of(found)
        assert scores.recalled.all()
        assert scores.correct.all()
    assert 1 in changes  # clutter and sheets


def test_found_like_cases_are_reproducible() -> None:
    first, second = (found_like(DRAWERS.make(seed=3)) for _ in range(2))
    np.testing.assert_array_equal(first.mesh.vertices, second.mesh.vertices)
    np.testing.assert_array_equal(first.face_link, second.face_link)
