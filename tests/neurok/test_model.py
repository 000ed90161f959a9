"""The networks: what must hold whatever the weights."""

from __future__ import annotations

import pytest
import torch
from untrained_neurok import TINY, shaken

from kin4d.errors import InputError
from kin4d.geometry.transforms import quaternion_rotate, rotvec_to_matrix
from kin4d.neurok import Neurok, NeurokConfig
from kin4d.neurok.encoders import PointFeatures, sparse_softmax
from kin4d.neurok.loss import LossWeights, NeurokBatch, evaluate_neurok, neurok_loss
from kin4d.neurok.twists import fit_twists, twist_to_rotation_translation
from kin4d.training.assignment_loss import assignment_loss

FORMS = [
    (decoder, motion)
    for decoder in ("skinned", "point")
    for motion in ("dual_quaternion", "offset")
]


def config(decoder: str, motion: str) -> NeurokConfig:
    return NeurokConfig(**{**TINY.to_dict(), "decoder": decoder, "motion": motion})


@pytest.mark.parametrize(("decoder", "motion"), FORMS)
def test_state_zero_moves_nothing(surface: PointFeatures, decoder: str, motion: str) -> None:
    model = shaken(config(decoder, motion))
    shape = model.encode(surface)
    still = shape.rig.move(torch.zeros(2, TINY.tokens, 6))
    moved = shape.rig.move(torch.ones(2, TINY.tokens, 6))
    assert torch.allclose(still, surface.points, atol=1e-6)
    assert (moved - surface.points).abs().max() > 1e-3


@pytest.mark.parametrize(("decoder", "motion"), FORMS)
def test_other_points_are_driven_like_the_encoded_ones(
    surface: PointFeatures, decoder: str, motion: str
) -> None:
    model = shaken(config(decoder, motion))
    shape = model.encode(surface)
    z = torch.randn(2, TINY.tokens, 6, generator=torch.Generator().manual_seed(0))
    assignment = model.prior.assign(shape.encoding, surface)
    again = model.decoder.rig(shape.encoding, surface.points, assignment).move(z)
    assert torch.allclose(again, shape.rig.move(z), atol=1e-5)


def test_order_of_points_does_not_matter(surface: PointFeatures) -> None:
    model = shaken(TINY)
    order = torch.randperm(60, generator=torch.Generator().manual_seed(2))
    mixed = PointFeatures(
        surface.points[:, order], surface.normals[:, order], surface.component[:, order]
    )
    first, second = model.encode(surface), model.encode(mixed)
    assert torch.allclose(first.encoding.tokens, second.encoding.tokens, atol=1e-4)
    assert torch.allclose(first.assignment.weights[:, order], second.assignment.weights, atol=1e-4)


def test_weights_are_shares_and_small_ones_are_nothing() -> None:
    logits = torch.tensor([[8.0, 0.0, -1.0], [0.0, 0.1, 0.2]])
    weights = sparse_softmax(logits)
    assert torch.allclose(weights.sum(-1), torch.ones(2))
    assert weights[0].tolist() == [1.0, 0.0, 0.0]
    assert (weights[1] > 0.2).all()


def test_twists_are_read_off_rigid_parts() -> None:
    generator = torch.Generator().manual_seed(3)
    points = torch.rand(1, 80, 3, generator=generator) - 0.5
    points[0, :40, 2] = 0.1  # a flat panel: its rotation is still determined
    weights = torch.zeros(1, 80, 2)
    weights[0, :40, 0] = 1
    weights[0, 40:, 1] = 1
    rotation, hinge = rotvec_to_matrix(torch.tensor([0.2, 1.1, -0.4])), torch.tensor([0.3, 0, 0.1])
    moved = points.clone()
    moved[0, :40] = (points[0, :40] - hinge) @ rotation.T + hinge
    moved[0, 40:] = points[0, 40:] + torch.tensor([0.0, 0.2, 0.1])
    centres = torch.stack([points[0, :40].mean(0), points[0, 40:].mean(0)])[None]
    about = centres, torch.full((1, 2), 0.4)
    twists, _ = fit_twists(weights, points, moved, *about)
    quaternion, translation = twist_to_rotation_translation(twists, *about)
    for part, token in ((slice(0, 40), 0), (slice(40, 80), 1)):
        again = quaternion_rotate(quaternion[0, token], points[0, part]) + translation[0, token]
        assert torch.allclose(again, moved[0, part], atol=5e-3)
    # Halfway along the same twist is halfway round the same hinge.
    quaternion, translation = twist_to_rotation_translation(0.5 * twists, *about)
    assert torch.allclose(
        quaternion_rotate(quaternion[0, 0], hinge) + translation[0, 0], hinge, atol=1e-2
    )


def test_screws_are_orthonormal(surface: PointFeatures) -> None:
    screws = shaken(TINY).encode(surface).encoding.screws
    assert torch.allclose(screws @ screws.mT, torch.eye(6).expand_as(screws), atol=1e-5)


def test_parts_are_apart_and_the_base_is_background() -> None:
    part = torch.tensor([[0, 0, 1, 1]])
    right = torch.tensor([[[1.0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 1, 0]]])
    one = torch.tensor([[[1.0, 0, 0], [1, 0, 0], [1, 0, 0], [1, 0, 0]]])
    swapped, other = right[..., [1, 0, 2]], right[..., [0, 2, 1]]
    best = assignment_loss(right, part)
    assert best < 0.01
    assert assignment_loss(other, part) == pytest.approx(float(best))
    assert assignment_loss(one, part) > best + 1
    assert assignment_loss(swapped, part) > best + 1
    assert assignment_loss(one, torch.full((1, 4), -1)) == 0


def test_more_parts_than_tokens_have_a_finite_loss() -> None:
    weights = torch.full((1, 5, 3), 1 / 3, requires_grad=True)
    loss = assignment_loss(weights, torch.arange(5)[None])
    loss.backward()
    assert torch.isfinite(loss)
    assert (weights.grad[0].abs().sum(-1) > 0).sum() == 3


def test_one_batch_is_learned_by_heart(surface: PointFeatures) -> None:
    torch.manual_seed(0)
    model = Neurok(TINY)
    part = (surface.points[..., 0] > 0).long()
    moved = surface.points + 0.3 * part[..., None]
    batch = NeurokBatch(surface, moved, part)
    optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)
    before = evaluate_neurok(model, [batch])
    for _ in range(150):
        loss, _ = neurok_loss(model, batch, 0.0, weights=LossWeights())
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    after = evaluate_neurok(model.eval(), [batch])
    assert after["ratio"] < 0.25 < before["ratio"]
    assert after["guess"] < before["guess"]


@pytest.mark.parametrize(
    "wrong", [{"width": 10, "heads": 4}, {"tokens": 0}, {"decoder": "mesh"}, {"motion": "lerp"}]
)
def test_wrong_configs_are_refused(wrong: dict) -> None:
    with pytest.raises(InputError):
        NeurokConfig(**wrong)


def test_a_newer_config_is_refused() -> None:
    with pytest.raises(InputError, match="does not know"):
        NeurokConfig.from_dict({**TINY.to_dict(), "wings": 2})
