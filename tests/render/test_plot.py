from __future__ import annotations

import numpy as np

from kin4d.render.plot import plot_lines


def test_lines_are_drawn_where_they_belong() -> None:
    times = np.linspace(0, 1, 50)
    picture = plot_lines(times, {"flat": np.full(50, 2.0), "rising": times}, title="t", unit="J")
    assert picture.shape == (480, 900, 3)
    teal = (abs(picture.astype(int) - [0x0F, 0x76, 0x6E]).sum(-1) < 60)[40:430, 100:870]
    rows = np.flatnonzero(teal.any(1))
    assert np.ptp(rows) < 10  # a flat line


def test_what_is_not_finite_is_left_out() -> None:
    times = np.linspace(0, 1, 5)
    assert plot_lines(times, {"gap": np.array([0, np.nan, 1, np.inf, 2.0])}).any()
    assert plot_lines(np.zeros(1), {"one": np.zeros(1)}).any()
