"""Distances between shapes, against their definitions and by hand."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kin4d.errors import InputError
from kin4d.geometry.distance import chamfer_l1, chamfer_l2, f_score, occupied_cells, voxel_iou
from kin4d.geometry.mesh import Mesh
from kin4d.geometry.primitives import box, sphere
from kin4d.geometry.sampling import sample_surface


def clouds(seed: int) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    return rng.random((rng.integers(1, 40), 3)), rng.random((rng.integers(1, 40), 3))


@settings(deadline=None, max_examples=50)
@given(seed=st.integers(0, 10**6))
def test_definitions(seed):
    a, b = clouds(seed)
    every = np.linalg.norm(a[:, None] - b, axis=-1)
    there, back = every.min(1), every.min(0)
    assert chamfer_l1(a, b) == pytest.approx((there.mean() + back.mean()) / 2)
    assert chamfer_l2(a, b) == pytest.approx(((there**2).mean() + (back**2).mean()) / 2)
    precision, recall = (there <= 0.2).mean(), (back <= 0.2).mean()
    both = precision + recall
    expected = 2 * precision * recall / both if both else 0.0
    assert f_score(a, b, threshold=0.2) == pytest.approx(expected)
    for distance in (chamfer_l1, chamfer_l2):
        assert distance(a, b) == pytest.approx(distance(b, a))
        assert distance(a, a) == 0
    assert voxel_iou(a, b) == voxel_iou(b, a)
    assert voxel_iou(a, a) == 1


def test_by_hand():
    a, b = np.zeros((1, 3)), np.array([[3.0, 4, 0], [0, 0, 0]])
    assert chamfer_l1(a, b) == 1.25
    assert chamfer_l2(a, b) == 6.25
    assert f_score(a, b, threshold=1) == pytest.approx(2 / 3)
    assert voxel_iou(a, b) == 0.5


def brute_cells(mesh: Mesh, cell: float) -> set:
    points = sample_surface(mesh, 40_000, seed=0).points(mesh.vertices)
    return set(map(tuple, np.floor(points / cell).astype(int).tolist()))


@settings(deadline=None, max_examples=10)
@given(seed=st.integers(0, 10**6))
def test_cells_of_a_mesh_are_those_its_points_are_in(seed):
    rng = np.random.default_rng(seed)
    mesh = Mesh(vertices=rng.random((4, 3)), faces=[[0, 1, 2], [1, 2, 3]])
    exact = set(map(tuple, occupied_cells(mesh, cell=0.11).tolist()))
    sampled = brute_cells(mesh, 0.11)
    assert sampled <= exact
    # What sampling missed is touched by a sliver alone.
    assert len(exact - sampled) <= 0.1 * len(exact) + 2


def test_shell_of_a_box():
    # A cube with walls in the middle of cells touches a shell of 10^3 - 8^3 of them.
    cube = box((9 / 32, 9 / 32, 9 / 32))
    shifted = cube.replace_vertices(cube.vertices + 5 / 32)
    assert len(occupied_cells(shifted)) == 10**3 - 8**3
    further = cube.replace_vertices(cube.vertices + np.array([6, 5, 5]) / 32)
    assert 0.2 < voxel_iou(shifted, further) < 0.8
    assert voxel_iou(shifted, cube.replace_vertices(cube.vertices + 2)) == 0


def test_a_wall_on_a_border_touches_both_sides_whatever_the_rounding():
    wall = Mesh(vertices=[[0.5, 0.1, 0.1], [0.5, 0.2, 0.1], [0.5, 0.1, 0.2]], faces=[[0, 1, 2]])
    for nudge in (-1e-15, 0, 1e-15):
        cells = occupied_cells(
            wall.replace_vertices(wall.vertices + np.array([nudge, 0, 0])), cell=0.25
        )
        assert set(cells[:, 0]) == {1, 2}


def test_finer_than_its_own_triangles_and_large_ones():
    ball = sphere(0.5, subdivisions=5)
    assert voxel_iou(ball, sphere(0.5, subdivisions=4)) > 0.9
    points = sample_surface(ball, 100_000, seed=0).points(ball.vertices)
    assert voxel_iou(ball, points) > 0.85


@pytest.mark.parametrize(
    "points", [np.empty((0, 3)), np.zeros((3, 2)), np.full((2, 3), np.nan), np.zeros(3)]
)
def test_bad_points(points):
    for call in (chamfer_l1, chamfer_l2, voxel_iou):
        with pytest.raises(InputError, match="points"):
            call(points, np.zeros((1, 3)))


def test_bad_options():
    cube = box((1, 1, 1))
    with pytest.raises(InputError, match="threshold"):
        f_score(cube.vertices, cube.vertices, threshold=0)
    with pytest.raises(InputError, match="cell must be positive"):
        voxel_iou(cube, cube, cell=0)
    with pytest.raises(InputError, match="too fine"):
        voxel_iou(box((1e9, 1, 1)), cube)
    with pytest.raises(InputError, match="too fine"):
        voxel_iou(cube.vertices + 1e9, cube)
