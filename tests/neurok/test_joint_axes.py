"""Screws are read in the frames of the axes offered to each part."""

from __future__ import annotations

import torch

from kin4d.neurok.joint_axes import JointAxisHead, Screws
from kin4d.neurok.motion_mixture import MotionMixture
from kin4d.neurok.twists import extents

WIDTH = 16


def _predict(rotation: torch.Tensor) -> Screws:
    """Screws of a tall door beside its frame, after turning both."""
    torch.manual_seed(0)
    head = JointAxisHead(WIDTH).double()
    generator = torch.Generator().manual_seed(1)
    door = torch.rand(40, 3, generator=generator).double() * torch.tensor([0.5, 0.05, 0.9])
    frame = torch.rand(40, 3, generator=generator).double() * torch.tensor([0.1, 0.3, 0.9])
    points = torch.cat([door, frame - torch.tensor([0.2, 0.0, 0.0])])[None] @ rotation.mT
    normals = torch.nn.functional.normalize(points @ rotation - 1, dim=-1) @ rotation.mT
    assignment = torch.zeros(1, 80, 4).double()
    assignment[0, :40, 1], assignment[0, 40:, 0] = 1, 1
    centres, radii = extents(assignment[..., 1:], points)
    return head(assignment, points, normals, centres, radii)


def test_screws_turn_with_the_shape() -> None:
    angle = torch.tensor(40.0).double().deg2rad()  # one of the angles that boxes are tried at
    c, s = angle.cos(), angle.sin()
    rotation = torch.stack([c, -s, 0 * c, s, c, 0 * c, 0 * c, 0 * c, 1 + 0 * c]).view(3, 3)
    before, after = _predict(torch.eye(3).double()), _predict(rotation)
    whole = torch.block_diag(rotation, rotation)
    expected = before.frames[0, 0] @ whole.mT
    agree = (after.frames[0, 0] * expected).sum(-1).abs()
    assert agree[0] > 0.999
    torch.testing.assert_close(after.gains[0, 0, 0], before.gains[0, 0, 0], rtol=0.01, atol=0)
    assert (before.frames[0, 0] - expected).abs().max() > 0.1


def test_frames_are_orthonormal_and_tokens_without_a_part_stay_plain() -> None:
    found = _predict(torch.eye(3).double())
    eye = torch.eye(6).double().expand(3, 6, 6)
    torch.testing.assert_close(found.frames[0] @ found.frames[0].mT, eye)
    torch.testing.assert_close(found.frames[0, 1:], eye[1:])
    assert (found.gains > 0).all()
    assert bool((found.gains[0, 1:] == 1).all())
    assert bool((found.mean[0, 1:] == 0).all())


def _mixture(prob: list[float]) -> MotionMixture:
    """A part that may turn about its middle, go along x, or anywhere."""
    twists = torch.eye(6)[[5, 0]][None]
    log_prob = torch.tensor([prob]).log()
    return MotionMixture(
        shape=torch.zeros(1, dtype=torch.int64),
        token=torch.zeros(1, dtype=torch.int64),
        twists=twists,
        log_prob=log_prob,
        mean=torch.tensor([[0.5, 0.0]]),
        std=torch.tensor([[1.0, 0.2]]),
        free=torch.full((1, 6), 0.3),
    )


def test_the_likeliest_axis_comes_first_with_its_own_spread_and_middle() -> None:
    frames, gains, mean = _mixture([0.7, 0.2, 0.1]).principal()
    torch.testing.assert_close(frames[0, 0], torch.eye(6)[5])
    assert gains[0, 0] == 1.0
    assert mean[0, 0] == 0.5
    assert bool((mean[0, 1:] == 0).all())
    torch.testing.assert_close(frames[0, 1].abs(), torch.eye(6)[0])
    assert bool((gains[0, 1:-1] >= gains[0, 2:] - 1e-6).all())


def test_what_moves_anywhere_has_no_axis() -> None:
    frames, _, mean = _mixture([0.1, 0.1, 0.8]).principal()
    torch.testing.assert_close(frames[0] @ frames[0].mT, torch.eye(6))
    assert bool((mean == 0).all())


def test_likely_twists_are_likelier() -> None:
    mixture = _mixture([0.7, 0.2, 0.1])
    along, off = torch.eye(6)[5:], torch.eye(6)[3:4]
    assert float(mixture.nll(along)) < float(mixture.nll(off)) - 2
    assert float(mixture.nll(0.5 * along)) < float(mixture.nll(4 * along))


def test_an_axis_that_parts_only_stay_on_is_not_theirs() -> None:
    mixture = _mixture([0.3, 0.6, 0.1])
    assert mixture.most_likely()[0].tolist() == [0]
