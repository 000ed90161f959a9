"""The benchmark of bringing objects to targets: cases, scores, baselines and tables."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch

from kin4d.benchmarks.object_pose import report_of
from kin4d.benchmarks.object_pose.cases import MOVED, CaseSpec, case_specs, moving_faces
from kin4d.benchmarks.object_pose.linear import LinearBody
from kin4d.benchmarks.object_pose.methods import KnownJoints, NoiseFloor, NoMotion
from kin4d.benchmarks.object_pose.rigid import RigidAlignment
from kin4d.benchmarks.object_pose.run import run_all
from kin4d.benchmarks.object_pose.score import PoseMetrics
from kin4d.benchmarks.object_pose.speed import chest
from kin4d.benchmarks.object_pose.weights import (
    Entry,
    find_weights,
    main_model,
    row_name,
    unreduced_name,
    weight_rows,
)
from kin4d.cli.bench import bench_command
from kin4d.errors import InputError
from kin4d.geometry.primitives import box
from kin4d.geometry.sampling import sample_surface
from kin4d.storage.splits import UNSEEN_CATEGORIES
from kin4d.training.checkpoint import save_tensors

DRAWERS = CaseSpec(group="test", category="drawer_unit", seed=5)


@pytest.fixture(scope="module")
def case():
    return DRAWERS.make(poses=2, seed=0)


def test_case_is_in_its_unit_box_and_something_moves(case) -> None:
    assert np.isclose(np.ptp(case.mesh.vertices, axis=0).max(), 1)
    assert np.allclose(case.mesh.bounds.mean(0), 0)
    for goal in case.goals:
        assert moving_faces(case.mesh.vertices, goal, case.mesh.faces).any()
    world = case.mesh.vertices / case.scale + case.centre
    assert np.isclose(np.ptp(world, axis=0).max(), 1 / case.scale)


def test_case_is_the_same_every_time(case) -> None:
    again = DRAWERS.make(poses=2, seed=0)
    assert np.array_equal(again.goals, case.goals)
    assert np.array_equal(again.target(1), case.target(1))
    assert not np.array_equal(DRAWERS.make(poses=2, seed=1).goals, case.goals)


def test_sets_hold_the_right_categories() -> None:
    found = case_specs(each=1, unseen=2, objects=(), seed=0)
    unseen = [recipe.category for recipe in found if recipe.group == "unseen"]
    test = {recipe.category for recipe in found if recipe.group == "test"}
    assert set(unseen) == UNSEEN_CATEGORIES
    assert len(unseen) == 2 * len(UNSEEN_CATEGORIES)
    assert not test & UNSEEN_CATEGORIES


def test_truth_scores_as_the_truth(case) -> None:
    metrics = PoseMetrics(case.mesh, case.goals[0], seed=1, points=4000)
    floor, rest = metrics.score(case.goals[0]), metrics.score(case.mesh.vertices)
    assert floor.iou == floor.moved_iou == 1
    assert floor.error < 1e-12
    assert floor.spurious < 1e-12
    assert floor.stretch < 1e-9
    # Samples are independent, so even the truth is not at no distance.
    assert 0 < floor.cd_l1 < rest.cd_l1
    assert floor.cd_l2 < rest.cd_l2
    assert rest.moved_cd_l1 > rest.cd_l1
    assert rest.moved_iou < rest.iou < 1
    assert rest.spurious == 0


def test_trembling_still_parts_and_stretching_are_noticed() -> None:
    mesh = box((0.2, 0.2, 0.2))
    goal = mesh.vertices
    metrics = PoseMetrics(mesh, goal + np.array([0.5, 0.0, 0.0]), seed=0, points=1000)
    stretched = mesh.vertices * [1.1, 1.0, 1.0]
    assert np.isnan(metrics.score(stretched).spurious)
    assert metrics.score(mesh.vertices * 1.1).stretch == pytest.approx(0.1)
    still = PoseMetrics(mesh, goal, seed=0, points=1000)
    trembling = still.score(goal + np.array([0.0, 0.0, MOVED]))
    assert trembling.spurious == pytest.approx(MOVED)
    assert np.isnan(trembling.moved_cd_l1)
    assert np.isnan(trembling.stretch)


def test_rigid_alignment_undoes_a_rigid_motion() -> None:
    mesh = box((1.0, 0.6, 0.3))
    angle = 0.7
    turn = np.array(
        [[np.cos(angle), -np.sin(angle), 0], [np.sin(angle), np.cos(angle), 0], [0, 0, 1]]
    )
    goal = mesh.vertices @ turn.T + np.array([0.1, -0.05, 0.02])
    target = sample_surface(mesh, 4096, seed=3).points(goal)
    found = RigidAlignment(mesh)(target)
    # A box has symmetries: the shape must match, not the vertices.
    assert PoseMetrics(mesh, goal, seed=0, points=3000).score(found).iou > 0.85


def test_linear_body_moves_its_probes_like_its_vertices() -> None:
    mesh = box((1.0, 0.4, 0.2))
    body = LinearBody.of_mesh(mesh, 6, nodes=60)
    samples = sample_surface(mesh, 50, seed=0)
    q = 0.05 * torch.randn(3, len(body.q0), dtype=torch.float64)
    assert torch.allclose(body.probe(samples)(q), samples.points(body.vertices(q)), atol=1e-9)
    assert torch.allclose(body.vertices(body.q0), torch.tensor(mesh.vertices), atol=1e-9)


def test_report_frames_every_method_and_lists_the_worst() -> None:
    methods = [NoMotion(), NoiseFloor(), KnownJoints()]
    kettle = CaseSpec(group="unseen", category="kettle", seed=3)
    results = run_all([DRAWERS, kettle], methods, poses=1, seed=0, workers=0)
    assert len(results) == 2 * len(methods)
    report = report_of(results, [])
    rows = {(row["objects"], row["method"]): row for row in report.rows if "method" in row}
    assert rows["test", "rest shape"]["of rest"] == 1
    assert rows["test", NoiseFloor().name]["of rest"] == 0
    assert rows["test", KnownJoints().name]["of rest"] < 0.1
    assert rows["test", KnownJoints().name]["IoU"] > rows["test", "rest shape"]["IoU"]
    assert {row["what moves"] for row in report.rows if "what moves" in row} == {
        method.name for method in methods
    }
    assert {row["category"] for row in report.rows if "category" in row} == {
        "drawer_unit",
        "kettle",
    }
    assert any("worst" in row for row in report.rows)


def test_what_refuses_counts_as_rest() -> None:
    class Shy:
        name = "shy"

        def prepare(self, case):
            raise InputError("not today")

    results = run_all([DRAWERS], [NoMotion(), NoiseFloor(), Shy()], poses=1, seed=0, workers=0)
    assert results[2].refused.startswith("not today")
    assert results[2].score == results[0].score
    report = report_of(results, [])
    assert any("shy refused" in note for note in report.notes)


def test_bars_are_set_against_rest_cages_and_ablations(tmp_path: Path) -> None:
    write_weights(tmp_path, "neurok")
    entry = find_weights([str(tmp_path)])[0]
    results = run_all([DRAWERS], [NoMotion(), NoiseFloor()], poses=1, seed=0, workers=0)
    rest, floor = results
    results += [
        replace(floor, method=row_name(entry)),
        replace(rest, method="keypoint cage"),
        replace(rest, method=unreduced_name(entry)),
    ]
    report = report_of(results, [entry])
    found = {check.name: check for check in report.checks}
    assert found["test: CD-L1 above the floor, of rest"].value == 0
    assert found["test: CD-L1 above the floor, of keypoint cage"].passed
    assert found["test: IoU above rest"].value == pytest.approx(1 - rest.score.iou)
    assert any("state not reduced" in name for name in found)
    assert list(report.weights) == [entry.name]


def write_weights(folder: Path, model: str) -> None:
    about = {"model": model, "version": 1, "training": {"hours": 0.5}}
    save_tensors(folder / "weights.safetensors", {"a": torch.zeros(1)}, about)


def test_folders_of_runs_become_ablations(tmp_path: Path) -> None:
    for run in ("full", "offset", "point"):
        (tmp_path / "runs" / run).mkdir(parents=True)
        write_weights(tmp_path / "runs" / run, "neurok")
    (tmp_path / "main").mkdir()
    write_weights(tmp_path / "main", "neurok")
    (tmp_path / "cage").mkdir()
    write_weights(tmp_path / "cage", "cage")
    names = [str(tmp_path / name) for name in ("main", "cage", "runs")]
    entries = find_weights(names)
    assert [one.name for one in entries] == ["main", "cage", "full", "offset", "point"]
    assert [one.run for one in entries] == [False, False, True, True, True]
    main = main_model(entries)
    assert isinstance(main, Entry)
    assert main.name == "main"
    assert main.hours == 0.5
    everywhere, apart = weight_rows(entries)
    assert [one.name for one in everywhere] == [
        "NeuROK, main",
        "keypoint cage",
        "keypoint cage, searched",
    ]
    assert [one.name for one in apart] == [
        "NeuROK, main, state not reduced",
        "NeuROK, full",
        "NeuROK, offset",
        "NeuROK, point",
    ]
    alone = main_model(find_weights([str(tmp_path / "runs")]))
    assert alone is not None
    assert alone.name == "full"


def test_another_models_weights_are_refused(tmp_path: Path) -> None:
    write_weights(tmp_path, "world")
    with pytest.raises(InputError, match="another model"):
        find_weights([str(tmp_path)])


def test_chest_is_closed_and_of_the_size_asked_for() -> None:
    shut, opened = chest(5000)
    assert len(shut.vertices) == pytest.approx(5000, rel=0.1)
    assert shut.components.max() == 1
    for mesh in (shut, opened):
        a, b, c = mesh.vertices[mesh.faces].transpose(1, 0, 2)
        volume = np.einsum("fi,fi->f", np.cross(a, b), c).sum() / 6
        assert volume == pytest.approx(0.6 * 0.48)


def test_options_of_other_benchmarks_are_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="'startup' takes no --objects"):
        bench_command("startup", objects=(tmp_path,))
