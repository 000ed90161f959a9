"""Surface nets: a ball is closed, near and of the right volume."""

from __future__ import annotations

import numpy as np
import pytest

from kin4d.geometry.surface_nets import surface_nets
from kin4d.geometry.topology import Edges


def test_surface_nets_close_a_ball() -> None:
    at = np.stack(np.meshgrid(*[np.arange(24.0)] * 3, indexing="ij"), -1)
    vertices, faces = surface_nets(np.linalg.norm(at - 11.5, axis=-1) - 8.0)
    assert np.abs(np.linalg.norm(vertices - 11.5, axis=1) - 8.0).max() < 0.3
    edges = Edges(faces)
    assert (edges.open, edges.crowded, edges.clashing) == (0, 0, 0)
    volume = np.linalg.det(vertices[faces]).sum() / 6
    assert volume == pytest.approx(4 / 3 * np.pi * 8.0**3, rel=0.03)
