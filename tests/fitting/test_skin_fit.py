"""Fitting skeletons: a known pose comes back, of meshes, scans and parts of them."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from toy_creature import toy_creature

from kin4d.bodies import FloatingBase
from kin4d.bodies.capabilities import WideSearch
from kin4d.bodies.creature.build import CreatureConfig, skeletal_body
from kin4d.bodies.skinned import SkinnedBody
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
    assert isinstance(found.body, WideSearch)
    low, high = found.body.search_limits.numpy().T
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


def test_loosened_joints_move_like_the_body_until_they_slide(creature: FloatingBase) -> None:
    skin = creature.body
    assert isinstance(skin, SkinnedBody)
    loose, slides = skin.loosened(0.05)
    joints = {name.partition(".")[0] for name in skin.coordinates}
    assert slides.sum() == 3 * len(joints)
    assert len(loose.q0) == len(skin.q0) + slides.sum()
    bent = skin.sample(1, seed=3)[0]
    q = loose.q0.clone()
    q[torch.from_numpy(~slides)] = bent
    np.testing.assert_allclose(loose.vertices(q), skin.vertices(bent), atol=1e-9)
    number = int(np.flatnonzero(slides)[2])
    assert loose.coordinates[number].endswith(".z")
    before = loose.vertices(q).numpy()
    q[number] = 0.05
    gap = loose.vertices(q).numpy() - before
    np.testing.assert_allclose(np.linalg.norm(gap, axis=1).max(), 0.05, rtol=0.05)
    np.testing.assert_allclose(loose.mass.sum(), skin.mass.sum(), rtol=1e-5)
    np.testing.assert_allclose(loose.search_limits[torch.from_numpy(slides), 1], 0.05)


def test_a_limb_that_is_longer_is_found_by_joints_that_slide(creature: FloatingBase) -> None:
    loose, slides = creature.body.loosened(0.05)  # pyright: ignore[reportAttributeAccessIssue]
    rng = np.random.default_rng(0)
    q = loose.q0.clone()
    q[torch.from_numpy(slides)] = torch.from_numpy(rng.uniform(-0.03, 0.03, slides.sum()))
    target = creature.rest.replace_vertices(loose.vertices(q).numpy())
    found = fit(creature, target)
    assert off(creature, target, found.vertices) < 0.5
    assert any(name.endswith(".z") for name in found.body.coordinates)
    stiff = SkinFit(creature, target, partial=False)
    best = min(stiff.descents(creature.q0.numpy()), key=stiff.error)
    vertices = creature.vertices(torch.from_numpy(best)).detach().numpy()
    assert off(creature, target, found.vertices) < off(creature, target, vertices)


def test_half_a_scan_moves_no_joint_apart(creature: FloatingBase, posed: Mesh) -> None:
    points = sample_surface(posed, 1000, seed=7).points(posed.vertices)
    found = fit(creature, points[points[:, 0] > 0], partial=True)
    assert found.body is creature
