"""Rotations and rigid transforms: group axioms, agreement with scipy, gradients at zero."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy.spatial.transform import Rotation

from kin4d.geometry import transforms as tf


def vectors(size: int, bound: float):
    return arrays(np.float64, size, elements=st.floats(-bound, bound, allow_subnormal=False)).map(
        torch.from_numpy
    )


AXES = torch.from_numpy(
    np.array([[1, 0, 0], [0, -1, 0], [0.6, 0, 0.8], [1 / 3, 2 / 3, -2 / 3]], np.float64)
)
ANGLES = [0.0, 1e-300, 1e-12, 1e-8, 1e-4, 3.1e-3, 3.2e-3, 0.1, 1.0, 3.0]
NEAR_PI = [np.pi - 1e-3, np.pi - 1e-7, np.pi - 1e-12, np.pi]


@pytest.mark.parametrize("angle", ANGLES + NEAR_PI)
def test_agrees_with_scipy(angle):
    rotvec = AXES * angle
    expected = Rotation.from_rotvec(rotvec.numpy())
    np.testing.assert_allclose(tf.rotvec_to_matrix(rotvec), expected.as_matrix(), atol=1e-15)
    wxyz = expected.as_quat()[:, [3, 0, 1, 2]]
    np.testing.assert_allclose(tf.rotvec_to_quaternion(rotvec), wxyz, atol=1e-15)
    np.testing.assert_allclose(
        tf.quaternion_to_matrix(torch.from_numpy(wxyz)), expected.as_matrix(), atol=1e-15
    )


@pytest.mark.parametrize("angle", ANGLES + NEAR_PI[:-1])
def test_log_inverts_exp_to_rounding(angle):
    rotvec = AXES * angle
    # Entries of a matrix are known to 1e-16; an axis near pi is found from their differences.
    through_matrix = tf.matrix_to_rotvec(tf.rotvec_to_matrix(rotvec))
    np.testing.assert_allclose(through_matrix, rotvec, rtol=1e-13, atol=2e-15)
    through_quaternion = tf.quaternion_to_rotvec(tf.rotvec_to_quaternion(rotvec))
    np.testing.assert_allclose(through_quaternion, rotvec, rtol=1e-14, atol=1e-300)


def test_log_at_pi_names_the_same_rotation():
    rotvec = tf.matrix_to_rotvec(tf.rotvec_to_matrix(AXES * np.pi))
    np.testing.assert_allclose(rotvec.norm(dim=-1), np.pi, rtol=1e-14)
    np.testing.assert_allclose(
        tf.rotvec_to_matrix(rotvec), tf.rotvec_to_matrix(AXES * np.pi), atol=1e-14
    )


@settings(deadline=None)
@given(a=vectors(3, 3), b=vectors(3, 3), c=vectors(3, 3))
def test_rotations_form_a_group(a, b, c):
    a, b, c = (tf.rotvec_to_matrix(v) for v in (a, b, c))
    eye = torch.eye(3, dtype=torch.float64)
    torch.testing.assert_close(a @ a.mT, eye, atol=1e-14, rtol=0)
    torch.testing.assert_close(torch.linalg.det(a), torch.tensor(1.0).double())
    torch.testing.assert_close((a @ b) @ c, a @ (b @ c), atol=1e-14, rtol=0)
    qa, qb = tf.matrix_to_quaternion(a), tf.matrix_to_quaternion(b)
    product = tf.quaternion_to_matrix(tf.quaternion_multiply(qa, qb))
    torch.testing.assert_close(product, a @ b, atol=1e-13, rtol=0)
    inverse = tf.quaternion_multiply(qa, tf.quaternion_conjugate(qa))
    torch.testing.assert_close(inverse, torch.eye(1, 4).double()[0], atol=1e-14, rtol=0)
    assert qa[0] >= 0


@settings(deadline=None)
@given(a=vectors(6, 1.7), b=vectors(6, 1.7), p=vectors(3, 10))
def test_rigid_motions_form_a_group(a, b, p):
    ta, tb = tf.se3_exp(a), tf.se3_exp(b)
    eye = torch.eye(4, dtype=torch.float64)
    torch.testing.assert_close(ta @ tf.rigid_inverse(ta), eye, atol=1e-13, rtol=0)
    torch.testing.assert_close(tf.se3_log(ta), a, atol=1e-12, rtol=1e-12)
    one, two = tf.apply_rigid(ta @ tb, p[None]), tf.apply_rigid(ta, tf.apply_rigid(tb, p[None]))
    torch.testing.assert_close(one, two, atol=1e-12, rtol=1e-12)
    turned = tf.quaternion_rotate(tf.matrix_to_quaternion(ta[:3, :3]), p)
    torch.testing.assert_close(turned, ta[:3, :3] @ p, atol=1e-12, rtol=1e-12)


@pytest.mark.parametrize("angle", [0.0, 1e-12, 1e-6, 3.1e-3, 3.2e-3, 1.0, 3.1])
def test_se3_exp_is_the_matrix_exponential(angle):
    v = torch.tensor([0.3, -2.0, 1.0]).double().expand(len(AXES), 3)
    generator = torch.zeros(len(AXES), 4, 4).double()
    generator[:, :3, :3], generator[:, :3, 3] = tf.hat(AXES * angle), v
    expected = torch.linalg.matrix_exp(generator)
    twist = torch.cat([v, AXES * angle], -1)
    np.testing.assert_allclose(tf.se3_exp(twist), expected, atol=2e-14)
    np.testing.assert_allclose(tf.se3_log(tf.se3_exp(twist)), twist, atol=2e-12)


@pytest.mark.parametrize("scale", [0.0, 1e-9, 1e-4, 3.2e-3, 0.5])
@pytest.mark.parametrize(
    "function",
    [
        tf.rotvec_to_matrix,
        tf.rotvec_to_quaternion,
        lambda w: tf.matrix_to_rotvec(tf.rotvec_to_matrix(w)),
        lambda w: tf.quaternion_to_rotvec(tf.rotvec_to_quaternion(w)),
        lambda w: tf.se3_exp(torch.cat([w.flip(-1) + 1, w], -1)),
        lambda w: tf.se3_log(tf.se3_exp(torch.cat([w.flip(-1) + 1, w], -1))),
    ],
)
def test_gradients_at_and_near_zero(function, scale):
    rotvec = (torch.tensor([[0.2, -0.5, 0.7], [0.0, 0.0, 1.0]]).double() * scale).requires_grad_()
    assert torch.autograd.gradcheck(function, rotvec, atol=1e-6)
    assert torch.isfinite(
        torch.autograd.functional.hessian(lambda w: function(w).sum(), rotvec)
    ).all()


def test_derivative_of_exp_at_zero_is_hat():
    at_zero = torch.zeros(3, dtype=torch.float64)
    jacobian = torch.autograd.functional.jacobian(tf.rotvec_to_matrix, at_zero)
    torch.testing.assert_close(jacobian.movedim(-1, 0), tf.hat(torch.eye(3).double()))


def test_single_precision_stays_close():
    rng = np.random.default_rng(0)
    rotvec = torch.from_numpy(rng.normal(size=(500, 3)) * np.logspace(-6, 0, 500)[:, None])
    single = tf.matrix_to_rotvec(tf.rotvec_to_matrix(rotvec.float()))
    assert single.dtype == torch.float32
    expected = torch.from_numpy(Rotation.from_rotvec(rotvec.numpy()).as_rotvec())
    torch.testing.assert_close(single.double(), expected, atol=2e-6, rtol=0)


def test_batches_of_any_shape():
    twist = torch.randn(2, 1, 5, 6, dtype=torch.float64)
    assert tf.se3_exp(twist).shape == (2, 1, 5, 4, 4)
    assert tf.se3_log(tf.se3_exp(twist)).shape == twist.shape
    moved = tf.apply_rigid(tf.se3_exp(twist), torch.zeros(7, 3, dtype=torch.float64))
    assert moved.shape == (2, 1, 5, 7, 3)
    assert tf.quaternion_rotate(torch.randn(5, 1, 4), torch.randn(3, 3)).shape == (5, 3, 3)
