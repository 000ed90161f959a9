"""The rivals of the benchmark draw the same picture, or the comparison means nothing."""

import numpy as np
import pytest
import torch

from kin4d.benchmarks.robot import rasterizers
from kin4d.benchmarks.robot.pointmap_task import PointmapCase
from kin4d.bodies import hinge
from kin4d.geometry.camera import Camera


@pytest.fixture(scope="module")
def task():
    body = hinge()
    camera = Camera.framing(body.rest.bounds, width=120, height=90)
    return PointmapCase.of(
        body, torch.linspace(0, 1.5, 3, dtype=torch.float64)[:, None].numpy(), camera
    )


@pytest.mark.parametrize(
    ("engine", "package"),
    [("embree", "embreex"), ("torch_scatter", "torch"), ("warp_zbuffer", "warp")],
)
def test_same_picture(task, engine, package):
    pytest.importorskip(package)
    ours, rival = rasterizers.ours(task), getattr(rasterizers, engine)(task)
    for frame in range(len(task.q)):
        (face, depth), (other_face, other_depth) = ours(frame), rival(frame)
        mask, other = face >= 0, other_face >= 0
        assert mask.any()
        assert (mask ^ other).sum() <= 2
        error = np.abs(depth - other_depth)[mask & other]
        assert np.quantile(error, 0.995) < 1e-4
