"""A small model that was never trained, and shapes for it."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch
from untrained_neurok import TINY, shaken

from kin4d.geometry.mesh import Mesh
from kin4d.geometry.primitives import box
from kin4d.neurok import save_pretrained
from kin4d.neurok.encoders import PointFeatures


@pytest.fixture(scope="session")
def weights(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("weights") / "weights.safetensors"
    save_pretrained(path, shaken(TINY), None, {})
    return path


@pytest.fixture
def surface() -> PointFeatures:
    generator = torch.Generator().manual_seed(1)
    points = torch.rand(2, 60, 3, generator=generator) - 0.5
    normals = torch.nn.functional.normalize(torch.randn(2, 60, 3, generator=generator), dim=-1)
    return PointFeatures(points, normals, torch.randint(0, 3, (2, 60), generator=generator))


@pytest.fixture
def two_boxes() -> Mesh:
    """A small box on a large one, apart from it."""
    lid = box((0.4, 0.4, 0.05))
    return Mesh.concatenate(
        [box((0.5, 0.5, 0.3)), lid.replace_vertices(lid.vertices + np.array([0, 0, 0.2]))]
    )
