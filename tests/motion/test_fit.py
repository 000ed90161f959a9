"""Fitting: exact bodies come back exactly, and what need not move does not."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from kin4d.bodies import Body, hinge, slider_chain
from kin4d.errors import InputError
from kin4d.geometry.sampling import sample_surface
from kin4d.motion.fit import fit


def cloud(body: Body, q: torch.Tensor, count: int = 3000, seed: int = 9) -> np.ndarray:
    """Unordered points of the body's surface at q."""
    mesh = body.rest.with_vertices(body.vertices(q).numpy())
    return sample_surface(mesh, count, seed=seed).points(mesh.vertices)


@pytest.mark.parametrize("angle", [0.3, 0.9, 1.4])
def test_a_hinge_is_found(angle: float) -> None:
    body = hinge()
    q = torch.tensor([angle], dtype=torch.float64)
    found = fit(body, cloud(body, q))
    assert found.q == pytest.approx(q.numpy(), abs=0.02)
    assert found.error < 0.5 * found.rest_error
    assert np.abs(found.vertices - body.vertices(torch.from_numpy(found.q)).numpy()).max() < 1e-12


def test_what_does_not_move_stays_exactly_still() -> None:
    body = slider_chain()
    q = body.q0.clone()
    q[1] = body.limits[1, 1] * 0.8
    found = fit(body, cloud(body, q))
    assert found.moved == (body.coordinates[1],)
    assert found.q[0] == body.q0[0]
    assert found.q[1] == pytest.approx(float(q[1]), abs=0.02)


def test_rest_is_left_alone() -> None:
    body = slider_chain()
    assert fit(body, cloud(body, body.q0)).moved == ()


def test_half_a_noisy_cloud_is_enough() -> None:
    body = hinge()
    q = torch.tensor([0.8], dtype=torch.float64)
    points = cloud(body, q)
    seen = points[points[:, 0] > np.median(points[:, 0])]
    rng = np.random.default_rng(0)
    noisy = seen + rng.normal(0, 0.005, seen.shape)
    noisy[:: len(noisy) // 20] += 0.5
    assert fit(body, noisy, partial=True).q == pytest.approx([0.8], abs=0.06)


def test_a_mesh_is_a_target_too() -> None:
    body = hinge()
    q = torch.tensor([0.7], dtype=torch.float64)
    found = fit(body, body.rest.with_vertices(body.vertices(q).numpy()))
    assert found.q == pytest.approx([0.7], abs=0.02)


@pytest.mark.parametrize("wrong", [np.zeros((3, 3)), np.zeros((20, 2)), np.full((20, 3), np.nan)])
def test_no_points_no_fit(wrong: np.ndarray) -> None:
    with pytest.raises(InputError):
        fit(hinge(), wrong)
