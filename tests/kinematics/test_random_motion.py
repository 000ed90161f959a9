"""Random walks stay within what a body can do."""

from __future__ import annotations

import pytest
import torch

from kin4d.bodies import hinge, slider_chain
from kin4d.errors import InputError
from kin4d.kinematics.random_motion import random_motion


def test_a_walk_starts_at_rest_and_keeps_to_the_limits() -> None:
    body = slider_chain()
    way = random_motion(body, 3, frames=10, seed=4)
    assert way.shape == (30, len(body.q0))
    assert ((way >= body.limits[:, 0]) & (way <= body.limits[:, 1])).all()
    assert (way[0] - body.q0).abs().max() < 0.1 * (way[9] - body.q0).abs().max()
    assert torch.equal(way, random_motion(body, 3, frames=10, seed=4))
    assert not torch.equal(way, random_motion(body, 3, frames=10, seed=5))


def test_a_walk_needs_states() -> None:
    with pytest.raises(InputError):
        random_motion(hinge(), 0)
