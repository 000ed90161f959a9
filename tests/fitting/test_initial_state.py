"""Coordinates from points, as the paper starts its simulations."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from bending_bar import BendingBar

from kin4d.bodies.analytic import hinge
from kin4d.bodies.floating import FloatingBase
from kin4d.errors import InputError
from kin4d.fitting.initial_state import initial_state


def test_all_points_give_the_state_back() -> None:
    body = BendingBar(subdivisions=1)
    q = torch.tensor([0.5, -0.3, 0.2, 0.1], dtype=torch.float64)
    qd = torch.tensor([1.0, 2.0, -1.0, 0.5], dtype=torch.float64)
    x, v = torch.func.jvp(body.vertices, (q,), (qd,))
    found = initial_state(body, positions=x.numpy(), velocities=v.numpy())
    np.testing.assert_allclose(found.q, q, atol=1e-9)
    np.testing.assert_allclose(found.qd, qd, atol=1e-8)
    assert found.position_error < 1e-9


def test_some_points_suffice() -> None:
    body = FloatingBase(hinge())
    q = body.q0.clone()
    q[:3], q[5], q[6] = 1.0, 0.4, 0.7
    chosen = np.arange(0, len(body.rest.vertices), 7)
    x = body.vertices(q)[chosen].numpy()
    found = initial_state(body, positions=x, vertices=chosen)
    np.testing.assert_allclose(body.vertices(torch.from_numpy(found.q))[chosen], x, atol=1e-8)
    assert not found.qd.any()


def test_contradictions_are_named() -> None:
    body = hinge()
    with pytest.raises(InputError, match="vertex 3 is given twice"):
        initial_state(body, positions=np.eye(2, 3), vertices=np.array([3, 3]))
    with pytest.raises(InputError, match="contradict"):
        initial_state(body, positions=body.rest.vertices + 1.0, tolerance=0.01)
