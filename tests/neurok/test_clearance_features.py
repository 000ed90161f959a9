"""Moving a part along an axis tells whether it could go there."""

from __future__ import annotations

import torch

from kin4d.neurok.clearance_features import CLEARANCE_FEATURES, STEPS, clearance_features


def test_a_drawer_keeps_its_gap_only_along_its_walls() -> None:
    generator = torch.Generator().manual_seed(0)
    wall = torch.rand(400, 3, generator=generator) * torch.tensor([0.0, 1.0, 0.2])
    walls = torch.cat([wall, wall + torch.tensor([0.34, 0, 0])])
    side = 0.4 + torch.rand(40, 3, generator=generator) * torch.tensor([0.0, 0.2, 0.2])
    sides = torch.cat(
        [side * torch.tensor([0, 1, 0.5]) + torch.tensor([x, 0, 0]) for x in (0.02, 0.32)]
    )
    twists = torch.zeros(1, 2, 6)
    twists[0, 0, 0] = twists[0, 1, 1] = 1  # sideways, and along
    facts = clearance_features(
        twists, sides[None], walls[None], sides.mean(0)[None], torch.tensor([0.2])
    )
    assert facts.shape == (1, 2, CLEARANCE_FEATURES)
    change = facts[0].view(2, len(STEPS), 4)[..., 1]
    assert bool((change[1] < 0.5 * change[0]).all())


def test_missing_points_do_not_count() -> None:
    own = torch.tensor([[[0.0, 0, 0], [torch.nan] * 3]])
    rest = torch.tensor([[[0.0, 0, 0.1], [torch.nan] * 3]])
    twists = torch.eye(6)[None, 2:3]
    facts = clearance_features(twists, own, rest, torch.zeros(1, 3), torch.ones(1))
    alone = clearance_features(twists, own[:, :1], rest[:, :1], torch.zeros(1, 3), torch.ones(1))
    assert bool(torch.isfinite(facts).all())
    torch.testing.assert_close(facts, alone)


def test_a_part_alone_is_far_from_all() -> None:
    own, rest = torch.rand(1, 5, 3), torch.full((1, 4, 3), torch.nan)
    facts = clearance_features(torch.eye(6)[None], own, rest, own.mean(1), torch.ones(1))
    assert bool(torch.isfinite(facts).all())
    assert bool((facts.view(6, len(STEPS), 4)[..., 2] == 0).all())
