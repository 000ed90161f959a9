"""Heat weights: shares between 0 and 1 that vary smoothly, on sound and on broken surfaces."""

from __future__ import annotations

import numpy as np
import trimesh

from kin4d.geometry.heat_weights import cotangent_laplacian, heat_weights
from kin4d.geometry.mesh_ops import label_components


def tube(sections: int = 60) -> tuple[np.ndarray, np.ndarray]:
    solid = trimesh.creation.cylinder(0.1, 2.0, sections=24).subdivide_to_size(2.0 / sections)
    return np.array(solid.vertices), np.array(solid.faces)


def halves(vertices: np.ndarray) -> np.ndarray:
    upper = (vertices[:, 2] > 0).astype(float)
    return np.stack([1 - upper, upper], 1)


def test_a_step_becomes_a_slope_as_wide_as_the_reach() -> None:
    vertices, faces = tube()
    steep, gentle = (
        heat_weights(vertices, faces, halves(vertices), np.full(len(vertices), reach))[:, 1]
        for reach in (0.05, 0.2)
    )
    for weights in (steep, gentle):
        assert np.polyfit(vertices[:, 2], weights, 1)[0] > 0
        assert weights.min() >= 0
        assert weights.max() <= 1
        assert weights[vertices[:, 2] > 0.9].min() > 0.9
    at = np.abs(vertices[:, 2] - 0.15) < 0.03
    assert steep[at].mean() > gentle[at].mean() + 0.05
    pairs = np.concatenate([faces[:, [0, 1]], faces[:, [1, 2]]])
    assert np.abs(gentle[pairs[:, 0]] - gentle[pairs[:, 1]]).max() < 0.2


def test_rows_sum_to_one_on_bad_triangles() -> None:
    vertices, faces = tube(20)
    rng = np.random.default_rng(0)
    faces = np.concatenate(
        [faces[rng.random(len(faces)) > 0.1], faces[:5], [[3, 3, 3], [1, 2, 1], [0, 9, 30]]]
    )
    vertices = np.concatenate([vertices, [[5.0, 5.0, 5.0]]])  # of no triangle
    needle = np.array([[len(vertices) - 2, 0, 1]])
    shares = halves(vertices)
    weights = heat_weights(
        vertices, np.concatenate([faces, needle]), shares, np.full(len(vertices), 0.1)
    )
    np.testing.assert_allclose(weights.sum(1), 1, atol=1e-12)
    assert np.isfinite(weights).all()
    np.testing.assert_allclose(weights[-1], shares[-1], atol=1e-6)


def test_heat_crosses_small_gaps_only() -> None:
    vertices, faces = tube()
    cut = vertices[faces][:, :, 2].mean(1) > 0
    # Two shells that meet at z = 0, without common vertices.
    faces = np.where(cut[:, None], faces + len(vertices), faces)
    both = np.concatenate([vertices, vertices + np.array([0, 0, 0.01])])
    used, index = np.unique(faces, return_inverse=True)
    both, faces = both[used], index.reshape(-1, 3)
    label = label_components(len(both), faces)
    assert label.max() == 1
    shares = np.stack([label == label[0], label != label[0]], 1).astype(float)
    reach = np.full(len(both), 0.2)
    apart = heat_weights(both, faces, shares, reach)
    near = heat_weights(both, faces, shares, reach, gap=0.02)
    np.testing.assert_allclose(apart, shares, atol=1e-9)
    assert np.abs(near - shares).max() > 0.1


def test_the_laplacian_of_a_linear_function_is_zero_inside_a_plane() -> None:
    grid = np.stack(np.meshgrid(np.arange(6.0), np.arange(5.0), [0.0], indexing="ij"), -1)
    vertices = grid.reshape(-1, 3)
    number = np.arange(30).reshape(6, 5)
    a, b, c, d = (x.ravel() for x in (number[:-1, :-1], number[1:, :-1], number[1:, 1:],
                                      number[:-1, 1:]))  # fmt: skip
    faces = np.concatenate([np.stack([a, b, c], 1), np.stack([a, c, d], 1)])
    laplacian, area = cotangent_laplacian(vertices, faces)
    flow = laplacian @ (2 * vertices[:, 0] - vertices[:, 1])
    np.testing.assert_allclose(flow.reshape(6, 5)[1:-1, 1:-1], 0, atol=0.02)
    np.testing.assert_allclose(area.sum(), 20.0)
