"""Upright boxes: the smallest upright box, and rays through it."""

import numpy as np
import pytest

from kin4d.world.object_world.upright_box import UprightBox


@pytest.fixture
def turned():
    """Corners of a box 0.4 x 0.2 x 0.1 m, turned by 30 degrees, its centre at (1, 2, 0.3)."""
    corners = np.array(np.meshgrid([-0.2, 0.2], [-0.1, 0.1], [-0.05, 0.05])).reshape(3, -1).T
    cos, sin = np.cos(np.pi / 6), np.sin(np.pi / 6)
    return corners @ np.array([[cos, sin, 0], [-sin, cos, 0], [0, 0, 1]]) + [1.0, 2.0, 0.3]


def test_its_sides_follow_those_of_what_stands_there(turned):
    box = UprightBox.of(turned)
    np.testing.assert_allclose(box.centre, [1.0, 2.0, 0.3], atol=1e-12)
    np.testing.assert_allclose(np.sort(box.high - box.low), [0.1, 0.2, 0.4], atol=1e-9)
    assert box.aspect_ratio == pytest.approx(0.5)


def test_rays_enter_and_leave_through_its_sides(turned):
    box = UprightBox.of(turned)
    origin, direction = np.array([1.0, 2.0, 1.3]), np.array([[0, 0, -1.0], [1.0, 0, 0]])
    enter, leave, front, back = box.intersect_rays(origin, direction)
    np.testing.assert_allclose([enter[0], leave[0]], [0.95, 1.05])
    assert front[0] == back[0] == 2
    assert enter[1] == np.inf
    assert leave[1] == -np.inf
