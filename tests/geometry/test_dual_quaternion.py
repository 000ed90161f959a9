"""Dual quaternions: the same group as rigid matrices, and blends that stay rigid."""

from __future__ import annotations

import numpy as np
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from kin4d.geometry import dual_quaternion as dq
from kin4d.geometry.transforms import apply_rigid, rigid_inverse, se3_exp

TWISTS = arrays(np.float64, 6, elements=st.floats(-3, 3, allow_subnormal=False)).map(
    lambda twist: se3_exp(torch.from_numpy(twist))
)
CLOSE = {"atol": 1e-12, "rtol": 1e-12}


@settings(deadline=None)
@given(a=TWISTS, b=TWISTS)
def test_same_group_as_matrices(a, b):
    da, db = dq.dq_from_matrix(a), dq.dq_from_matrix(b)
    torch.testing.assert_close(dq.dq_to_matrix(da), a, **CLOSE)
    torch.testing.assert_close(dq.dq_to_matrix(dq.dq_multiply(da, db)), a @ b, **CLOSE)
    torch.testing.assert_close(dq.dq_to_matrix(dq.dq_inverse(da)), rigid_inverse(a), **CLOSE)
    nothing = dq.dq_multiply(da, dq.dq_inverse(da))
    torch.testing.assert_close(nothing, dq.dq_identity(), **CLOSE)
    points = torch.randn(4, 3, dtype=torch.float64)
    torch.testing.assert_close(dq.dq_apply(da, points), apply_rigid(a, points), **CLOSE)


@settings(deadline=None)
@given(numbers=arrays(np.float64, 8, elements=st.floats(-5, 5, allow_subnormal=False)))
def test_normalize_gives_unit_dual_quaternions_and_repeats_itself(numbers):
    unit = dq.dq_normalize(torch.from_numpy(numbers))
    real, dual = unit[:4], unit[4:]
    torch.testing.assert_close(real.norm(), torch.tensor(1.0).double(), **CLOSE)
    scale = 1 + dual.abs().max()
    assert (real @ dual).abs() <= 1e-12 * scale
    torch.testing.assert_close(dq.dq_normalize(unit), unit, atol=1e-12 * float(scale), rtol=1e-12)


@settings(deadline=None)
@given(a=TWISTS, b=TWISTS, share=st.floats(0, 1))
def test_blend_is_rigid_and_ignores_sign(a, b, share):
    pair = torch.stack([dq.dq_from_matrix(a), dq.dq_from_matrix(b)])
    weights = torch.tensor([share, 1 - share]).double()
    blend = dq.dq_to_matrix(dq.dq_blend(pair, weights))
    eye = torch.eye(3, dtype=torch.float64)
    torch.testing.assert_close(blend[:3, :3] @ blend[:3, :3].mT, eye, **CLOSE)
    same_side = pair[0, :4] @ pair[1, :4]
    if abs(same_side) > 1e-6:
        turned = dq.dq_to_matrix(dq.dq_blend(pair * torch.tensor([[1.0], [-1.0]]), weights))
        torch.testing.assert_close(turned, blend, **CLOSE)


def test_blend_of_one_and_of_equals_is_that_one():
    motion = dq.dq_from_matrix(se3_exp(torch.randn(5, 6, dtype=torch.float64)))
    alone = dq.dq_blend(motion[:, None], torch.ones(5, 1, dtype=torch.float64))
    thrice = dq.dq_blend(motion[:, None].expand(5, 3, 8), torch.rand(5, 3).double() + 0.1)
    for blend in (alone, thrice):
        torch.testing.assert_close(dq.dq_to_matrix(blend), dq.dq_to_matrix(motion), **CLOSE)


def test_blend_of_half_turns_keeps_length():
    # Blending matrices would shrink: the classic candy wrapper.
    quarter = se3_exp(torch.tensor([[0, 0, 0, 0, 0, 0], [0, 0, 0, 0, 0, 3.0]]).double())
    blend = dq.dq_blend(dq.dq_from_matrix(quarter), torch.tensor([0.5, 0.5]).double())
    moved = dq.dq_apply(blend, torch.tensor([1.0, 0, 0]).double())
    torch.testing.assert_close(moved, torch.tensor([np.cos(1.5), np.sin(1.5), 0]))


def test_gradients_at_no_motion():
    points = torch.randn(3, 3, dtype=torch.float64)

    def moved(twist):
        return dq.dq_apply(dq.dq_normalize(dq.dq_from_matrix(se3_exp(twist))), points)

    def blended(numbers):
        return dq.dq_blend(dq.dq_identity() + numbers, torch.full((2,), 0.5).double())

    assert torch.autograd.gradcheck(moved, torch.zeros(6).double().requires_grad_())
    assert torch.autograd.gradcheck(blended, torch.zeros(2, 8).double().requires_grad_())


def test_null_becomes_the_identity_rotation_with_finite_gradient():
    numbers = torch.zeros(8, dtype=torch.float64, requires_grad=True)
    unit = dq.dq_normalize(numbers)
    torch.testing.assert_close(unit, dq.dq_identity())
    unit.sum().backward()
    assert torch.isfinite(numbers.grad).all()


def test_batches_broadcast():
    motion = dq.dq_from_matrix(se3_exp(torch.randn(4, 1, 3, 6)))
    assert dq.dq_blend(motion, torch.rand(2, 3)).shape == (4, 2, 8)
    assert dq.dq_apply(motion, torch.randn(5, 1, 3)).shape == (4, 5, 3, 3)
