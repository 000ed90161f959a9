"""The compiled map of a body of blended frames against the body itself."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from kin4d.bodies.floating import FloatingBase
from kin4d.bodies.skinning_frames import SkinningFrames
from kin4d.geometry.dual_quaternion import dq_apply, dq_from_matrix, dq_identity, dq_normalize
from kin4d.geometry.primitives import box
from kin4d.geometry.sampling import sample_surface
from kin4d.geometry.transforms import rigid, rotvec_jacobian, rotvec_to_matrix
from kin4d.kinematics.compiled.autograd import AutogradKinematics
from kin4d.kinematics.compiled.compiled_kinematics import compile_kinematics
from kin4d.kinematics.compiled.skinned import SkinnedKinematics


class Hose:
    """Two frames that bend and shift smoothly with three coordinates; the left end stays."""

    coordinates, name, skin = ("a", "b", "c"), "hose", None
    q0 = torch.zeros(3, dtype=torch.float64)
    limits = torch.tensor([[-2.0, 2.0]] * 3, dtype=torch.float64)

    def __init__(self) -> None:
        self.rest = box((1.0, 0.2, 0.1))
        self.samples = sample_surface(self.rest, 40, seed=3)
        points = self.samples.points(self.rest.vertices)
        self.mass = torch.full((40,), 0.05, dtype=torch.float64)
        rng = np.random.default_rng(0)
        self._slopes = torch.from_numpy(0.4 * rng.normal(size=(12, 3)))
        self._bends = torch.from_numpy(0.1 * rng.normal(size=(12, 3)))
        self.frames = SkinningFrames(
            twists=self._twists,
            centres=np.array([[0.1, 0.0, 0.0], [0.4, 0.05, 0.0]]),
            points=points,
            point_weights=_shares(points),
            vertex_weights=_shares(self.rest.vertices),
        )

    def _twists(self, q):
        return (q @ self._slopes.mT + torch.tanh(q) ** 2 @ self._bends.mT).unflatten(-1, (2, 6))

    def _moved(self, q, rest: np.ndarray, weights: np.ndarray):
        shift, turn = self._twists(q).split(3, -1)
        rotation, centres = rotvec_to_matrix(turn), torch.from_numpy(self.frames.centres)
        carried = (rotvec_jacobian(turn) @ shift[..., None]).squeeze(-1)
        about = centres - (rotation @ centres[..., None]).squeeze(-1)
        shares = torch.from_numpy(weights)
        blend = shares @ dq_from_matrix(rigid(rotation, about + carried))
        blend = blend + (1 - shares.sum(-1, keepdim=True)) * dq_identity()
        return dq_apply(dq_normalize(blend), torch.from_numpy(np.array(rest)))

    def points(self, q):
        return self._moved(q, self.frames.points, self.frames.point_weights)

    def vertices(self, q):
        return self._moved(q, self.rest.vertices, self.frames.vertex_weights)

    def jacobian(self, q):
        return torch.func.jacfwd(self.points)(q)

    def skinning_frames(self):
        return self.frames

    def skin_transforms(self, q):
        raise NotImplementedError


def _shares(points: np.ndarray) -> np.ndarray:
    along = points[:, 0] + 0.5
    return np.stack([along * (1 - along), along**2], -1)


@pytest.mark.parametrize("floating", [False, True])
def test_it_is_the_body(floating: bool) -> None:
    hose = Hose()
    surface = sample_surface(hose.rest, 20, seed=0)
    body = FloatingBase(hose) if floating else hose
    found = compile_kinematics(body, surface, mass_scale=2.0)
    exact = AutogradKinematics(hose, surface, floating=floating, mass_scale=2.0)
    assert isinstance(found, SkinnedKinematics)
    assert found.error < 1e-3 * hose.rest.bbox_diagonal
    q = np.array([*([0.3, 0.2, 0.1, 1.0, 0.5, -0.4] if floating else []), 0.7, -0.5, 0.3])
    for ours, theirs in zip(found.embed(q), exact.embed(q), strict=True):
        np.testing.assert_allclose(ours, theirs, atol=2e-3)
    np.testing.assert_allclose(found.at(q).surface_points, exact.at(q).surface_points, atol=1e-3)
    some = np.array([3, 17, 3])
    np.testing.assert_allclose(
        found.points_and_jacobians(found.at(q), some)[1],
        exact.points_and_jacobians(exact.at(q), some)[1],
        atol=1e-2,
    )


@pytest.mark.parametrize("floating", [False, True])
def test_rigid_parts_are_four_lumps_each(floating: bool) -> None:
    hose = Hose()
    for weights in (hose.frames.point_weights, hose.frames.vertex_weights):
        weights[:] = np.round(2 * weights) / 2  # whole, half and none
    surface = sample_surface(hose.rest, 3, seed=0)
    found = SkinnedKinematics(hose, hose.frames, surface, floating=floating, mass_scale=2.0)
    exact = AutogradKinematics(hose, surface, floating=floating, mass_scale=2.0)
    assert found.size < exact.size
    q = np.array([*([0.3, 0.2, 0.1, 1.0, 0.5, -0.4] if floating else []), 0.7, -0.5, 0.3])
    qd = np.linspace(1, 2, len(q))
    (_, ours), (_, theirs) = found.embed(q), exact.embed(q)
    np.testing.assert_allclose(ours.T @ ours, theirs.T @ theirs, atol=1e-2)
    np.testing.assert_allclose(found.at(q).mass_points, exact.at(q).mass_points, atol=1e-3)
    speeds = found.velocities(found.at(q), qd), exact.velocities(exact.at(q), qd)
    np.testing.assert_allclose(*speeds, atol=2e-2)
    force = np.random.default_rng(0).normal(size=(40, 3))
    np.testing.assert_allclose(
        ours.T @ found.pull_back(force), theirs.T @ exact.pull_back(force), atol=5e-2
    )


@pytest.mark.parametrize("scale", [1e-3, 1.0])
@pytest.mark.parametrize("floating", [False, True])
def test_jacobians_are_derivatives(floating: bool, scale: float) -> None:
    hose = Hose()
    found = SkinnedKinematics(
        hose, hose.frames, sample_surface(hose.rest, 7, seed=0), floating=floating, mass_scale=1.0
    )
    q = scale * np.linspace(0.9, -0.7, found.width)
    step, index = 1e-6, np.arange(7)
    ahead, behind = q + step * np.eye(len(q)), q - step * np.eye(len(q))
    for look, slope in (
        (lambda at: found.embed(at)[0], found.embed(q)[1]),
        (
            lambda row: found.at(row).surface_points,
            found.points_and_jacobians(found.at(q), index)[1],
        ),
    ):
        numeric = [
            (look(one) - look(other)) / (2 * step) for one, other in zip(ahead, behind, strict=True)
        ]
        np.testing.assert_allclose(slope, np.stack(numeric, -1), atol=1e-8)
