"""Chains: long motions in stretches, each begun where the one before ended."""

from dataclasses import replace

import numpy as np
import pytest

from kin4d.errors import InputError
from kin4d.world.rollout import imagine_rollout

pytest.importorskip("mujoco")


@pytest.fixture(scope="module")
def situation():
    from kin4d.tasks.record import EpisodeSpec, make_episode
    from kin4d.world.object_world.batches import episode_observation

    return episode_observation(make_episode(EpisodeSpec(task="push", seed=1), frames=12))


class Counting:
    """A world that adds one to the first frame, frame by frame."""

    size, frames = (64, 96), 5

    def __init__(self):
        self.asked = []

    def imagine(self, situation, *, seed=None):
        self.asked.append(situation)
        steps = np.arange(len(situation)).reshape(-1, 1, 1, 1)
        rgb = (situation.image[None] + steps).astype(np.uint8)
        return replace(situation.robot, rgb=rgb, xyz=situation.xyz[None] + steps.astype("f4"))


def test_a_stretch_begins_with_the_last_frame_of_another(situation):
    world = Counting()
    start = replace(situation, image=np.zeros_like(situation.image))
    video = imagine_rollout(world, start)
    np.testing.assert_array_equal(video.rgb[:, 0, 0, 0], np.arange(12))
    assert [len(one) for one in world.asked] == [5, 5, 5]
    # The last stretch begins early enough to be whole.
    np.testing.assert_array_equal(world.asked[2].track, situation.track[7:12])
    np.testing.assert_array_equal(world.asked[2].opening, situation.opening[7:12])
    np.testing.assert_array_equal(world.asked[2].lag, situation.lag[7:12])
    assert world.asked[2].image[0, 0, 0] == 7


def test_what_fits_is_imagined_at_once_and_what_is_too_short_refused(situation):
    world = Counting()
    imagine_rollout(world, situation, length=12)
    assert [len(one) for one in world.asked] == [12]
    with pytest.raises(InputError, match="at least 20"):
        imagine_rollout(world, situation, length=20)
