"""Fitting: exact bodies come back exactly, and what need not move does not."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from kin4d.bodies import Body, RigidBody, hinge, slider_chain
from kin4d.errors import InputError
from kin4d.geometry.mesh import Mesh
from kin4d.geometry.primitives import box
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


class _Glued(RigidBody):
    """Two boxes that slide together along z, although only one of them should."""

    def __init__(self, mesh: Mesh, still: np.ndarray) -> None:
        super().__init__(mesh)
        self.coordinates, self.q0 = ("up",), torch.zeros(1, dtype=torch.float64)
        self.limits = torch.tensor([[-1.0, 1.0]], dtype=torch.float64)
        self.free = torch.from_numpy(~still).double()
        self.pieces = mesh.components[mesh.faces[:, 0]]

    def vertices(self, q: torch.Tensor) -> torch.Tensor:
        up = torch.tensor([0.0, 0, 1], dtype=torch.float64)
        return torch.tensor(self.rest.vertices) + (q * self.free)[..., None] * up

    def holding(self, faces: np.ndarray) -> Body:
        still = ~self.free.bool().numpy()
        still[np.unique(self.rest.faces[faces])] = True
        return _Glued(self.rest, still)


def test_a_piece_that_need_not_move_is_held() -> None:
    pose = np.eye(4)
    pose[0, 3] = 0.8
    mesh = Mesh.concatenate([box((0.5, 0.5, 0.1)), box((0.5, 0.5, 0.1)).transformed(pose)])
    body = _Glued(mesh, np.zeros(len(mesh.vertices), bool))
    first = mesh.vertices[:, 0] < 0.4
    goal = mesh.vertices + np.where(first[:, None], [0, 0, 0.2], 0.0)
    goal_mesh = mesh.with_vertices(goal)
    found = fit(body, sample_surface(goal_mesh, 3000, seed=4).points(goal))
    assert found.body is not body
    assert found.q[0] == pytest.approx(0.2, abs=0.01)
    np.testing.assert_array_equal(found.vertices[~first], mesh.vertices[~first])
