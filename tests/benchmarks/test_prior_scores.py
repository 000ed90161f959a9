"""Scores of the prior benchmark on closed cases: boxes, calibration, samples, fused meshes."""

from __future__ import annotations

import numpy as np
import pytest

from kin4d.benchmarks.prior.calibration import (
    calibration_error,
    f1_of_surest_joints,
    f1_of_surest_objects,
)
from kin4d.benchmarks.prior.comparison import Comparison
from kin4d.benchmarks.prior.joint_scores import JointScores, joint_summary
from kin4d.benchmarks.prior.mechanism import joints_of_specs
from kin4d.benchmarks.prior.motion_scores import MotionScores, Rates, rates
from kin4d.benchmarks.prior.particulate import ParticulateScores
from kin4d.benchmarks.prior.plausibility import Plausibility
from kin4d.bodies.segmented import JointSpec, SegmentedBody
from kin4d.geometry.fuse import fuse_mesh
from kin4d.geometry.mesh import Mesh
from kin4d.geometry.mesh_ops import connected_components
from kin4d.geometry.primitives import box
from kin4d.geometry.topology import Edges

X, Y, Z = np.eye(3)


def shifted(size: tuple[float, float, float], at: tuple[float, float, float]) -> Mesh:
    mesh = box(size)
    return mesh.replace_vertices(mesh.vertices + at)


def cabinet(*, kind: str = "revolute", axis=Z, point=(0.5, -0.52, 0.0), limits=(0.0, 1.5), **more):
    """A unit cube with a door in front of it, on the predicted joint, and its true faces."""
    parts = [shifted((1.0, 1.0, 1.0), (0, 0, 0)), shifted((1.0, 0.04, 1.0), (0, -0.52, 0))]
    mesh = Mesh.concatenate(parts)
    part = np.repeat([0, 1], [len(one.vertices) for one in parts])
    joint = JointSpec(
        name="door", parent=0, kind=kind, point=np.array(point), axis=axis, limits=limits, **more
    )
    return SegmentedBody(mesh, part, [joint])


def compared(body: SegmentedBody, true: SegmentedBody, *, count: int = 400) -> Comparison:
    link = true.part[true.rest.faces[:, 0]]
    joints = joints_of_specs(true.joint_specs)[0]
    return Comparison.of(body, link, joints, count=count, seed=0)


def test_hits_tell_axis_from_range() -> None:
    true = cabinet()
    same = MotionScores.of(compared(cabinet(), true))
    assert same.recalled.tolist() == same.correct.tolist() == [True]
    assert same.leading.tolist() == [0]
    short = MotionScores.of(compared(cabinet(limits=(0.0, 0.4)), true))
    assert (short.recalled[0], short.correct[0]) == (False, True)
    assert short.recalled_free[0]
    wrong = MotionScores.of(compared(cabinet(point=(-0.5, -0.52, 0.0)), true))
    assert not wrong.recalled_free[0]
    assert not wrong.correct_free[0]
    still = MotionScores.of(compared(cabinet(limits=(0.0, 0.0)), true))
    assert (still.correct[0], still.correct_free[0]) == (False, False)


def test_rates_are_over_all_joints() -> None:
    found = Rates.of(np.array([True, False, False, False]), np.array([True, False]))
    assert (found.recall, found.precision) == (0.25, 0.5)
    assert found.f1 == pytest.approx(1 / 3)
    assert Rates.of(np.array([False]), np.zeros(0, bool)).f1 == 0


def test_particulate_scores_of_a_door_and_of_one_part() -> None:
    true = cabinet()
    same = ParticulateScores.of(compared(cabinet(), true, count=2000))
    assert same.giou_given == same.giou_open == pytest.approx(1)
    half = ParticulateScores.of(compared(cabinet(limits=(0.0, 0.7)), true, count=2000))
    assert half.giou_given == pytest.approx(1)
    assert half.giou_open < 0.9
    assert half.giou_open < half.giou_mean < 1
    assert half.chamfer_open > 1e-3
    static = SegmentedBody(true.rest, np.zeros(len(true.part), np.int64), [])
    naive = ParticulateScores.of(compared(static, true, count=2000))
    # The one part is matched with the cube: (g + (g - 1) / 2) / 2 for their boxes' gIoU g.
    share = 1 / 1.04
    assert naive.giou_given == pytest.approx((share + (share - 1) / 2) / 2, abs=1e-3)
    assert naive.label_iou < 0.75


def test_joint_scores_measure_axes_positions_and_ranges() -> None:
    true = cabinet()
    tilted = np.array([0.0, np.sin(0.1), np.cos(0.1)])
    near = JointScores.of(compared(cabinet(axis=tilted, limits=(0.0, 0.75)), true))
    assert near.axis[0] == pytest.approx(np.degrees(0.1))
    assert near.range[0] == pytest.approx(0.5)
    moved = JointScores.of(compared(cabinet(point=(-0.5, -0.52, 0.3), axis=-Z), true))
    assert moved.axis[0] == pytest.approx(0)
    assert moved.position[0] == pytest.approx(1.0 / 1.04)
    slide = JointScores.of(compared(cabinet(kind="prismatic", axis=Y), true))
    assert not slide.same_type[0]
    assert np.isnan(slide.range[0])
    summary = joint_summary([near, moved, slide])
    assert (summary["matched"], summary["type"]) == (1, pytest.approx(2 / 3))


def test_samples_tear_off_and_pass_through() -> None:
    good = Plausibility.of(cabinet(point=(0.5, -0.5, 0.0)), seed=0)
    assert good is not None
    assert good.attached == 1
    assert good.penetration < 0.01
    torn = Plausibility.of(cabinet(kind="prismatic", axis=Y, limits=(-0.9, -0.5)), seed=0)
    assert torn is not None
    assert torn.attached == 0
    through = Plausibility.of(cabinet(kind="prismatic", axis=Y, limits=(0.2, 0.3)), seed=0)
    assert through is not None
    assert through.penetration > 0.1


def scores(probability: list[float], correct: list[bool], recalled: list[bool]) -> MotionScores:
    hit = np.array(recalled)
    return MotionScores(
        recalled=hit,
        leading=np.where(hit, np.arange(len(hit)), -1),
        correct=np.array(correct),
        probability=np.array(probability),
        recalled_free=hit,
        correct_free=np.array(correct),
    )


def test_calibration_error() -> None:
    assert calibration_error([scores([1.0, 1.0], [True, True], [])]) == 0
    assert calibration_error([scores([0.9] * 2, [False] * 2, [])]) == pytest.approx(0.9)
    assert calibration_error([scores([0.55] * 2, [True, False], [])]) == pytest.approx(0.05)
    assert np.isnan(calibration_error([scores([np.nan], [True], [])]))


def test_f1_of_what_is_surest() -> None:
    sure = scores([0.9, 0.8], [True, True], [True, True])
    unsure = scores([0.3, 0.2], [False, False], [False, False])
    assert f1_of_surest_objects([unsure, sure], [None, None], 0.5) == 1
    assert f1_of_surest_objects([unsure, sure], [None, None], 1.0) == pytest.approx(0.5)
    assert f1_of_surest_joints([unsure, sure], 0.5) == pytest.approx(2 / 3)
    assert f1_of_surest_joints([unsure, sure], 0.25) == pytest.approx(0.4)
    assert rates([unsure, sure]).f1 == f1_of_surest_joints([unsure, sure], 1.0)
    unknown = scores([np.nan], [True], [True])
    assert np.isnan(f1_of_surest_joints([unknown], 0.5))
    assert f1_of_surest_objects([unknown], [0.7], 0.5) == 1


def test_fused_mesh_is_one_closed_piece_with_its_links() -> None:
    body = cabinet()
    link = body.part[body.rest.faces[:, 0]]
    fused, labels = fuse_mesh(body.rest, link, cells=32)
    assert len(np.unique(connected_components(fused.vertices, fused.faces))) == 1
    assert np.allclose(fused.bounds, body.rest.bounds, atol=2 / 32)
    centers = fused.vertices[fused.faces].mean(1)
    assert (labels[centers[:, 1] < -0.53] == 1).all()
    assert (labels[centers[:, 1] > -0.4] == 0).all()
    assert Edges(fused.faces).open == 0


def test_a_calibration_is_found_again() -> None:
    from kin4d.benchmarks.prior.calibrate import fit_log_odds

    rng = np.random.default_rng(0)
    stated = rng.normal(0, 2, (4000, 2))
    odds = stated @ [0.5, 0.0] - 0.7
    right = rng.random(4000) < 1 / (1 + np.exp(-odds))
    weights, offset = fit_log_odds(stated, right)
    np.testing.assert_allclose(weights, [0.5, 0.0], atol=0.08)
    assert offset == pytest.approx(-0.7, abs=0.1)
