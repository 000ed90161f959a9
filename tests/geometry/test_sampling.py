"""Surface samples: fair by area at any scale, repeatable, carried by any deformation."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from kin4d.errors import InputError
from kin4d.geometry.mesh import Mesh
from kin4d.geometry.primitives import box, sphere
from kin4d.geometry.sampling import farthest_points, sample_masses, sample_surface


def random_mesh(seed: int, faces: int = 30) -> Mesh:
    rng = np.random.default_rng(seed)
    return Mesh(vertices=rng.normal(size=(20, 3)), faces=rng.integers(0, 20, (faces, 3)))


@settings(deadline=None, max_examples=50)
@given(seed=st.integers(0, 10**6), count=st.integers(1, 2000), power=st.integers(-200, 100))
def test_each_face_gets_its_share_to_within_one(seed, count, power):
    mesh = random_mesh(seed)
    scaled = mesh.replace_vertices(mesh.vertices * 10.0**power)
    samples = sample_surface(scaled, count, seed=seed)
    share = mesh.face_areas / mesh.face_areas.sum() * count
    got = np.bincount(samples.face, minlength=len(mesh.faces))
    assert (np.abs(got - share) <= 1 + 1e-6).all()
    assert got[mesh.face_areas == 0].sum() == 0
    assert (samples.barycentric >= 0).all()
    np.testing.assert_allclose(samples.barycentric.sum(1), 1, rtol=1e-12)


@pytest.mark.parametrize("scale", [1e-9, 1.0, 1e9])
def test_points_are_uniform_on_the_surface(scale):
    ball = sphere(scale, subdivisions=4)
    samples = sample_surface(ball, 20_000, seed=1)
    points = samples.points(ball.vertices)
    np.testing.assert_allclose(np.linalg.norm(points, axis=1), scale, rtol=0.01)
    np.testing.assert_allclose(points.mean(0), 0, atol=0.01 * scale)
    normals = samples.normals(ball.vertices)
    np.testing.assert_allclose(np.linalg.norm(normals, axis=1), 1, rtol=1e-9)
    assert (np.einsum("ni,ni->n", normals, points) > 0.99 * scale).all()


def test_repeatable_and_in_random_order():
    mesh = random_mesh(0)
    one, two = (sample_surface(mesh, 500, seed=7) for _ in range(2))
    np.testing.assert_array_equal(one.face, two.face)
    np.testing.assert_array_equal(one.barycentric, two.barycentric)
    assert len(one) == 500
    assert not np.array_equal(one.face, np.sort(one.face))
    assert not np.array_equal(one.face, sample_surface(mesh, 500, seed=8).face)


def test_carried_by_a_deformation_in_numpy_and_torch():
    cube = box((1, 2, 3))
    samples = sample_surface(cube, 100, seed=0)
    batch = np.stack([cube.vertices, cube.vertices * 2 + [1, 0, 0]])[:, None]
    moved = samples.points(batch)
    assert moved.shape == (2, 1, 100, 3)
    np.testing.assert_allclose(moved[1], moved[0] * 2 + [1, 0, 0], atol=1e-12)
    for dtype in (torch.float32, torch.float64):
        vertices = torch.tensor(batch, dtype=dtype, requires_grad=True)
        points, normals = samples.points(vertices), samples.normals(vertices)
        assert points.dtype == dtype
        np.testing.assert_allclose(points.detach(), moved, rtol=1e-5, atol=1e-6)
        np.testing.assert_allclose(normals.detach(), samples.normals(batch), atol=1e-6)
        (points.sum() + normals.sum()).backward()
        assert torch.isfinite(vertices.grad).all()


def test_a_collapsed_triangle_has_no_normal_and_no_nan():
    cube = box((1, 1, 1))
    samples = sample_surface(cube, 10, seed=0)
    assert (samples.normals(np.zeros_like(cube.vertices)) == 0).all()
    vertices = torch.zeros(8, 3, dtype=torch.float64, requires_grad=True)
    samples.normals(vertices).sum().backward()
    assert torch.isfinite(vertices.grad).all()


def test_one_triangle():
    mesh = Mesh(vertices=np.eye(3), faces=[[0, 1, 2]])
    assert (sample_surface(mesh, 5, seed=0).face == 0).all()


@pytest.mark.parametrize("count", [0, -1])
def test_no_samples(count):
    with pytest.raises(InputError, match="must be positive"):
        sample_surface(box((1, 1, 1)), count, seed=0)


def test_farthest_points_are_spread():
    rng = np.random.default_rng(0)
    points = np.concatenate([rng.normal(size=(200, 3)) * 0.01, [[5, 0, 0], [0, 5, 0]]])
    chosen = farthest_points(points, 3, seed=0)
    assert set(chosen[1:]) == {200, 201}
    assert len(set(farthest_points(points, len(points), seed=0))) == len(points)
    with pytest.raises(InputError, match="so many"):
        farthest_points(points, 203, seed=0)


def test_places_weigh_what_their_triangles_do():
    mesh = box((1.0, 1.0, 1.0))
    samples = sample_surface(mesh, 400, seed=0)
    even = sample_masses(mesh, samples.face, 3.0)
    np.testing.assert_allclose(even, 3.0 / 400)
    given = np.zeros(len(mesh.faces))
    given[0], given[1] = 1.0, 3.0
    found = sample_masses(mesh, samples.face, given)
    assert abs(found.sum() - 4.0) < 1e-12
    assert found[samples.face > 1].sum() == 0
    ratio = found[samples.face == 1].mean() / found[samples.face == 0].mean()
    assert abs(ratio - 3.0) < 1e-9


@pytest.mark.parametrize("wrong", [0.0, -1.0, np.nan, np.ones(3), np.zeros(12)])
def test_masses_that_cannot_be(wrong):
    mesh = box((1.0, 1.0, 1.0))
    with pytest.raises(InputError, match="mass"):
        sample_masses(mesh, np.arange(12), wrong)
