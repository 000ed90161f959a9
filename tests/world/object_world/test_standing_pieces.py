"""What stands on the support and the segmenter missed is found in depth."""

import numpy as np

from kin4d.world.object_world.segmentation import BACKGROUND
from kin4d.world.object_world.standing_pieces import add_standing_pieces, moving_points


def scene() -> tuple[np.ndarray, np.ndarray]:
    """A tabletop of 0.64 x 0.96 m, one pixel a centimetre, with two boxes and a wall."""
    v, u = np.indices((64, 96))
    xyz = np.stack([u * 0.01, v * 0.01, np.zeros((64, 96))], -1)
    boxes = np.full((64, 96), BACKGROUND)
    boxes[20:26, 30:36], boxes[40:46, 70:76] = 0, 1
    xyz[boxes >= 0, 2] = 0.05
    xyz[:2, :, 2] = 0.3
    return xyz, boxes


def test_missed_objects_in_reach_become_parts_and_furniture_does_not():
    xyz, boxes = scene()
    none = np.full_like(boxes, BACKGROUND)
    robot = np.zeros(boxes.shape, bool)
    path = np.array([[0.33, 0.23, 0.1], [0.5, 0.02, 0.3]])
    found = add_standing_pieces(none, xyz, robot, path)
    assert ((found != BACKGROUND) == (boxes == 0)).all()
    np.testing.assert_array_equal(add_standing_pieces(none, xyz, robot, path[:0]), none)


def test_the_rest_of_a_part_joins_it_and_other_parts_stay():
    xyz, boxes = scene()
    half = boxes.copy()
    half[20:22, 30:36] = BACKGROUND
    path = np.array([[0.33, 0.23, 0.1], [0.6, 0.3, 0.2]])
    found = add_standing_pieces(half, xyz, np.zeros(boxes.shape, bool), path)
    np.testing.assert_array_equal(found, boxes)


def test_parts_below_the_support_or_far_away_are_dropped_and_the_robot_is_none():
    xyz, boxes = scene()
    xyz[boxes == 1, 2] = -0.3
    robot = boxes == 0
    path = np.array([[0.33, 0.23, 0.1]])
    found = add_standing_pieces(np.where(robot, BACKGROUND, boxes), xyz, robot, path)
    assert (found == BACKGROUND).all()
    xyz[boxes == 1, 2] = 0.05
    near = add_standing_pieces(boxes, xyz, np.zeros(boxes.shape, bool), path)
    np.testing.assert_array_equal(near, np.where(boxes == 1, BACKGROUND, boxes))


def test_only_points_that_move_make_the_path():
    points = np.zeros((4, 3, 3))
    points[:, 1, 0] = [0, 0.1, 0.2, 0.3]
    np.testing.assert_allclose(moving_points(points), [[0, 0, 0], [0.2, 0, 0]])
