"""The benchmark of what a mesh can do: mechanisms, cases, scores and the whole run."""

from __future__ import annotations

import pickle
from dataclasses import replace

import numpy as np
import pytest

from kin4d.benchmarks.prior import run
from kin4d.benchmarks.prior.baselines import BASELINES, Predictor, one_part, true_body
from kin4d.benchmarks.prior.cases import PriorCaseSpec, prior_case_specs
from kin4d.benchmarks.prior.comparison import Comparison
from kin4d.benchmarks.prior.heuristic import heuristic_body
from kin4d.benchmarks.prior.images import draw_predictions
from kin4d.benchmarks.prior.mechanism import Mechanism, best_state, joints_of_specs
from kin4d.benchmarks.prior.run import run_prior_case
from kin4d.benchmarks.prior.tables import prior_report
from kin4d.bodies.joint import Joint, Mimic
from kin4d.bodies.segmented import JointSpec, SegmentedBody
from kin4d.errors import InputError
from kin4d.geometry.mesh import Mesh
from kin4d.geometry.primitives import box
from kin4d.geometry.sampling import spread_points
from kin4d.objects.piece_object import LinkJoints
from kin4d.objects.procedural.assembly import ArticulatedObject, ObjectLink
from kin4d.storage.splits import UNSEEN_CATEGORIES

DRAWERS = PriorCaseSpec(group="procedural test", category="drawer_unit", number=7)


@pytest.fixture(scope="module")
def case():
    return DRAWERS.make(seed=0)


def spec(number: int, parent: int = 0, **changes) -> JointSpec:
    fields = {
        "name": f"part{number}",
        "parent": parent,
        "kind": "revolute",
        "point": np.zeros(3),
        "axis": np.array([0.0, 0.0, 1.0]),
        "limits": (0.0, 1.5),
    }
    return JointSpec(**{**fields, **changes})


def mechanism(*specs: JointSpec, link=None, seed: int = 0) -> Mechanism:
    """Points of as many links as there are joints, each in a unit cube beside the last."""
    joints, number = joints_of_specs(specs)
    rng = np.random.default_rng(seed)
    link = np.repeat(np.arange(len(specs) + 1), 20) if link is None else link
    points = rng.random((len(link), 3)) + link[:, None] * [1.0, 0.0, 0.0]
    return Mechanism(points, number[link], joints)


def left(first: Mechanism, column: int, second: Mechanism) -> float:
    """What the second leaves of the full motion of a coordinate of the first, relative."""
    target = first.full_motion(column)
    weight = np.ones(len(first.points))
    far = np.sqrt(np.square(target - first.points).sum(1).mean())
    return best_state(second, target, weight)[1] / far


SLIDE = {"kind": "prismatic", "axis": np.array([1.0, 0.0, 0.0]), "limits": (-0.1, 0.8)}
TREE = (spec(1), spec(2, 1, point=np.array([2.0, 0, 0]), axis=np.array([0.0, 1, 0])))


@pytest.mark.parametrize(
    "specs",
    [
        (spec(1),),
        (spec(1, **SLIDE),),
        (spec(1, limits=(-np.pi, np.pi)),),
        TREE,
        (*TREE, spec(3, 2, **SLIDE)),
    ],
)
def test_a_mechanism_makes_its_own_motions(specs) -> None:
    one = mechanism(*specs)
    for column in range(len(specs)):
        assert left(one, column, one) < 1e-3
        assert left(one, column, one.unlimited()) < 1e-3


def test_wrong_axis_and_short_range_are_distinguished() -> None:
    true = mechanism(spec(1))
    wrong = mechanism(spec(1, axis=np.array([0.0, 1.0, 0.0])))
    short = mechanism(spec(1, limits=(0.0, 0.5)))
    assert left(true, 0, wrong) > 0.5
    assert left(true, 0, wrong.unlimited()) > 0.5
    assert left(true, 0, short) > 0.3
    assert left(true, 0, short.unlimited()) < 1e-3
    # The other way round the short motion can be made.
    assert left(short, 0, true) < 1e-3


def test_axis_may_point_either_way_and_endless_hinges_have_no_ends() -> None:
    true = mechanism(spec(1))
    assert left(true, 0, mechanism(spec(1, axis=-spec(1).axis, limits=(-1.5, 0.0)))) < 1e-3
    endless = mechanism(spec(1, limits=(-np.pi - 2.0, np.pi - 2.0)))
    assert np.allclose(endless.limits, [[-2 * np.pi, 2 * np.pi]])
    assert left(true, 0, endless) < 1e-3
    assert np.isclose(abs(endless.open_state()[0]), np.pi)


def test_jacobian_is_the_derivative() -> None:
    one = mechanism(*TREE, spec(3, 2, **SLIDE))
    q, step = np.array([0.3, 0.7, 0.2]), 1e-6
    for column in range(3):
        ahead, back = q.copy(), q.copy()
        ahead[column] += step
        back[column] -= step
        slope = (one.moved(ahead) - one.moved(back)) / (2 * step)
        assert np.allclose(one.jacobian(q)[..., column], slope, atol=1e-6)


def test_parents_may_come_after_their_children() -> None:
    swapped = (spec(1, 2, point=TREE[1].point, axis=TREE[1].axis), spec(2))
    joints, number = joints_of_specs(swapped)
    assert number.tolist() == [0, 2, 1]
    assert joints.parent.tolist() == [0, 1]
    link = np.repeat([0, 2, 1], 20)
    again = Mechanism(mechanism(*TREE).points, number[link], joints)
    assert np.allclose(
        again.moved(np.array([0.4, 0.2])), mechanism(*TREE).moved([0.4, 0.2] * np.ones(2))
    )


def test_fixing_a_coordinate_drops_its_joint() -> None:
    one = mechanism(*TREE)
    child = one.only(np.array([1]))
    assert len(child.coordinates) == 1
    assert np.allclose(child.moved(np.array([0.6])), one.moved(np.array([0.0, 0.6])))


def test_mimic_moves_with_its_leader_and_from_any_state() -> None:
    shape = box((0.2, 0.2, 0.2))
    links = tuple(
        ObjectLink(name, shape.vertices, shape.faces, np.zeros((len(shape.vertices), 3), np.uint8))
        for name in ("base", "left", "right")
    )
    origin = [np.eye(4), np.eye(4)]
    origin[0][0, 3], origin[1][0, 3] = -0.5, 0.5
    joints = tuple(
        Joint(
            name=name,
            kind="revolute",
            parent="base",
            child=name,
            origin=frame,
            axis=np.array([0.0, 0.0, 1.0]),
            limits=(0.0, 1.0),
            mimic=None if name == "left" else Mimic.linear("left", -1.0),
        )
        for name, frame in zip(("left", "right"), origin, strict=True)
    )
    obj = ArticulatedObject(category="x", seed=0, links=links, joints=joints, q0=np.zeros(1))
    start, end = np.array([0.3]), np.array([1.0])
    found = LinkJoints.at(obj, start)
    assert np.allclose(found.limits, [[-0.3, 0.7]] * 2)
    one = Mechanism(obj.vertices(start[None])[0], obj.vertex_link, found)
    assert np.allclose(one.moved(end - start), obj.vertices(end[None])[0])
    assert one.carried[obj.vertex_link == 2].all()


def test_points_cover_every_label_and_weigh_its_area(case) -> None:
    mesh = case.mesh
    face, points, weight = spread_points(mesh, case.face_link, count=400, least=8, seed=0)
    for link in np.unique(case.face_link):
        own = case.face_link[face] == link
        assert own.sum() >= 8
        assert np.isclose(weight[own].sum(), mesh.face_areas[case.face_link == link].sum())
    assert (points >= mesh.bounds[0] - 1e-9).all()
    assert (points <= mesh.bounds[1] + 1e-9).all()


def test_case_is_reproducible_and_counts_joints_from_its_state(case) -> None:
    again = DRAWERS.make(seed=0)
    assert np.array_equal(again.mesh.vertices, case.mesh.vertices)
    assert not np.array_equal(DRAWERS.make(seed=1).mesh.vertices, case.mesh.vertices)
    limits = case.joints.limits
    assert (limits[:, 0] <= 1e-12).all()
    assert (limits[:, 1] >= -1e-12).all()
    assert case.mesh.colors is None


def test_truth_of_a_fused_mesh_can_be_predicted() -> None:
    fused = replace(DRAWERS, fused=True).make(seed=0)
    body = true_body(fused)
    assert np.array_equal(body.part[fused.mesh.faces[:, 0]], fused.face_link)
    assert set(np.unique(fused.face_link)) == set(range(len(fused.joints) + 1))


def test_sets_are_drawn_by_split() -> None:
    found = prior_case_specs(count=8, objects=(), split="test", seed=0)
    groups = {one.group for one in found}
    assert groups == {"procedural test", "procedural unseen", "fused test"}
    for one in found:
        assert (one.category in UNSEEN_CATEGORIES) == (one.group == "procedural unseen")
        assert one.fused == (one.group == "fused test")
    dev = prior_case_specs(count=8, objects=(), split="dev", seed=0)
    assert {one.group for one in dev} == {"procedural dev", "fused dev"}
    with pytest.raises(InputError, match="split"):
        prior_case_specs(count=1, objects=(), split="train", seed=0)


def test_truth_is_perfect_and_one_part_is_not(case) -> None:
    results = {one.method: one for one in run_prior_case(case, [BASELINES[0]])}
    truth, nothing = results["true joints"], results["one part"]
    assert truth.motion.recalled.all()
    assert truth.motion.correct.all()
    assert truth.parts.giou_given == pytest.approx(1)
    assert truth.parts.giou_open == pytest.approx(1)
    assert truth.parts.label_iou == 1
    assert truth.parts.chamfer_open < 1e-12
    assert truth.joints.same_type.all()
    assert truth.joints.axis.max() < 1e-3
    assert np.nanmax(truth.joints.range) < 1e-9
    assert truth.samples is not None
    assert truth.samples.attached == 1
    assert truth.samples.penetration < 0.01
    assert not nothing.motion.recalled.any()
    assert len(nothing.motion.correct) == 0
    assert nothing.parts.giou_open < 0
    assert nothing.samples is None


def test_heuristic_predicts_valid_bodies(case) -> None:
    body = heuristic_body(case.mesh)
    assert len(body.joint_specs) >= 1
    assert set(np.unique(body.part)) <= set(range(len(body.joint_specs) + 1))
    single = box((1.0, 1.0, 1.0))
    assert heuristic_body(single).joint_specs == ()


def test_report_has_a_row_of_every_method_and_the_thresholds(case) -> None:
    results = run_prior_case(case, BASELINES)
    report = prior_report(results, main="geometric heuristic")
    methods = {row["method"] for row in report.rows}
    assert methods == {"one part", "geometric heuristic", "true joints"}
    names = [check.name for check in report.checks]
    assert "procedural test: F1" in names
    truth = next(row for row in report.rows if row["method"] == "true joints" and "F1" in row)
    assert truth["F1"] == 1
    report = prior_report([replace(one, group="folder") for one in results], main="one part")
    assert any("gIoU open above baselines" in check.name for check in report.checks)


def test_refusal_counts_as_nothing_moves(case) -> None:
    def refuse(mesh: Mesh) -> SegmentedBody:
        raise InputError("no")

    result = run_prior_case(case, [Predictor("refuses", refuse)])[0]
    assert result.refused
    assert not result.motion.recalled.any()


def test_sheets_are_written(tmp_path) -> None:
    assert pickle.loads(pickle.dumps(BASELINES[1])).name == BASELINES[1].name
    files = draw_predictions(tmp_path, [DRAWERS], BASELINES[1], seed=0, count=1, tile=48, joints=2)
    assert [file.name for file in files] == ["prior_procedural_test.jpg"]
    assert files[0].stat().st_size > 500


def test_quick_run_without_weights(monkeypatch) -> None:
    import kin4d.benchmarks.prior as bench

    monkeypatch.setattr(bench, "prior_case_specs", lambda **_: [DRAWERS])
    report = run(quick=True, seed=0, weights=())
    assert {row["set"] for row in report.rows} == {"procedural test"}
    assert report.checks == []


def test_comparison_keeps_probabilities_in_order(case) -> None:
    body = true_body(case)
    specs = [replace(one, probability=0.1 * (i + 1)) for i, one in enumerate(body.joint_specs)]
    again = SegmentedBody(case.mesh, body.part, specs)
    found = Comparison.of(again, case.face_link, case.joints, count=100, seed=0)
    assert np.allclose(found.probability, 0.1 * (1 + np.arange(len(specs))))
    empty = Comparison.of(one_part(case.mesh), case.face_link, case.joints, count=100, seed=0)
    assert len(empty.probability) == 0
