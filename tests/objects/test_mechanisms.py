"""Random mechanisms: sound, varied, the same for the same seed."""

from __future__ import annotations

import numpy as np
import pytest

from kin4d.objects.mechanisms import MECHANISM, mechanism_source, random_mechanism
from kin4d.objects.piece_object import PieceObject

SEEDS = range(40)


@pytest.fixture(scope="module")
def mechanisms():
    return [random_mechanism(np.random.default_rng(seed)) for seed in SEEDS]


def test_every_joint_moves_surface_within_its_limits(mechanisms) -> None:
    for obj in mechanisms:
        low, high = obj.limits.T
        assert (low < high).all()
        assert (low <= obj.q0).all()
        assert (obj.q0 <= high).all()
        for row in range(len(obj.q0)):
            states = np.tile(obj.q0, (2, 1))
            states[:, row] = low[row], (low[row] + high[row]) / 2
            one, other = obj.vertices(states)
            assert np.abs(one - other).max() > 1e-4, (obj.category, row)


def test_what_moves_touches_what_carries_it(mechanisms) -> None:
    """At zero, boxes of a link and of its parent, a little larger, meet."""
    for obj in mechanisms:
        placed = obj.vertices(np.zeros((1, len(obj.q0))))[0]
        link = obj.vertex_link
        for child, parent in enumerate(obj.parents):
            if parent < 0 or not (link == parent).any():
                continue
            low, high = placed[link == child].min(0), placed[link == child].max(0)
            other = placed[link == parent]
            gap = np.maximum(low - other.max(0), other.min(0) - high).max()
            assert gap < 0.02, (obj.links[child].name, gap)


def test_kinds_are_mixed_and_joints_nest(mechanisms) -> None:
    kinds = {joint.kind for obj in mechanisms for joint in obj.joints}
    assert kinds == {"revolute", "prismatic"}
    assert any(parent > 0 for obj in mechanisms for parent in obj.parents)
    assert len({len(obj.joints) for obj in mechanisms}) > 4


def test_a_seed_makes_the_same_object_and_pieces() -> None:
    source = mechanism_source()
    one, other = source.make(MECHANISM, 7), source.make(MECHANISM, 7)
    np.testing.assert_array_equal(one.object.vertices(one.object.q0[None]),
                                  other.object.vertices(other.object.q0[None]))  # fmt: skip
    assert source.identity(MECHANISM, 7).licence == "Apache-2.0"
    pieces = PieceObject.of(one.object, np.random.default_rng(0))
    assert len(pieces.joints) == len(one.object.joints)
