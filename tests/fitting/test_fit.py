"""Fitting: exact bodies come back exactly, and what need not move does not."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from kin4d.bodies import Body, RigidBody, hinge, slider_chain
from kin4d.errors import InputError
from kin4d.fitting.fit import fit
from kin4d.geometry.mesh import Mesh
from kin4d.geometry.primitives import box
from kin4d.geometry.sampling import sample_surface


def cloud(body: Body, q: torch.Tensor, count: int = 3000, seed: int = 9) -> np.ndarray:
    """Unordered points of the body's surface at q."""
    mesh = body.rest.replace_vertices(body.vertices(q).numpy())
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
    found = fit(body, body.rest.replace_vertices(body.vertices(q).numpy()))
    assert found.q == pytest.approx([0.7], abs=0.02)


@pytest.mark.parametrize("wrong", [np.zeros((3, 3)), np.zeros((20, 2)), np.full((20, 3), np.nan)])
def test_no_points_no_fit(wrong: np.ndarray) -> None:
    with pytest.raises(InputError):
        fit(hinge(), wrong)


class _Sliders(RigidBody):
    """Boxes that slide along z, each with a part; which with which may be wrong."""

    def __init__(self, mesh: Mesh, parts: np.ndarray, count: int = 2) -> None:
        super().__init__(mesh)
        self.coordinates = tuple(f"up{i}" for i in range(count))
        self.q0 = torch.zeros(count, dtype=torch.float64)
        self.limits = torch.tensor([[-1.0, 1.0]] * count, dtype=torch.float64)
        self.parts, self.pieces = parts, mesh.components[mesh.faces[:, 0]]
        self.part = np.zeros(len(mesh.vertices), np.int64)
        self.part[mesh.faces] = parts[:, None]

    def skin_transforms(self, q: torch.Tensor) -> torch.Tensor:
        motions = torch.eye(4, dtype=torch.float64).repeat(*q.shape[:-1], 1 + q.shape[-1], 1, 1)
        motions[..., 1:, 2, 3] = q
        return motions

    def vertices(self, q: torch.Tensor) -> torch.Tensor:
        shift = self.skin_transforms(q)[..., torch.from_numpy(self.part), :3, 3]
        return torch.tensor(self.rest.vertices) + shift

    def refined(self, parts: np.ndarray | None = None) -> _Sliders:
        return _Sliders(self.rest, self.parts if parts is None else parts)

    def initial_guesses(self, target: np.ndarray) -> torch.Tensor:
        return torch.linspace(-0.4, 0.4, 9, dtype=torch.float64)[:, None].expand(-1, 2)

    def encode_pose(self, vertices: np.ndarray) -> torch.Tensor:
        up = vertices[:, 2] - self.rest.vertices[:, 2]
        means = [up[self.part == i].mean() if (self.part == i).any() else 0.0 for i in (1, 2)]
        return torch.tensor(means, dtype=torch.float64)


def _row_of_boxes(*along: float) -> Mesh:
    poses = [np.eye(4) for _ in along]
    for pose, x in zip(poses, along, strict=True):
        pose[0, 3] = x
    return Mesh.concatenate([box((0.5, 0.5, 0.1)).transformed(pose) for pose in poses])


@pytest.mark.parametrize(
    ("along", "predicted", "true", "moves"),
    [
        ((0.0, 0.8), (1, 1), (1, 0), (0.2, 0.0)),  # One moves that should stay.
        ((0.0, 0.51, 1.5), (1, 0, 0), (1, 1, 0), (0.2, 0.0)),  # One stays that should move.
        ((0.0, 0.8), (1, 0), (1, 2), (0.2, -0.3)),  # One is a part of its own.
    ],
)
def test_the_target_says_what_belongs_together(
    along: tuple[float, ...],
    predicted: tuple[int, ...],
    true: tuple[int, ...],
    moves: tuple[float, float],
) -> None:
    mesh = _row_of_boxes(*along)
    which = mesh.components[mesh.faces[:, 0]]
    body = _Sliders(mesh, np.array(predicted)[which])
    truth = _Sliders(mesh, np.array(true)[which])
    goal = truth.vertices(torch.tensor(moves, dtype=torch.float64)).numpy()
    found = fit(body, sample_surface(mesh.replace_vertices(goal), 3000, seed=4).points(goal))
    assert isinstance(found.body, _Sliders)
    np.testing.assert_array_equal(found.body.parts == 0, truth.parts == 0)
    np.testing.assert_allclose(found.vertices, goal, atol=0.01)
    still = truth.part == 0
    np.testing.assert_array_equal(found.vertices[still], mesh.vertices[still])


def test_what_is_right_already_is_left_alone() -> None:
    mesh = _row_of_boxes(0.0, 0.8)
    body = _Sliders(mesh, mesh.components[mesh.faces[:, 0]])
    goal = body.vertices(torch.tensor([0.3, 0.0], dtype=torch.float64)).numpy()
    found = fit(body, sample_surface(mesh.replace_vertices(goal), 3000, seed=4).points(goal))
    assert found.body is body
    assert found.moved == ("up0",)


def test_all_may_be_found_to_stay() -> None:
    mesh = _row_of_boxes(0.0, 0.8)

    class Restless(_Sliders):
        def refined(self, parts: np.ndarray | None = None) -> _Sliders:
            still = self.parts if parts is None else parts
            return Restless(self.rest, still, count=2 if still.any() else 0)

        def encode_pose(self, vertices: np.ndarray) -> torch.Tensor:
            return super().encode_pose(vertices)[: len(self.q0)]

        def initial_guesses(self, target: np.ndarray) -> torch.Tensor:
            return super().initial_guesses(target)[:, : len(self.q0)]

    body = Restless(mesh, np.ones(len(mesh.faces), np.int64))
    # Moved along itself, the row looks much as before: nothing of it is nearer after the move.
    found = fit(body, mesh, starts=torch.tensor([[0.03, 0.0]], dtype=torch.float64))
    np.testing.assert_array_equal(found.vertices, mesh.vertices)
    assert found.moved == ()
