"""Patches end at creases and grooves, cover all points and repeat with the seed."""

from __future__ import annotations

import numpy as np

from kin4d.geometry.over_segmentation import cut_into_patches
from kin4d.geometry.pieces import sample_pieces
from kin4d.geometry.primitives import box


def test_patches_end_at_creases() -> None:
    one = box((1.0, 1.0, 1.0))
    whole = np.zeros(len(one.faces), np.int64)
    rng = np.random.default_rng(0)
    cloud = sample_pieces(one.vertices, one.faces, whole, rng, points=1500)
    label = cut_into_patches(cloud.points[0], cloud.normals[0], 24, rng)
    assert 16 <= label.max() + 1 <= 24
    assert set(label) == set(range(label.max() + 1))
    assert _purity(label, np.abs(cloud.normals[0]).argmax(1)) > 0.95


def test_patches_end_at_a_groove_between_faces_that_look_the_same_way() -> None:
    """Two plates side by side with a V between them: normals alone would not part them."""
    rng = np.random.default_rng(1)
    x, y = rng.uniform(-0.5, 0.5, (2, 3000))
    depth = np.maximum(0.04 - np.abs(x), 0)
    points = np.stack([x, y, -depth], 1)
    slope = np.where(depth > 0, np.sign(x), 0.0)
    normals = np.stack([-slope, 0 * x, np.ones_like(x)], 1)
    normals /= np.linalg.norm(normals, axis=1, keepdims=True)
    label = cut_into_patches(points, normals, 16, rng)
    flat = depth == 0
    assert _purity(label[flat], (x[flat] > 0).astype(int)) > 0.97


def test_the_same_seed_gives_the_same_patches() -> None:
    points = np.random.default_rng(0).normal(size=(400, 3))
    normals = points / np.linalg.norm(points, axis=1, keepdims=True)
    one, other = (cut_into_patches(normals, normals, 20, np.random.default_rng(3)) for _ in "ab")
    np.testing.assert_array_equal(one, other)
    assert (cut_into_patches(normals, normals, 1, np.random.default_rng(0)) == 0).all()
    assert (cut_into_patches(normals[:5], normals[:5], 3, np.random.default_rng(0)) == 0).all()


def test_surfaces_that_are_far_apart_stay_apart() -> None:
    rng = np.random.default_rng(0)
    points = rng.uniform(-0.1, 0.1, (600, 3)) + np.repeat([[0.0, 0, 0], [5.0, 0, 0]], 300, axis=0)
    normals = np.tile([0.0, 0.0, 1.0], (600, 1))
    label = cut_into_patches(points, normals, 8, rng)
    assert not set(label[:300]) & set(label[300:])


def _purity(label: np.ndarray, truth: np.ndarray) -> float:
    """Share of points whose patch has mostly their own truth."""
    table = np.zeros((label.max() + 1, truth.max() + 1))
    np.add.at(table, (label, truth), 1)
    return float(table.max(1).sum() / len(label))
