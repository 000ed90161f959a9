"""The doors benchmark: the same gripper in MuJoCo and in our mechanics, and kinds of hinges."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from kin4d.benchmarks.doors import (
    PREDICTED,
    TRUE,
    UNLIMITED,
    WITHIN,
    DoorResult,
    doors_report,
    without_limits,
)
from kin4d.benchmarks.doors.cases import DoorCase, door_cases, gripper_mesh, make_door_case
from kin4d.benchmarks.doors.mujoco_door import MujocoDoor, run_mujoco
from kin4d.benchmarks.doors.our_door import FoundHinge, door_links, found_hinge, run_ours
from kin4d.benchmarks.doors.sheet import draw_doors
from kin4d.bodies.segmented import JointSpec, SegmentedBody
from kin4d.objects.procedural.categories import make_object


@pytest.fixture(scope="module")
def case() -> DoorCase:
    """A microwave."""
    found = make_door_case(make_object("microwave", 1938083735))
    assert found is not None
    return found


@pytest.fixture(scope="module")
def truth(case: DoorCase) -> MujocoDoor:
    """What MuJoCo makes of it."""
    pytest.importorskip("mujoco")
    return run_mujoco(case)


def hung(case: DoorCase, **changes) -> SegmentedBody:
    """The case's mesh with its door on a hinge of our choice."""
    spec = JointSpec(
        name="door", parent=0, kind="revolute", point=case.point, axis=case.axis, limits=(-2.0, 2.0)
    )
    return SegmentedBody(case.mesh, case.carried.astype(int), [replace(spec, **changes)], mass=5.0)


def test_the_gripper_begins_behind_the_free_edge_and_turns_with_the_door(case: DoorCase) -> None:
    start = gripper_mesh().transformed(case.gripper[0]).vertices - case.point
    door = case.mesh.vertices[case.door_vertices] - case.point
    across = door.mean(0) - case.axis * (door.mean(0) @ case.axis)
    across /= np.linalg.norm(across)
    tip = case.width - (start @ across).min()
    assert 0.03 < tip < 0.04  # m that the fingers reach in
    opened = np.cross(case.axis, across)
    assert (start @ opened).max() > (door @ opened).min()  # the palm is thicker than the fingers
    fingers = start[start @ across < case.width]
    assert (fingers @ opened).max() < np.quantile(door @ opened, 0.2)
    assert case.goal > 0.5
    end = gripper_mesh().transformed(case.gripper[-1]).vertices - case.point
    radius = [np.linalg.norm(np.cross(some, case.axis), axis=1) for some in (start, end)]
    np.testing.assert_allclose(*radius, atol=1e-9)


def test_an_angle_is_that_about_the_true_axis(case: DoorCase) -> None:
    assert case.angle(case.turned(0.7)) == pytest.approx(0.7)
    assert case.angle(case.mesh.vertices) == pytest.approx(0.0)
    slid = case.mesh.vertices + np.array([0.0, -0.3, 0.0])
    assert case.angle(slid) == pytest.approx(0.0)


def test_true_joints_follow_mujoco(case: DoorCase, truth: MujocoDoor) -> None:
    assert not truth.touches_rest
    assert truth.angles[-1] == pytest.approx(case.goal, abs=0.03)
    ours = run_ours(case, case.body, case.q)
    assert not ours.refused
    assert ours.angles.shape == truth.angles.shape
    assert np.abs(ours.angles - truth.angles).max() < 0.02 * case.range
    assert case.angle(ours.vertices) == pytest.approx(ours.angles[-1])


def test_kinds_of_hinges(case: DoorCase) -> None:
    right = found_hinge(case, hung(case))
    assert right.fault(case.width) == ""
    assert right.share == pytest.approx(1.0)
    beside = case.point + 0.3 * case.width * np.array([1.0, 0.0, 0.0])
    for changes, fault in (
        ({"point": beside}, "place"),
        ({"axis": np.array([0.0, 1.0, 0.0])}, "axis"),
        ({"kind": "prismatic", "limits": (0.0, 0.1)}, "slides"),
    ):
        assert found_hinge(case, hung(case, **changes)).fault(case.width) == fault
    none = SegmentedBody(case.mesh, np.zeros(len(case.mesh.vertices), int), [], mass=5.0)
    assert found_hinge(case, none) == FoundHinge(share=0.0, kind="none")
    assert FoundHinge(share=0.3, kind="revolute").fault(1.0) == "part"
    along = hung(case, point=case.point + 0.4 * case.axis, axis=-case.axis)
    assert found_hinge(case, along).fault(case.width) == ""


def test_failures_count(case: DoorCase, truth: MujocoDoor, tmp_path) -> None:
    none = SegmentedBody(case.mesh, np.zeros(len(case.mesh.vertices), int), [], mass=5.0)
    assert not door_links(case, none)
    still = run_ours(case, none, np.zeros(0))
    assert still.refused
    assert not still.angles.any()
    short = hung(case, limits=(0.0, 0.1))
    stopped = run_ours(case, short, np.zeros(1))
    assert stopped.angles.max() < 0.15
    free = without_limits(short)
    assert np.isinf(free.limits.numpy()).all()
    np.testing.assert_array_equal(free.part, short.part)

    exact = replace(still, angles=truth.angles, refused="")
    runs = {TRUE: exact, PREDICTED: still, UNLIMITED: exact}
    good = DoorResult(case=case, truth=truth, runs={**runs, PREDICTED: exact}, fault="")
    bad = DoorResult(case=case, truth=truth, runs=runs, fault="part")
    report = doors_report([good, good, good, bad])
    table = {row["our dynamics with"]: row for row in report.rows if "our dynamics with" in row}
    assert [table[row]["within 10 %"] for row in (TRUE, PREDICTED)] == [1.0, 0.75]
    assert table[PREDICTED]["wrong joint"] == table[PREDICTED]["failed runs"] == 1
    assert table[TRUE]["wrong joint"] == 0
    assert report.checks[0].value == 0.75
    assert not report.checks[0].passed
    assert bad.errors(PREDICTED).max() == pytest.approx(truth.angles.max() / case.range)
    assert bad.errors(PREDICTED).max() > WITHIN
    assert draw_doors([bad], tmp_path / "doors.png").stat().st_size > 1000


def test_cases_are_of_their_split_and_repeatable() -> None:
    from kin4d.objects.sources import articulated_source
    from kin4d.storage.splits import split_of

    first, again = (next(door_cases("test", seed=3)) for _ in range(2))
    assert first.name == again.name
    np.testing.assert_array_equal(first.gripper, again.gripper)
    category, number = first.name.split()
    assert split_of(articulated_source().identity(category, int(number))) == "test"


def test_objects_without_doors_are_passed_over() -> None:
    assert make_door_case(make_object("scissors", 0)) is None
