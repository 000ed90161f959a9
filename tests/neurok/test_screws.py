"""Screws are read in the frame of each part."""

from __future__ import annotations

import torch

from kin4d.neurok.reduction import joints
from kin4d.neurok.screws import ScrewReader, Screws
from kin4d.neurok.twists import extents

WIDTH = 16


def _read(turn: torch.Tensor) -> Screws:
    """Screws of a tall door beside its frame, after turning both."""
    torch.manual_seed(0)
    reader = ScrewReader(WIDTH).double()
    torch.nn.init.normal_(reader.out.weight, std=0.3)
    generator = torch.Generator().manual_seed(1)
    door = torch.rand(40, 3, generator=generator).double() * torch.tensor([0.5, 0.05, 0.9])
    frame = torch.rand(40, 3, generator=generator).double() * torch.tensor([0.1, 0.3, 0.9])
    points = torch.cat([door, frame - torch.tensor([0.2, 0.0, 0.0])])[None] @ turn.mT
    normals = torch.nn.functional.normalize(points @ turn - 1, dim=-1) @ turn.mT
    claims = torch.zeros(1, 80, 4).double()
    claims[0, :40, 1], claims[0, 40:, 0] = 1, 1
    centres, radii = extents(claims[..., 1:], points)
    tokens = torch.ones(1, 3, WIDTH).double()
    return reader(tokens, claims, points, normals, centres, radii)


def test_screws_turn_with_the_shape() -> None:
    angle = torch.tensor(0.7).double()
    c, s = angle.cos(), angle.sin()
    turn = torch.stack([c, -s, 0 * c, s, c, 0 * c, 0 * c, 0 * c, 1 + 0 * c]).view(3, 3)
    before, after = _read(torch.eye(3).double()), _read(turn)
    whole = torch.block_diag(turn, turn)
    expected = before.frames[0, 0] @ whole.mT
    torch.testing.assert_close(after.frames[0, 0], expected)
    torch.testing.assert_close(after.gains, before.gains)
    assert (before.frames[0, 0] - expected).abs().max() > 0.1


def test_frames_are_orthonormal_and_tokens_without_a_part_stay_plain() -> None:
    found = _read(torch.eye(3).double())
    eye = torch.eye(6).double().expand(3, 6, 6)
    torch.testing.assert_close(found.frames[0] @ found.frames[0].mT, eye)
    torch.testing.assert_close(found.frames[0, 1:], eye[1:])
    assert (found.gains > 0).all()
    assert bool((found.gains[0, 1:] == 1).all())
    assert bool((found.mean[0, 1:] == 0).all())


def test_joints_keep_the_likeliest_screw_of_every_part() -> None:
    gains = torch.tensor([[1.0, 5, 2, 0, 0, 0], [9, 0, 0, 0, 0, 0], [0.5, 0, 0, 0, 0, 3]])
    basis = joints(gains, torch.tensor([20.0, 2.0, 10.0]), least=2.5)
    assert basis.shape == (18, 2)
    assert basis[1, 0] == 1
    assert basis[17, 1] == 1
    assert basis.sum() == 2
