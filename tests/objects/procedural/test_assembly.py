"""The assembled object: its kinematics, mirror images and stretched copies."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kin4d.bodies.joint import Mimic
from kin4d.errors import InputError
from kin4d.objects.procedural.assembly import ArticulatedObject
from kin4d.objects.procedural.builder import Builder, side_by_side


def slider_on_hinge() -> ArticulatedObject:
    """A box, a box hinged to it about z at (1, 0, 0), and a box that slides along y on that."""
    make = Builder("test", np.random.default_rng(0))
    base = make.base(make.shapes.box((0, 0, 0), (1, 1, 1)))
    door = make.hinge("door", base, (1, 0, 0), (0, 0, 1), (-1.0, 2.0), rest=0.5)
    door.add(make.shapes.box((1.1, 0, 0), (2, 0.2, 1)))
    tray = make.slider("tray", door, (0, 2, 0), (0.0, 0.5), rest=0.1)
    tray.add(make.shapes.box((1.2, 0.3, 0), (1.8, 0.6, 0.4)))
    make.slider("echo", base, (0, 0, 1), (0.0, 1.0), mimic=(tray, 2.0)).add(
        make.shapes.box((-1, 0, 0), (-0.5, 1, 1))
    )
    return make.build(mirror=False)


def test_poses_follow_joints_and_mimics() -> None:
    obj = slider_on_hinge()
    assert [joint.name for joint in obj.free_joints] == ["door", "tray"]
    poses = obj.poses(np.array([[np.pi / 2, 0.25], [0.0, 0.0]]))
    assert poses.shape == (2, 4, 4, 4)
    # A quarter turn about the hinge takes x to y, so sliding along y goes to -x.
    np.testing.assert_allclose(poses[0, 1, :3, :3] @ [1, 0, 0], [0, 1, 0], atol=1e-12)
    np.testing.assert_allclose(poses[0, 1, :3, 3], [1, 0, 0], atol=1e-12)
    np.testing.assert_allclose(poses[0, 2, :3, :3], poses[0, 1, :3, :3])
    corner = obj.vertices(np.array([[np.pi / 2, 0.25]]))[0][obj.vertex_link == 2]
    np.testing.assert_allclose(corner.min(0), [1 - 0.6 - 0.25, 0.2, 0], atol=1e-6)
    np.testing.assert_allclose(poses[0, 3, :3, 3], [0, 0, 0.5], atol=1e-12)
    # Everything is drawn where it stands when the joints are at zero.
    at_zero = obj.vertices(np.zeros((1, 2)))[0]
    np.testing.assert_allclose(at_zero.min(0), [-1, 0, 0], atol=1e-6)
    np.testing.assert_allclose(at_zero.max(0), [2, 1, 1], atol=1e-6)


def test_body_has_the_mimic_too() -> None:
    import torch

    obj = slider_on_hinge()
    q = np.array([[0.3, 0.2]])
    np.testing.assert_allclose(
        obj.body().link_poses(torch.from_numpy(q)).numpy(), obj.poses(q), atol=1e-12
    )


@settings(max_examples=25, deadline=None)
@given(st.floats(-1, 2), st.floats(0, 0.5))
def test_mirror_image_moves_as_the_mirror_image(angle: float, slide: float) -> None:
    obj = slider_on_hinge()
    q = np.array([[angle, slide]])
    expected = obj.vertices(q) * (-1, 1, 1)
    np.testing.assert_allclose(obj.mirrored().vertices(q), expected, atol=1e-9)
    np.testing.assert_allclose(obj.mirrored().mirrored().vertices(q), obj.vertices(q), atol=1e-9)


def test_mirror_image_faces_outwards() -> None:
    def volume(obj: ArticulatedObject) -> float:
        a, b, c = (obj.links[0].vertices[obj.links[0].faces[:, i]] for i in range(3))
        return float(np.einsum("fi,fi->", a, np.cross(b, c)) / 6)

    obj = slider_on_hinge()
    assert volume(obj) == pytest.approx(1.0)
    assert volume(obj.mirrored()) == pytest.approx(1.0)


def test_stretched_copies_have_other_proportions_but_move_rigidly() -> None:
    obj = slider_on_hinge()
    scale = np.array([2.0, 0.5, 1.0])
    wide = obj.stretched(scale)
    np.testing.assert_allclose(
        wide.vertices(np.zeros((1, 2))), obj.vertices(np.zeros((1, 2))) * scale, atol=1e-9
    )
    # The slider's travel shrinks with its direction; the hinge's angles stay.
    np.testing.assert_allclose(wide.limits, [[-1, 2], [0, 0.25]])
    np.testing.assert_allclose(wide.q0, [0.5, 0.05])
    poses = wide.poses(np.array([[1.0, 0.1]]))[0, :, :3, :3]
    np.testing.assert_allclose(
        poses @ poses.transpose(0, 2, 1), np.tile(np.eye(3), (4, 1, 1)), atol=1e-12
    )
    full = wide.poses(wide.limits[:, 1][None])[0, 3, :3, 3]
    np.testing.assert_allclose(full, obj.poses(obj.limits[:, 1][None])[0, 3, :3, 3] * scale)


def test_stretching_refuses_turned_frames() -> None:
    obj = slider_on_hinge()
    turned = obj.joints[0].origin.copy()
    turned[:2, :2] = [[0, -1], [1, 0]]
    joints = (replace(obj.joints[0], origin=turned), *obj.joints[1:])
    with pytest.raises(InputError, match="aligned"):
        replace(obj, joints=joints).mirrored()


def test_wrong_coordinates_and_bad_mimics_are_named() -> None:
    obj = slider_on_hinge()
    with pytest.raises(InputError, match="shape"):
        obj.poses(np.zeros((1, 5)))
    curved = replace(obj.joints[2], mimic=Mimic("tray", (0.0, 1.0, 0.5)))
    with pytest.raises(InputError, match="straight line"):
        replace(obj, joints=(*obj.joints[:2], curved)).poses(np.zeros((1, 2)))


def test_links_of_one_name_are_numbered() -> None:
    make = Builder("test", np.random.default_rng(0))
    base = make.base(make.shapes.box((0, 0, 0), (1, 1, 1)))
    for _ in range(3):
        make.slider("drawer", base, (0, -1, 0), (0, 1)).add(make.shapes.box((0, -1, 0), (1, 0, 1)))
    names = [link.name for link in make.build().links]
    assert names == ["base", "drawer", "drawer_2", "drawer_3"]


def test_side_by_side_fills_the_interval() -> None:
    spans = side_by_side(1.0, 4.0, 3, 0.3)
    assert spans[0][0] == pytest.approx(1.0)
    assert spans[-1][1] == pytest.approx(4.0)
    assert spans[1][0] - spans[0][1] == pytest.approx(0.3)
