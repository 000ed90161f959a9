"""The keypoint cage deformer: its coordinates, its cage, its training and its body."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest
import torch

from kin4d.bodies.body import Body
from kin4d.errors import InputError
from kin4d.fitting.config import FitConfig
from kin4d.fitting.fit import fit
from kin4d.geometry.primitives import box
from kin4d.geometry.sampling import sample_surface
from kin4d.neurok.cage import MARGIN, CageConfig, CageDeformer, cage_sphere, fit_cage, load_cage
from kin4d.neurok.cage_body import CageBody
from kin4d.neurok.cage_train import cage_loss, chamfer, train_cage
from kin4d.neurok.mean_value_coordinates import mean_value_coordinates
from kin4d.training import TrainConfig
from kin4d.training.checkpoint import save_tensors

SMALL = CageConfig(keypoints=4, width=16, near=6)


@dataclass
class Made:
    points0: np.ndarray
    points1: np.ndarray


def pairs(seed: int, *, batch: int = 4, points: int = 128) -> Made:
    """Boxes of which one half is shifted."""
    rng = np.random.default_rng(seed)
    start = rng.uniform(-0.5, 0.5, (batch, points, 3)).astype(np.float32)
    end = start + 0.2 * (start[..., :1] > 0) * np.array([0, 0, 1], np.float32)
    return Made(points0=start, points1=end.astype(np.float32))


def make_batches(process: int, step: int) -> Iterator[Made]:
    while True:
        yield pairs(step)
        step += 1


@pytest.fixture(scope="module")
def weights(tmp_path_factory) -> Path:
    out = tmp_path_factory.mktemp("cage")
    plan = TrainConfig(steps=3, log_every=1)
    train_cage(make_batches, out, train_config=plan, config=SMALL, dev=[pairs(99)])
    return out / "weights.safetensors"


def test_coordinates_reproduce_points_inside_the_cage() -> None:
    corners, faces = cage_sphere()
    assert corners.shape == (42, 3)
    points = torch.rand(2, 200, 3, generator=torch.Generator().manual_seed(0)) - 0.5
    weights = mean_value_coordinates(points, corners.expand(2, -1, -1), faces)
    assert torch.allclose(weights @ corners, points, atol=1e-5)
    assert torch.allclose(weights.sum(-1), torch.ones(2, 200), atol=1e-5)
    assert (weights > 0).all()


def test_cage_keeps_its_distance() -> None:
    points = torch.rand(1, 500, 3, generator=torch.Generator().manual_seed(1)) - 0.5
    points = points * torch.tensor([1.0, 0.3, 0.6])
    gap = torch.cdist(fit_cage(points), points).amin(2)
    assert gap.min() > MARGIN
    assert gap.max() < 2.5 * MARGIN


def test_chamfer_is_zero_for_the_same_points() -> None:
    points = torch.rand(2, 50, 3)
    assert chamfer(points, points[:, torch.randperm(50)]) == 0
    assert chamfer(points, points + torch.tensor([0.0, 0.0, 3.0])) > 8


def test_first_only_keypoints_are_learned() -> None:
    net = CageDeformer(SMALL)
    one = pairs(0)
    batch = (torch.from_numpy(one.points0[:, :64]), torch.from_numpy(one.points1[:, 64:]))
    early, _ = cage_loss(net, batch, 0.0)
    late, terms = cage_loss(net, batch, 0.5)
    assert torch.isclose(late - early, terms["match"], atol=1e-6)


def test_body_rests_where_the_mesh_is_and_obeys_the_protocol(weights: Path) -> None:
    mesh = box((1.0, 2.0, 0.5))
    body = CageBody.from_mesh(mesh, weights)
    assert isinstance(body, Body)
    assert len(body.coordinates) == 3 * SMALL.keypoints
    assert np.array_equal(body.vertices(body.q0).numpy(), mesh.vertices)
    q = torch.linspace(-0.1, 0.1, len(body.q0), dtype=torch.float64)
    slope = torch.func.jacfwd(body.points)(q)
    assert torch.allclose(body.jacobian(q), slope, atol=1e-9)
    assert body.vertices(q.expand(5, -1)).shape == (5, len(mesh.vertices), 3)


def test_body_is_fitted_like_any_other(weights: Path) -> None:
    mesh = box((1.0, 1.0, 1.0))
    body = CageBody.from_mesh(mesh, weights)
    goal = sample_surface(mesh, 1000, seed=0).points(mesh.vertices + np.array([0.1, 0.0, 0.0]))
    assert body.initial_guesses(goal).shape == (1, 3 * SMALL.keypoints)
    found = fit(body, goal, config=FitConfig(descents=1, iterations=4))
    assert found.error < found.rest_error


def test_other_weights_are_refused(tmp_path: Path) -> None:
    file = tmp_path / "weights.safetensors"
    save_tensors(file, {"a": torch.zeros(1)}, {"model": "neurok", "version": 1})
    with pytest.raises(InputError, match="does not hold a cage deformer"):
        load_cage(file)
