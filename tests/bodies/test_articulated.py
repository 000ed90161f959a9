"""Kinematics of trees: against plain matrix products, finite differences and autograd."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from scipy.spatial.transform import Rotation

from kin4d.bodies import ArticulatedBody, Joint, Link, Mimic
from kin4d.bodies.articulated_base import ArticulatedBodyBase, transform_points
from kin4d.errors import InputError
from kin4d.geometry.primitives import box

CUBE = box((0.1, 0.1, 0.1))


def random_q(body, *batch: int) -> torch.Tensor:
    generator = torch.Generator().manual_seed(0)
    return body.q0 + 0.7 * torch.randn(
        *batch, len(body.q0), generator=generator, dtype=torch.float64
    )


def plain_poses(body: ArticulatedBody, q: torch.Tensor) -> np.ndarray:
    """Forward kinematics written as one would on paper."""
    values = dict(zip((j.name for j in body.joints), body.joint_values(q).tolist(), strict=True))
    above = {joint.child: joint for joint in body.joints}
    poses: dict[str, np.ndarray] = {}
    for link in body.order:
        if link not in above:
            poses[link] = body.root
            continue
        joint, move = above[link], np.eye(4)
        if joint.kind == "revolute":
            move[:3, :3] = Rotation.from_rotvec(values[joint.name] * joint.axis).as_matrix()
        elif joint.kind == "prismatic":
            move[:3, 3] = values[joint.name] * joint.axis
        poses[link] = poses[joint.parent] @ joint.origin @ move
    return np.stack([poses[link.name] for link in body.links])


def test_link_poses_are_the_products_of_their_joints(branched, kin4d_arm) -> None:
    for body in (branched, kin4d_arm):
        q = random_q(body, 4, 3)
        poses = body.link_poses(q)
        assert poses.shape == (4, 3, len(body.links), 4, 4)
        expected = [[plain_poses(body, q[i, j]) for j in range(3)] for i in range(4)]
        assert np.allclose(poses.numpy(), expected, atol=1e-12)


def test_batches_of_any_shape_agree(branched) -> None:
    q = random_q(branched, 6)
    assert torch.equal(
        branched.link_poses(q.view(2, 3, -1)).view(6, -1, 4, 4), branched.link_poses(q)
    )
    assert torch.allclose(branched.link_poses(q[0]), branched.link_poses(q)[0], atol=1e-14)
    assert branched.link_poses(q[:0]).shape == (0, len(branched.links), 4, 4)


def test_single_precision_stays_single(branched) -> None:
    q = random_q(branched, 5)
    poses = branched.link_poses(q.float())
    assert poses.dtype == torch.float32
    assert torch.allclose(poses.double(), branched.link_poses(q), atol=1e-5)


def test_joints_follow_in_lines_and_curves(branched) -> None:
    q = random_q(branched)
    names = [joint.name for joint in branched.joints]
    values = dict(zip(names, branched.joint_values(q).tolist(), strict=True))
    a, e = (q[branched.coordinates.index(name)].item() for name in "ae")
    assert branched.coordinates == ("a", "b", "e")
    assert values["c"] == 0
    assert values["d"] == pytest.approx(-0.5 * a + 0.2)
    s = e / 2
    chebyshev = 0.1 + 0.4 * s + 0.2 * (2 * s**2 - 1) - 0.1 * (4 * s**3 - 3 * s)
    assert values["f"] == pytest.approx(chebyshev)


def test_closed_form_jacobians_equal_automatic_ones(branched, kin4d_arm) -> None:
    for body in (branched, kin4d_arm):
        q = random_q(body, 2, 3)
        exact = body.link_jacobian(q)
        assert exact.shape == (2, 3, len(body.links), 4, 4, len(body.coordinates))
        assert torch.allclose(exact, ArticulatedBodyBase.link_jacobian(body, q), atol=1e-12)
        points = torch.func.vmap(torch.func.jacfwd(body.points))(q[0])
        assert torch.allclose(body.jacobian(q[0]), points, atol=1e-12)


def test_point_jacobian_equals_finite_differences(branched) -> None:
    q = random_q(branched)
    links = torch.tensor([4, 6, 0])
    local = torch.tensor([[0.1, 0.2, 0.3], [0.0, -0.4, 0.1], [1.0, 1.0, 1.0]]).double()
    exact = branched.point_jacobian(q, links, local)
    step = 1e-6
    for i in range(len(q)):
        ends = []
        for sign in (1, -1):
            moved = q.clone()
            moved[i] += sign * step
            ends.append(transform_points(branched.link_poses(moved), links, local))
        assert torch.allclose(exact[..., i], (ends[0] - ends[1]) / (2 * step), atol=1e-8)


def test_gradients_flow_backward_and_through_vmap(kin4d_arm) -> None:
    q = random_q(kin4d_arm, 3).requires_grad_()
    kin4d_arm.vertices(q).square().sum().backward()
    assert torch.isfinite(q.grad).all()
    assert (q.grad != 0).any(0).all()
    with torch.no_grad():
        mapped = torch.func.vmap(kin4d_arm.link_poses)(q)
        assert torch.allclose(mapped, kin4d_arm.link_poses(q), atol=1e-14)
    assert torch.autograd.gradcheck(kin4d_arm.points, (q.detach()[0].requires_grad_(),))


def test_rest_is_where_the_vertices_are_at_q0(kin4d_arm, branched) -> None:
    for body in (kin4d_arm, branched):
        assert np.allclose(body.vertices(body.q0).numpy(), body.rest.vertices, atol=1e-12)
        identity = torch.eye(4, dtype=torch.float64).expand(len(body.links), 4, 4)
        assert torch.allclose(body.skin_transforms(body.q0), identity, atol=1e-12)


def test_skin_carries_vertices_like_the_links_do(kin4d_arm) -> None:
    q = random_q(kin4d_arm)
    moved = kin4d_arm.skin.apply(kin4d_arm.skin_transforms(q).numpy(), kin4d_arm.rest.vertices)
    assert np.allclose(moved, kin4d_arm.vertices(q).numpy(), atol=1e-12)


def test_rest_values_are_brought_within_limits() -> None:
    joint = Joint(name="j", kind="revolute", parent="a", child="b", limits=(0.5, 1.0))
    body = ArticulatedBody([Link("a", CUBE), Link("b", CUBE)], [joint])
    assert body.q0.tolist() == [0.5]
    with pytest.raises(InputError, match="no free joint 'x'"):
        ArticulatedBody([Link("a", CUBE), Link("b", CUBE)], [joint], q0={"x": 1.0})


def joined(*pairs: tuple[str, str], **options) -> list[Joint]:
    return [
        Joint(name=f"{parent}{child}", kind="revolute", parent=parent, child=child, **options)
        for parent, child in pairs
    ]


@pytest.mark.parametrize(
    ("joints", "message"),
    [
        ([], "2 root links"),
        (joined(("a", "b"), ("b", "a")), "form a cycle"),
        (joined(("a", "b"), ("a", "b")), "same name"),
        (joined(("a", "z")), "'z' which does not exist"),
    ],
)
def test_what_is_not_a_tree_is_refused(joints, message) -> None:
    with pytest.raises(InputError, match=message):
        ArticulatedBody([Link("a", CUBE), Link("b", CUBE)], joints)


def test_a_link_has_one_parent() -> None:
    with pytest.raises(InputError, match="two parents"):
        ArticulatedBody([Link(n, CUBE) for n in "abc"], joined(("a", "c"), ("b", "c")))


def test_a_body_needs_a_surface() -> None:
    with pytest.raises(InputError, match="no surface"):
        ArticulatedBody([Link("a")], [])


@pytest.mark.parametrize("leader", ["ab", "bc", "missing"])
def test_mimics_in_circles_or_of_missing_joints_are_refused(leader) -> None:
    first = joined(("a", "b"), mimic=Mimic.linear("bc"))
    second = joined(("b", "c"), mimic=Mimic.linear(leader))
    with pytest.raises(InputError, match="mimics"):
        ArticulatedBody([Link(n, CUBE) for n in "abc"], first + second)


def test_unknown_links_are_named_in_the_error(kin4d_arm) -> None:
    with pytest.raises(InputError, match=r"no link 'nose'.*Allowed: base, shoulder"):
        kin4d_arm.link_index("nose")
