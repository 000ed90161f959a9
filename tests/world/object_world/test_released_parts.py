"""Parts that are let go of in the air fall to what is below them."""

import numpy as np
import pytest

from kin4d.world.object_world.dynamics_sample import DynamicsSample
from kin4d.world.object_world.released_parts import drop_released

T, SECONDS = 20, 0.05


def sample_of(parts: np.ndarray, *, opens: bool, known: bool = True) -> DynamicsSample:
    """A hand that carries the first part up from frame 2 on, and opens at frame 10."""
    opening = np.full(T, 0.4, np.float32)
    opening[:2] = 1.0
    if opens:
        opening[10:] = 0.9
    proprioception = np.full((T, 4), np.nan, np.float32)
    if known:
        proprioception[:, 0] = opening
    robot = np.zeros((T, 4, 3), np.float32)
    robot[:, :, 2] = carried(1)[:, 0, 2, 3][:, None] + 0.04
    if opens:
        robot[10:, :, 2] = 0.5
    return DynamicsSample(
        robot_points=robot,
        parts=parts.astype(np.float32),
        motions=np.zeros((T, len(parts), 3, 4), np.float32),
        others=np.zeros((1, 3), np.float32),
        owner=np.array([-1]),
        seconds=SECONDS,
        proprioception=proprioception,
    )


def box(x: float, z: float) -> np.ndarray:
    """[48, 3]: points of a cube with sides of 4 cm."""
    rng = np.random.default_rng(0)
    points = rng.uniform(-0.02, 0.02, (48, 3)) + np.array([x, 0, z + 0.02])
    points[:8, 2], points[8:16, 2] = z, z + 0.04
    return points


def carried(count: int, x: float = 0.0) -> np.ndarray:
    """[T, P, 3, 4]: the first part rises by 20 cm until frame 8 and is moved by x."""
    poses = np.tile(np.eye(3, 4), (T, count, 1, 1))
    poses[2:, 0, 2, 3] = np.minimum(np.arange(T - 2) / 6, 1) * 0.2
    poses[5:, 0, 0, 3] = x
    return poses


@pytest.mark.parametrize("known", [True, False])
def test_what_is_released_falls_freely_to_the_table(known: bool):
    poses = carried(1)
    fallen = drop_released(sample_of(box(0, 0)[None], opens=True, known=known), poses)
    np.testing.assert_array_equal(fallen[:10], poses[:10])
    height = fallen[:, 0, 2, 3]
    assert height[-1] == pytest.approx(0.0, abs=0.005)
    drops = -np.diff(height[9:14])
    assert (np.diff(drops[:3]) > 0).all()
    assert height[12] == pytest.approx(0.2 - 9.81 * SECONDS**2 * 6, abs=0.01)


def test_it_lands_on_the_part_below():
    parts = np.stack([box(0, 0), box(0.3, 0)])
    fallen = drop_released(sample_of(parts, opens=True), carried(2, x=0.3))
    assert fallen[-1, 0, 2, 3] == pytest.approx(0.04, abs=0.005)
    np.testing.assert_array_equal(fallen[:, 1], carried(2)[:, 1])


def test_what_is_held_or_hung_from_the_start_stays():
    held = carried(1)
    np.testing.assert_array_equal(
        drop_released(sample_of(box(0, 0)[None], opens=False), held), held
    )
    lid = sample_of(box(0, 0.3)[None], opens=True)
    np.testing.assert_array_equal(drop_released(lid, held), held)
