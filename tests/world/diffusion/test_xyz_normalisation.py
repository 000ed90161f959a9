"""Metric geometry survives normalisation, and the future has no say in it."""

from __future__ import annotations

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from kin4d.errors import InputError
from kin4d.world.diffusion.xyz_normalisation import find_bounds, from_unit, to_unit

NAN = float("nan")


def scene(seed: int, far: float = 1.0) -> tuple[torch.Tensor, torch.Tensor]:
    generator = torch.Generator().manual_seed(seed)
    low, high = torch.tensor([-0.4, -0.3, 0.5]), torch.tensor([0.5, 0.3, 1.5])
    first = torch.rand(2, 3, 8, 8, generator=generator) * (high - low).view(3, 1, 1)
    first = (first + low.view(3, 1, 1)) * far
    robot = torch.full((2, 3, 5, 8, 8), NAN)
    robot[:, :, :, 2:4, 2:4] = first[:, :, None, 2:4, 2:4] * 1.1
    return first, robot


@settings(max_examples=25, deadline=None)
@given(st.integers(0, 2**16), st.floats(0.1, 20))
def test_what_is_within_bounds_comes_back(seed: int, far: float) -> None:
    first, robot = scene(seed, far)
    bounds = find_bounds(first, robot)
    hidden = torch.rand(robot[:, :1].shape, generator=torch.Generator().manual_seed(seed)) < 0.3
    seen = torch.where(hidden, torch.full_like(robot, NAN), robot)
    back = from_unit(to_unit(seen, bounds), bounds)
    assert torch.equal(back.isnan(), seen.isnan())
    torch.testing.assert_close(back, seen, atol=1e-5 * far, rtol=1e-5, equal_nan=True)


def test_seen_points_are_never_mistaken_for_unseen_ones() -> None:
    first, robot = scene(0)
    bounds = find_bounds(first, robot)
    wild = torch.randn(2, 3, 5, 8, 8) * 50
    unit = to_unit(wild, bounds)
    assert float(unit.abs().max()) <= 1
    assert not from_unit(unit, bounds).isnan().any()


def test_strays_do_not_set_the_scale() -> None:
    first, robot = scene(1)
    first = torch.nn.functional.interpolate(first, size=(32, 32))
    usual = find_bounds(first, robot).scale
    first[:, :, 0, 0] = 1e3
    torch.testing.assert_close(find_bounds(first, robot).scale, usual, rtol=0.1, atol=0)


def test_an_error_has_a_size_in_metres() -> None:
    bounds = find_bounds(*scene(2))
    point = torch.zeros(2, 3, 1)
    moved = from_unit(point + 0.01, bounds) - from_unit(point, bounds)
    expected = (0.01 * bounds.scale / 0.8).view(2, 1, 1).expand_as(moved)
    torch.testing.assert_close(moved, expected, rtol=1e-3, atol=0)


def test_nothing_known_is_refused() -> None:
    with pytest.raises(InputError, match="neither"):
        find_bounds(torch.full((1, 3, 4, 4), NAN), torch.full((1, 3, 5, 4, 4), NAN))
