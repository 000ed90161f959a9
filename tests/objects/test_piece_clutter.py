"""Clutter moves with what carries it and leaves the rest as it was."""

from __future__ import annotations

import numpy as np

from kin4d.objects.piece_clutter import with_clutter
from kin4d.objects.piece_object import PieceObject
from kin4d.objects.procedural.categories import make_object


def test_clutter_lies_on_the_link_it_is_assigned_to() -> None:
    obj = PieceObject.of(make_object("laptop", 3), np.random.default_rng(0))
    before = len(obj.link)
    counts = set()
    for seed in range(20):
        found = with_clutter(obj, np.random.default_rng(seed))
        counts.add(len(found.link) - before)
        np.testing.assert_array_equal(found.link[:before], obj.link)
        np.testing.assert_array_equal(found.pieces.points[:before], obj.pieces.points)
        low, high = (np.full((3, 3), s) for s in (np.inf, -np.inf))
        for link in np.unique(obj.link):
            own = obj.pieces.supports[obj.link == link].reshape(-1, 3)
            low[link], high[link] = own.min(0), own.max(0)
        for points, link in zip(found.pieces.points[before:], found.link[before:], strict=True):
            assert (points.max(0) > low[link] - 0.05).all()
            assert (points.min(0) < high[link] + 0.05).all()
        assert np.isfinite(found.pieces.points).all()
        assert (found.pieces.area[before:] > 0).all()
    assert max(counts) > 20  # whole keyboards
