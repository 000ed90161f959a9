"""Parts of the viewer's benchmark: dense meshes, and the processor time of processes."""

from __future__ import annotations

import os
import time

import numpy as np
import pytest

from kin4d.benchmarks.dense_mesh import dense_mesh
from kin4d.benchmarks.process_time import browser_seconds, process_seconds
from kin4d.bodies import hinge
from kin4d.errors import InputError


def test_a_dense_mesh_has_the_same_shape() -> None:
    mesh = hinge().rest
    dense = dense_mesh(mesh, vertices=5_000)
    assert 5_000 <= len(dense.vertices) < 8_000
    np.testing.assert_allclose(dense.bounds, mesh.bounds)
    assert dense.face_areas.sum() == pytest.approx(mesh.face_areas.sum())
    assert [m.name for m in dense.materials] == [m.name for m in mesh.materials]
    areas = [np.bincount(m.face_material, m.face_areas) for m in (mesh, dense)]
    np.testing.assert_allclose(areas[0], areas[1])


def test_processor_time_is_that_of_the_process() -> None:
    before, begun = process_seconds(os.getpid()), time.process_time()
    while time.process_time() - begun < 0.3:
        pass
    assert process_seconds(os.getpid()) - before == pytest.approx(0.3, abs=0.1)
    assert browser_seconds() >= 0
    with pytest.raises(InputError, match="not known"):
        process_seconds(2**30)
