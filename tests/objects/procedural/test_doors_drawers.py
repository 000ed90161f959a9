"""Doors swing without touching what stands beside them, hoops without cutting what they carry."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kin4d.objects.procedural.assembly import ArticulatedObject
from kin4d.objects.procedural.builder import Builder
from kin4d.objects.procedural.doors_drawers import add_door
from kin4d.objects.procedural.hardware import bail

GREY = (200, 200, 200)


def opening_door(side: str, size: tuple[float, float, float], style: str) -> ArticulatedObject:
    """A leaf that fills a box from the origin to `size` (x, y, z), on a base far behind it."""
    make = Builder("test", np.random.default_rng(1))
    base = make.base(make.shapes.box((0, 5, 0), (1, 6, 1)))
    add_door(
        make, base, (0.0, 0.0, 0.0), size, side, GREY, GREY, style=style, grip="none", free=False
    )
    return make.build(mirror=False)


@given(
    st.sampled_from(["left", "right", "top", "bottom"]),
    st.tuples(st.floats(0.1, 1.0), st.floats(0.01, 0.07), st.floats(0.1, 1.0)),
    st.sampled_from(["slab", "rounded", "framed", "panelled", "louvred"]),
)
@settings(max_examples=60, deadline=None)
def test_a_door_stays_before_its_own_opening(
    side: str, size: tuple[float, float, float], style: str
) -> None:
    obj = opening_door(side, size, style)
    door = obj.vertices(np.linspace(*obj.limits[0], 60)[:, None])[:, obj.vertex_link == 1]
    axis = 0 if side in ("left", "right") else 2
    assert door[..., axis].min() > -3e-6
    assert door[..., axis].max() < size[axis] + 3e-6


def test_a_closed_door_is_little_narrower_than_its_opening() -> None:
    width, thick = 0.5, 0.04
    obj = opening_door("left", (width, thick, 0.6), "slab")
    assert np.ptp(obj.links[1].vertices[:, 0]) == pytest.approx(
        np.sqrt(width**2 - thick**2), abs=2e-6
    )
    assert np.ptp(obj.links[1].vertices[:, 2]) == pytest.approx(0.6, abs=2e-6)


def test_a_hoop_goes_straight_up_before_it_bends() -> None:
    make = Builder("test", np.random.default_rng(1))
    hoop = bail(make, 0.12, 0.15, 0.003, GREY, leg=0.05)
    x, _, z = hoop.vertices.T
    assert np.abs(x[z < 0.045]).min() > 0.1165
    assert z.max() == pytest.approx(0.153, abs=1e-3)
