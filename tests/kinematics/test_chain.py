from __future__ import annotations

import numpy as np
import pytest
import torch

from kin4d.bodies import pendulum, slider_chain
from kin4d.bodies.articulated import ArticulatedBody
from kin4d.bodies.articulated_base import Link
from kin4d.bodies.joint import Joint, Mimic
from kin4d.errors import InputError
from kin4d.geometry.primitives import box
from kin4d.geometry.transforms import matrix_to_rotvec
from kin4d.kinematics.chain import chain_fk, chain_to, pose_error


def random_q(body, rng, count: int) -> np.ndarray:
    lower, upper = body.limits.clamp(-np.pi, np.pi).T.numpy()
    return rng.uniform(lower, upper, (count, len(lower)))


def check_against_body(body, link: str, rng) -> None:
    chain = chain_to(body, link)
    index = body.link_index(link)
    pose, jacobian = np.empty((3, 4)), np.empty((6, len(chain.lower)))
    for q in random_q(body, rng, 20):
        chain_fk(chain, q[chain.coordinates], pose, jacobian)
        expected = body.link_poses(torch.tensor(q))[index].numpy()
        np.testing.assert_allclose(pose, expected[:3], atol=1e-12)
        slope = body.link_jacobian(torch.tensor(q))[index].numpy()[..., chain.coordinates]
        np.testing.assert_allclose(jacobian[:3], slope[:3, 3], atol=1e-12)
        # dR R^T is the skew matrix of the angular velocity.
        spin = np.einsum("ijk,lj->ilk", slope[:3, :3], expected[:3, :3])
        np.testing.assert_allclose(jacobian[3:], [spin[2, 1], spin[0, 2], spin[1, 0]], atol=1e-12)


def test_place_agrees_with_the_body(arm) -> None:
    rng = np.random.default_rng(0)
    check_against_body(arm, "tool", rng)
    check_against_body(arm, "right", rng)
    check_against_body(slider_chain(), "tray3", rng)
    check_against_body(pendulum(count=3), "rod3", rng)


def test_one_coordinate_may_drive_several_joints() -> None:
    links = [Link(f"l{i}", box((0.1, 0.1, 0.1))) for i in range(3)]
    origin = np.eye(4)
    origin[0, 3] = 0.3
    joints = [
        Joint(name="a", kind="revolute", parent="l0", child="l1", axis=np.array([0, 0, 1.0])),
        Joint(
            name="b",
            kind="revolute",
            parent="l1",
            child="l2",
            origin=origin,
            axis=np.array([0, 0, 1.0]),
            mimic=Mimic.linear("a", -0.5, 0.2),
        ),
    ]
    body = ArticulatedBody(links, joints)
    chain = chain_to(body, "l2")
    assert chain.columns.tolist() == [0, 0]
    assert chain.scales.tolist() == [1.0, -0.5]
    assert not chain.periodic[0]  # a whole turn of a is half a turn of b
    check_against_body(body, "l2", np.random.default_rng(0))
    curve = Mimic("a", (0.0, 1.0, 0.3), (-1.0, 1.0))
    curved = [joints[0], Joint(name="b", kind="revolute", parent="l1", child="l2", mimic=curve)]
    with pytest.raises(InputError, match="in a curve"):
        chain_to(ArticulatedBody(links, curved), "l2")


def test_only_joints_that_move_the_link_are_in_the_chain(arm) -> None:
    assert chain_to(arm).coordinates.tolist() == [0, 1, 2, 3, 4, 5, 6]
    assert chain_to(arm, "link3").coordinates.tolist() == [0, 1, 2]
    with pytest.raises(InputError, match=r"no joint of 'arm' moves link 'base'"):
        chain_to(arm, "base")
    with pytest.raises(InputError, match=r"no link 'hand'"):
        chain_to(arm, "hand")
    with pytest.raises(InputError, match="say which link"):
        chain_to(pendulum())


def test_pose_error_is_the_rotation_vector_even_at_half_turns() -> None:
    from scipy.spatial.transform import Rotation

    rng = np.random.default_rng(0)
    vectors = [*rng.normal(size=(50, 3)), np.zeros(3), *(np.pi - 1e-9) * np.eye(3)]
    error = np.empty(6)
    for vector in vectors:
        start, turn = Rotation.random(rng=rng), Rotation.from_rotvec(vector)
        pose, target = np.zeros((3, 4)), np.ones((3, 4))
        pose[:, :3], target[:, :3] = start.as_matrix(), (turn * start).as_matrix()
        pose_error(pose, target, error)
        np.testing.assert_allclose(error[:3], 1.0)
        np.testing.assert_allclose(error[3:], turn.as_rotvec(), atol=1e-7)
        ours = matrix_to_rotvec(torch.tensor(turn.as_matrix())).numpy()
        np.testing.assert_allclose(error[3:], ours, atol=1e-7)
