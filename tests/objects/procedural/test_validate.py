"""The checker finds each kind of fault, and forgives what it should."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest

from kin4d.objects.procedural.assembly import ArticulatedObject, ObjectLink
from kin4d.objects.procedural.builder import Builder
from kin4d.objects.procedural.parts import PartShapes
from kin4d.objects.procedural.penetration import point_depths
from kin4d.objects.procedural.validate import CLEARANCE, validate_object


def cupboard(*, limits: tuple[float, float] = (0.0, 1.6), shift: float = 0.0) -> ArticulatedObject:
    """A box with a door before it, hinged at the door's front edge."""
    make = Builder("test", np.random.default_rng(1))
    base = make.base(make.shapes.box((0, 0, 0), (0.5, 0.4, 0.8)))
    door = make.hinge("door", base, (0, -0.02, 0), (0, 0, -1), limits, rest=0.0)
    door.add(make.shapes.box((0, -0.02 + shift, 0), (0.5, shift, 0.8)))
    return make.build(mirror=False)


def with_link(obj: ArticulatedObject, **changes) -> ArticulatedObject:
    return replace(obj, links=(obj.links[0], replace(obj.links[1], **changes)))


def nan_vertex(obj: ArticulatedObject) -> ArticulatedObject:
    vertices = obj.links[1].vertices.copy()
    vertices[3, 1] = np.nan
    return with_link(obj, vertices=vertices)


def degenerate_face(obj: ArticulatedObject) -> ArticulatedObject:
    faces = np.concatenate([obj.links[1].faces, [[0, 1, 1]]])
    return with_link(obj, faces=faces)


def flat_link(obj: ArticulatedObject) -> ArticulatedObject:
    return with_link(obj, vertices=obj.links[1].vertices * (1, 0, 0))


def joint_with(obj: ArticulatedObject, **changes) -> ArticulatedObject:
    return replace(obj, joints=(replace(obj.joints[0], **changes),))


def only_the_axis_moves(obj: ArticulatedObject) -> ArticulatedObject:
    """The moving link is so thin about the axis that turning it moves nothing."""
    needle = PartShapes().box((-1e-5, -1e-5, 0), (1e-5, 1e-5, 0.5))
    return with_link(
        obj, vertices=needle.vertices, faces=needle.faces, colors=np.zeros((8, 3), np.uint8)
    )


FAULTS: dict[str, tuple[Callable[[ArticulatedObject], ArticulatedObject], str]] = {
    "nan": (nan_vertex, "NaN"),
    "index": (lambda o: with_link(o, faces=o.links[1].faces + 5), "do not exist"),
    "empty": (lambda o: with_link(o, faces=np.zeros((0, 3), int)), "empty"),
    "degenerate": (degenerate_face, "degenerate"),
    "flat": (flat_link, "no area"),
    "inside out": (lambda o: with_link(o, faces=o.links[1].faces[:, ::-1]), "inside out"),
    "same name": (lambda o: joint_with(with_link(o, name="base"), child="base"), "same name"),
    "zero range": (lambda o: joint_with(o, limits=(0.0, 0.0)), "range zero"),
    "no range": (lambda o: joint_with(o, limits=(-np.inf, np.inf)), "finite range"),
    "rest outside": (lambda o: replace(o, q0=np.array([9.0])), "rests outside"),
    "q0 missing": (lambda o: replace(o, q0=np.zeros(0)), "q0"),
    "fixed": (lambda o: replace(joint_with(o, kind="fixed"), q0=np.zeros(0)), "nothing can move"),
    "orphan": (lambda o: joint_with(o, parent="missing"), "earlier one"),
    "no joint": (lambda o: replace(o, joints=()), "need 1 joints"),
    "no motion": (only_the_axis_moves, "moves no points"),
}


def test_a_sound_object_has_no_faults() -> None:
    assert validate_object(cupboard()) == []


@pytest.mark.parametrize("fault", FAULTS)
def test_faults_are_found(fault: str) -> None:
    breaks, message = FAULTS[fault]
    problems = validate_object(breaks(cupboard()))
    assert any(message in problem for problem in problems), problems


def test_overlap_at_rest_is_found_and_measured() -> None:
    problems = validate_object(cupboard(shift=0.01))
    assert any("enters" in problem and "10.0 mm" in problem for problem in problems), problems


def test_overlap_within_the_clearance_is_forgiven() -> None:
    obj = cupboard()
    assert validate_object(cupboard(shift=0.8 * CLEARANCE * obj.bbox_diagonal)) == []


def test_overlap_somewhere_in_the_range_is_found() -> None:
    # Opening inwards, the door goes through the box.
    problems = validate_object(cupboard(limits=(-0.5, 0.0)))
    assert any("enters" in problem for problem in problems), problems


def test_overlap_between_two_moving_links_is_found() -> None:
    make = Builder("test", np.random.default_rng(1))
    base = make.base(make.shapes.box((0, 0, 0), (1, 1, 1)))
    for x in (0.0, 0.45):
        drawer = make.slider("drawer", base, (0, -1, 0), (0.0, 0.5), rest=0.0)
        drawer.add(make.shapes.box((x, -0.5, 0), (x + 0.5, 0, 1)))
    problems = validate_object(make.build(mirror=False))
    assert any("'drawer' enters 'drawer_2'" in problem for problem in problems)


def pinned(bearing: float) -> ArticulatedObject:
    """Two plates, and a pin of the upper one that runs through the lower."""
    make = Builder("test", np.random.default_rng(1))
    base = make.base(make.shapes.box((-0.1, -0.1, 0), (0.4, 0.1, 0.02)))
    arm = make.hinge("arm", base, (0, 0, 0.02), (0, 0, 1), (-1, 1), bearing=bearing, rest=0.0)
    arm.add(make.shapes.box((-0.1, -0.1, 0.02), (0.4, 0.1, 0.04)))
    arm.add(make.shapes.cylinder(0.02, 0.0, 0.05))
    return make.build(mirror=False)


def test_a_pin_in_its_bore_is_a_bearing() -> None:
    assert any("enters" in problem for problem in validate_object(pinned(0.0)))
    assert validate_object(pinned(0.021)) == []


def test_open_sheets_are_tested_against_solids() -> None:
    obj = cupboard()
    sheet = ObjectLink(
        "door",
        np.array([(0.1, 0.12, 0.1), (0.4, 0.12, 0.1), (0.4, 0.12, 0.5), (0.1, 0.12, 0.5)]),
        np.array([(0, 1, 2), (0, 2, 3)]),
        np.zeros((4, 3), np.uint8),
    )
    problems = validate_object(replace(obj, links=(obj.links[0], sheet)))
    assert any("'door' enters 'base'" in problem for problem in problems)


def test_depths_are_exact() -> None:
    part = PartShapes(spacing=0.2).box((0, 0, 0), (1, 1, 1))
    rng = np.random.default_rng(0)
    points = rng.uniform(-0.5, 1.5, (500, 3))
    inside = ((points > 0) & (points < 1)).all(1)
    expected = np.where(inside, np.minimum(points, 1 - points).min(1), 0.0)
    np.testing.assert_allclose(
        point_depths(points, part.vertices[part.faces]), expected, atol=1e-12
    )


def test_hollow_things_are_hollow_inside() -> None:
    circle = np.stack([np.cos(a := np.arange(24) * np.pi / 12), np.sin(a)], -1)
    cup = PartShapes().tub(circle, 0, 2, 0.1)
    triangles = cup.vertices[cup.faces]
    depth = point_depths(
        np.array([(0, 0, 1.0), (0.95, 0, 1.0), (0, 0, 0.05), (0, 0, 3.0)]), triangles
    )
    assert depth[0] == 0
    assert depth[1] == pytest.approx(0.05, abs=0.01)
    assert depth[2] == pytest.approx(0.05)
    assert depth[3] == 0
