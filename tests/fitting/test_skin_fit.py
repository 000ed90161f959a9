"""Fitting skeletons: a known pose comes back, of meshes, scans and parts of them."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from toy_creature import toy_creature

from kin4d.bodies import FloatingBase
from kin4d.bodies.creature.build import CreatureConfig, skeletal_body
from kin4d.fitting.fit import fit
from kin4d.fitting.skin_fit import SkinFit
from kin4d.geometry.mesh import Mesh
from kin4d.geometry.sampling import sample_surface


@pytest.fixture(scope="module")
def creature() -> FloatingBase:
    return FloatingBase(skeletal_body(toy_creature(), config=CreatureConfig(voxels=8000)))


@pytest.fixture(scope="module")
def posed(creature: FloatingBase) -> Mesh:
    """All legs swung, and the body moved a little as a whole."""
    q = creature.q0.clone()
    for i, name in enumerate(creature.coordinates):
        if i >= 6 and name.endswith(".bend"):
            q[i] = 0.35 if name.split(".")[0].endswith("a") else -0.2
    q[:3] = torch.tensor([0.02, -0.03, 0.01])
    return creature.rest.replace_vertices(creature.vertices(q).numpy())


def off(creature: FloatingBase, posed: Mesh, vertices: np.ndarray) -> float:
    """Mean distance to where the surface should be, of that at rest."""
    rest = np.linalg.norm(creature.rest.vertices - posed.vertices, axis=1).mean()
    return float(np.linalg.norm(vertices - posed.vertices, axis=1).mean() / rest)


def test_a_mesh_in_another_pose_is_found(creature: FloatingBase, posed: Mesh) -> None:
    found = fit(creature, posed)
    assert off(creature, posed, found.vertices) < 0.25
    assert found.error < 0.6 * found.rest_error
    low, high = creature.search_limits.numpy().T
    assert ((found.q >= low) & (found.q <= high)).all()


def test_a_scan_without_normals_is_found(creature: FloatingBase, posed: Mesh) -> None:
    points = sample_surface(posed, 3000, seed=7).points(posed.vertices)
    found = fit(creature, points)
    assert off(creature, posed, found.vertices) < 0.4


def test_half_a_scan_is_enough_to_come_nearer(creature: FloatingBase, posed: Mesh) -> None:
    points = sample_surface(posed, 3000, seed=7).points(posed.vertices)
    found = fit(creature, points[points[:, 0] > -0.05], partial=True)
    seen = posed.vertices[:, 0] > 0
    moved = np.linalg.norm(posed.vertices - creature.rest.vertices, axis=1)[seen].mean()
    gap = np.linalg.norm(found.vertices - posed.vertices, axis=1)[seen].mean()
    assert gap < 0.5 * moved


def test_points_and_normals_move_with_the_body(creature: FloatingBase, posed: Mesh) -> None:
    solver = SkinFit(creature, posed, partial=False)
    turned = creature.q0.numpy().copy()
    turned[5] = 0.5
    (x, _, n), (y, jacobian, m) = (solver._surface(q) for q in (creature.q0.numpy(), turned))
    c, s = np.cos(0.5), np.sin(0.5)
    rotation = np.array([[c, -s, 0], [s, c, 0], [0, 0, 1]])
    np.testing.assert_allclose(m, n @ rotation.T, atol=1e-9)
    step = 1e-6
    ahead = turned.copy()
    ahead[-1] += step
    slope = (solver._surface(ahead)[0] - y) / step
    np.testing.assert_allclose(slope, jacobian[..., -1], atol=1e-5)
    assert x.shape == y.shape
