"""From claims and axes to rigid parts on joints."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch

from kin4d.geometry.mesh import Mesh
from kin4d.geometry.primitives import box
from kin4d.neurok.articulate import articulate, build_kinematic_tree
from kin4d.neurok.collision_limits import PartSamples


def _row(*places: tuple[float, float, float]) -> tuple[Mesh, np.ndarray]:
    """Boxes of side 0.2 at places, and the number of each vertex's box."""
    boxes = []
    for place in places:
        pose = np.eye(4)
        pose[:3, 3] = place
        boxes.append(box((0.2, 0.2, 0.2)).transformed(pose))
    part = np.repeat(np.arange(len(boxes)), len(boxes[0].vertices))
    return Mesh.concatenate(boxes), part


def test_a_chain_hangs_link_by_link() -> None:
    mesh, part = _row((0, 0, 0), (0.42, 0, 0), (0.21, 0, 0))
    assert build_kinematic_tree(PartSamples.of(mesh, part), 2, near=0.01).tolist() == [0, 2, 0]


def test_what_touches_the_base_hangs_on_it_whatever_else_it_touches() -> None:
    mesh, part = _row((0, 0, 0), (0.205, 0, 0), (0.0, 0.205, 0))
    assert build_kinematic_tree(PartSamples.of(mesh, part), 2, near=0.01).tolist() == [0, 0, 0]


def test_without_a_base_all_hang_on_the_world() -> None:
    mesh, part = _row((0, 0, 0), (0.3, 0, 0))
    assert build_kinematic_tree(PartSamples.of(mesh, part + 1), 2, near=0.01).tolist() == [0, 0, 0]


def test_any_mesh_gets_parts_on_joints(two_boxes: Mesh, weights: Path) -> None:
    body = articulate(two_boxes, weights, mass=3.0, points=256)
    assert body.rest is two_boxes
    assert float(body.mass.sum()) == pytest.approx(3.0, rel=1e-3)
    low, high = body.limits.T
    assert bool((low <= 0).all())
    assert bool((high >= 0).all())
    moved = body.vertices(high)
    assert bool(torch.isfinite(moved).all())
    edges = two_boxes.faces[:, :2].copy()
    before = np.linalg.norm(np.diff(two_boxes.vertices[edges], axis=1), axis=-1)
    after = (moved[edges[:, 0]] - moved[edges[:, 1]]).norm(dim=-1).numpy()
    whole = body._part.numpy()[edges[:, 0]] == body._part.numpy()[edges[:, 1]]
    np.testing.assert_allclose(after[whole], before[whole, 0], atol=1e-9)
