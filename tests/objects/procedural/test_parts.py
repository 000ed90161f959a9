"""Part builders: closed, facing outwards, of the right size."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kin4d.objects.procedural.parts import MeshPart, PartShapes
from kin4d.objects.procedural.profiles import (
    ellipse,
    rectangle,
    rectangle_by_angle,
    rounded_path,
    rounded_rectangle,
    superellipse,
    unit_circle,
)

TESSELLATIONS = [PartShapes(), PartShapes(8, 0.1, True), PartShapes(40, 0.03, False)]


def volume(part: MeshPart) -> float:
    a, b, c = (part.vertices[part.faces[:, i]] for i in range(3))
    return float(np.einsum("fi,fi->", a, np.cross(b, c)) / 6)


def is_closed(part: MeshPart) -> bool:
    edges = np.concatenate([part.faces[:, [0, 1]], part.faces[:, [1, 2]], part.faces[:, [2, 0]]])
    forward, backward = (
        np.unique(pairs, axis=0, return_counts=True) for pairs in (edges, edges[:, ::-1])
    )
    return np.array_equal(forward[0], backward[0]) and np.array_equal(forward[1], backward[1])


def bounds(part: MeshPart) -> np.ndarray:
    return np.stack([part.vertices.min(0), part.vertices.max(0)])


@pytest.mark.parametrize("shapes", TESSELLATIONS)
def test_box(shapes: PartShapes) -> None:
    part = shapes.box((-0.1, 0, 0.2), (0.3, 0.5, 0.4))
    assert is_closed(part)
    assert volume(part) == pytest.approx(0.4 * 0.5 * 0.2)
    np.testing.assert_allclose(bounds(part), [(-0.1, 0, 0.2), (0.3, 0.5, 0.4)])


@pytest.mark.parametrize("shapes", TESSELLATIONS)
def test_round_parts(shapes: PartShapes) -> None:
    solids = {
        "cylinder": shapes.cylinder(0.2, -0.1, 0.4),
        "cone": shapes.cylinder(0.2, 0, 0.3, tip=0.3),
        "sphere": shapes.sphere(0.3),
        "rod": shapes.tube(np.array([(0, 0, 0), (0.3, 0, 0.1), (0.5, 0, 0.4)]), 0.03, (0, 1, 0)),
        "rounded": shapes.rounded_box((0, 0, 0), (1, 2, 3), 0.2, bevel=0.1),
        "tub": shapes.tub(ellipse(0.2, 0.3, shapes.sides), 0, 0.5, 0.02, taper=1.2, bulge=0.1),
        "plate": shapes.ring_plate(
            rectangle_by_angle(1, 0.6, shapes.sides), unit_circle(shapes.sides) * 0.2, 0, 0.05
        ),
        "ring": shapes.tube(
            np.column_stack([unit_circle(16), np.zeros(16)]), 0.1, (0, 0, 1), closed=True
        ),
    }
    for name, part in solids.items():
        assert is_closed(part), name
        assert volume(part) > 0, name
    assert volume(solids["sphere"]) == pytest.approx(4 / 3 * np.pi * 0.3**3, rel=0.4)
    np.testing.assert_allclose(bounds(solids["rounded"]), [(0, 0, 0), (1, 2, 3)], atol=1e-9)


def test_open_lathe_stays_open() -> None:
    part = PartShapes().lathe([(0.1, 0), (0.2, 0.3)])
    assert not is_closed(part)


def test_merged_boards_are_one_closed_surface_of_the_same_volume() -> None:
    boards = [((0, 0, 0), (0.02, 1, 1)), ((0.98, 0, 0), (1, 1, 1)), ((0.02, 0, 0), (0.98, 1, 0.02))]
    (merged,) = PartShapes(spacing=0.3).boards(boards, merged=True)
    apart = PartShapes().boards(boards)
    assert len(apart) == 3
    assert is_closed(merged)
    assert volume(merged) == pytest.approx(sum(volume(part) for part in apart))
    from kin4d.geometry.mesh_ops import connected_components

    assert connected_components(merged.vertices, merged.faces).max() == 0


def test_spacing_bounds_panel_edges() -> None:
    part = PartShapes(spacing=0.1).box((0, 0, 0), (1, 0.02, 0.5))
    corners = part.vertices[part.faces]
    flat = np.abs(corners[:, 0] - corners[:, 1])
    assert flat.max() <= 0.1 + 1e-9


@settings(max_examples=30, deadline=None)
@given(st.floats(0.05, 2), st.floats(0.05, 2), st.floats(0, 1), st.sampled_from([8, 16, 24]))
def test_rounded_rectangles_fill_their_box(w: float, h: float, radius: float, sides: int) -> None:
    outline = rounded_rectangle(w, h, radius, sides)
    np.testing.assert_allclose(np.ptp(outline, axis=0), [w, h], rtol=1e-9)
    following = np.roll(outline, -1, 0)
    area = 0.5 * (outline[:, 0] * following[:, 1] - outline[:, 1] * following[:, 0]).sum()
    assert 0 < area <= w * h + 1e-9


def test_outlines() -> None:
    assert np.ptp(rectangle(2, 1), axis=0) == pytest.approx([2, 1])
    np.testing.assert_allclose(np.abs(superellipse(2, 1, 4, 16)).max(0), [2, 1])
    square = rectangle_by_angle(2, 1, 16)
    assert (np.abs(np.abs(square) - [1, 0.5]).max(1) < 1e-9).sum() == 4
    path = rounded_path(np.array([(0, 0, 0), (1, 0, 0), (1, 1, 0)]), 0.2, 4)
    np.testing.assert_allclose(path[[0, -1]], [(0, 0, 0), (1, 1, 0)])
    assert not (np.abs(path - [1, 0, 0]).max(1) < 1e-9).any()


def test_parts_move_turn_and_face() -> None:
    part = PartShapes().box((0, 0, 0), (1, 2, 3))
    np.testing.assert_allclose(bounds(part.moved(1, 2, 3)), [(1, 2, 3), (2, 4, 6)])
    np.testing.assert_allclose(
        bounds(part.rotated("z", np.pi / 2)), [(-2, 0, 0), (0, 1, 3)], atol=1e-12
    )
    np.testing.assert_allclose(bounds(part.facing_front()), [(0, -3, 0), (1, 0, 2)])
    np.testing.assert_allclose(bounds(part.facing_side()), [(0, 0, 0), (3, 1, 2)])
    for moved in (
        part.facing_front(),
        part.facing_side(),
        part.mirrored(0),
        part.rotated("x", 1.0),
    ):
        assert volume(moved) == pytest.approx(6)


@given(st.floats(1e-9, 1e-2), st.sampled_from([8, 24, 40]))
@settings(max_examples=40, deadline=None)
def test_corners_of_any_radius_have_area_after_rounding(radius: float, sides: int) -> None:
    """Vertices are stored to micrometres; a corner rounded by less would collapse."""
    part = PartShapes(sides).prism(rounded_rectangle(0.2, 0.012, radius, sides), 0, 0.003)
    vertices = np.round(part.vertices, 6)
    a, b, c = (vertices[part.faces[:, i]] for i in range(3))
    assert np.linalg.norm(np.cross(b - a, c - a), axis=-1).min() > 1e-10
