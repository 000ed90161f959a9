"""Elastic modes: soft by the shape alone, and bends stay bends."""

from __future__ import annotations

import numpy as np
import pytest
import trimesh

from kin4d.errors import InputError
from kin4d.geometry.elastic_graph import ElasticGraph, fill_interior
from kin4d.geometry.mesh import Mesh
from kin4d.geometry.primitives import box
from kin4d.objects.elastic_modes import ElasticModes


def bar() -> Mesh:
    solid = trimesh.creation.box((2.0, 0.3, 0.2)).subdivide().subdivide().subdivide()
    return Mesh(vertices=solid.vertices + 5.0, faces=solid.faces, name="bar")


@pytest.fixture(scope="module")
def modes() -> ElasticModes:
    return ElasticModes.of_mesh(bar(), 8, points=150)


def test_exactly_the_rigid_motions_cost_nothing() -> None:
    cloud = ElasticGraph.of_nodes(fill_interior(bar(), 80))
    values = np.linalg.eigvalsh(cloud.stiffness.toarray())
    assert abs(values[:6]).max() < 1e-6 * values[6]
    turn = np.cross([0.3, -0.2, 0.5], cloud.nodes)
    np.testing.assert_allclose((cloud.rotation @ turn.ravel()).reshape(-1, 3)[:, 2], 0.5, rtol=1e-4)


def test_a_bar_bends_first_and_over_its_thin_side(modes: ElasticModes) -> None:
    shift = modes.modes[:, 0].reshape(-1, 3)
    share = np.square(shift).sum(0) / np.square(shift).sum()
    assert share[2] > 0.8
    assert modes.stiffness[0] < modes.stiffness[1]


def test_the_inside_of_a_closed_mesh_is_filled_and_that_of_an_open_sheet_is_not() -> None:
    solid = fill_interior(box((1, 1, 1)), 200)
    assert (abs(solid).max(1) < 0.2).any()  # half the side is 0.29 diameters
    sheet = Mesh(
        vertices=[[0, 0, 0], [1, 0, 0], [1, 1, 0.0], [0, 1, 0]], faces=[[0, 1, 2], [0, 2, 3]]
    )
    assert np.ptp(fill_interior(sheet, 100)[:, 2]) == 0
    assert np.isfinite(ElasticModes.of_mesh(sheet, 4, points=60).sample(rng())).all()


def test_zero_coordinates_are_the_mesh_itself(modes: ElasticModes) -> None:
    np.testing.assert_allclose(modes.deform(np.zeros(8)), modes.mesh.vertices, atol=1e-6)


def test_warped_bends_keep_lengths_that_linear_ones_do_not(modes: ElasticModes) -> None:
    q = np.zeros(8)
    q[0] = 0.15
    faces = modes.mesh.faces
    rest = modes.mesh.vertices

    def stretch(vertices: np.ndarray) -> float:
        edges = np.linalg.norm(vertices[faces[:, 0]] - vertices[faces[:, 1]], axis=-1)
        return abs(edges / np.linalg.norm(rest[faces[:, 0]] - rest[faces[:, 1]], axis=-1) - 1).max()

    linear, warped = stretch(modes.deform(q, warp=False)), stretch(modes.deform(q))
    assert np.ptp(modes.deform(q)[:, 2]) > 2 * np.ptp(rest[:, 2])
    assert warped < 0.5 * linear


def test_pieces_that_lie_apart_move_together() -> None:
    two = Mesh.concatenate([box((1, 1, 1)), box((0.3, 0.3, 0.3)).transformed(shifted(0.9))])
    modes = ElasticModes.of_mesh(two, 6, points=120)
    deformed = modes.sample(rng(), 0.2)
    gap = np.linalg.norm(deformed[8:].mean(0) - deformed[:8].mean(0))
    assert 0.5 < gap < 1.4


def test_samples_are_reproducible_and_of_the_asked_size(modes: ElasticModes) -> None:
    np.testing.assert_array_equal(modes.sample(rng(3)), modes.sample(rng(3)))
    moved = np.linalg.norm(modes.sample(rng(3), 0.05) - modes.mesh.vertices, axis=-1).max()
    assert 0.2 * 0.05 < moved / modes.mesh.bbox_diagonal < 2 * 0.05


def test_a_ringing_mesh_is_a_sequence(modes: ElasticModes) -> None:
    sequence = modes.sequence(seed=1, licence="CC0-1.0", frames=12, damping=0.3)
    assert sequence.vertices.shape == (12, len(modes.mesh.vertices), 3)
    assert sequence.deformation > 0.05
    first, last = (abs(sequence.vertices[k] - modes.mesh.vertices).max() for k in (0, -1))
    assert last < first


def test_bad_requests_are_refused(modes: ElasticModes) -> None:
    with pytest.raises(InputError, match="modes"):
        ElasticModes.of_mesh(bar(), 0, points=20)
    with pytest.raises(InputError, match="nodes"):
        ElasticModes.of_mesh(bar(), points=4)
    with pytest.raises(InputError, match="amplitude"):
        modes.sample(rng(), -1)
    with pytest.raises(InputError, match="coordinates"):
        modes.deform(np.zeros(3))


def rng(seed: int = 0) -> np.random.Generator:
    return np.random.default_rng(seed)


def shifted(x: float) -> np.ndarray:
    matrix = np.eye(4)
    matrix[0, 3] = x
    return matrix
