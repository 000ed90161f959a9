"""Joints and how they follow each other."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.polynomial import chebyshev

from kin4d.bodies import Joint, Mimic
from kin4d.bodies.joint_coupling import resolve_mimics
from kin4d.errors import InputError

number = st.floats(-3, 3)
slope = st.floats(0.1, 3) | st.floats(-3, -0.1)


def value(mimic: Mimic, leader: float) -> float:
    low, high = mimic.domain
    return chebyshev.chebval((2 * leader - low - high) / (high - low), mimic.coefficients)


@given(slope, number, slope, number, number)
def test_line_after_line(m1, b1, m2, b2, x) -> None:
    both = Mimic.linear("b", m2, b2).after(Mimic.linear("a", m1, b1))
    assert both.leader == "a"
    assert value(both, x) == pytest.approx(m2 * (m1 * x + b1) + b2, abs=1e-9)


@given(slope, number, st.lists(number, min_size=3, max_size=6), number)
def test_curve_after_line_and_line_after_curve(m, b, coefficients, x) -> None:
    curve = Mimic("b", coefficients, (-1.0, 2.0))
    line = Mimic.linear("a", m, b)
    reach = (1 + np.abs(coefficients).sum()) * 20**5
    assert value(curve.after(line), x) == pytest.approx(value(curve, m * x + b), abs=1e-9 * reach)
    turned = Mimic.linear("c", m, b).after(curve)
    assert value(turned, x) == pytest.approx(m * value(curve, x) + b, abs=1e-9 * reach)


def test_curve_after_curve_is_refused() -> None:
    curve = Mimic("a", [0, 1, 1])
    with pytest.raises(InputError, match="in a curve"):
        curve.after(curve)


def test_a_joint_that_follows_a_fixed_one_stays_put() -> None:
    joints = [
        Joint(name="still", kind="fixed", parent="a", child="b"),
        Joint(
            name="j", kind="revolute", parent="b", child="c", mimic=Mimic.linear("still", 2.0, 0.7)
        ),
    ]
    found = resolve_mimics("body", joints, {})
    assert found.coefficients[1].tolist() == [0.7, 0.0]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"kind": "helical"}, "unknown type"),
        ({"axis": [0, 0, 0]}, "axis without direction"),
        ({"axis": [np.nan, 0, 0]}, "axis without direction"),
        ({"limits": (np.nan, 1.0)}, "impossible limits"),
        ({"limits": (1.0, 0.0)}, "impossible limits"),
        ({"origin": np.full((4, 4), np.inf)}, "origin"),
    ],
)
def test_impossible_joints_are_refused(options, message) -> None:
    with pytest.raises(InputError, match=message):
        Joint(**{"name": "j", "kind": "revolute", "parent": "a", "child": "b", **options})


@pytest.mark.parametrize("coefficients", [[1.0], [np.nan, 1.0], [[1.0, 2.0]]])
def test_impossible_functions_are_refused(coefficients) -> None:
    with pytest.raises(InputError, match="coefficients"):
        Mimic("a", coefficients)
    with pytest.raises(InputError, match="domain"):
        Mimic("a", [0, 1], (1.0, 1.0))
