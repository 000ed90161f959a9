"""Rollouts: long motions in windows, each starting where the one before ended."""

from dataclasses import replace

import numpy as np
import pytest

from kin4d.errors import InputError
from kin4d.world.rollout import imagine_rollout

pytest.importorskip("mujoco")


@pytest.fixture(scope="module")
def observation():
    from kin4d.tasks.record import EpisodeSpec, make_episode
    from kin4d.world.episode_observation import episode_observation

    return episode_observation(make_episode(EpisodeSpec(task="push", seed=1), frames=12))


class Counting:
    """A model that adds one to the first frame, frame by frame."""

    size, frames = (64, 96), 5

    def __init__(self):
        self.queried = []

    def imagine(self, observation, *, seed=None):
        self.queried.append(observation)
        steps = np.arange(len(observation)).reshape(-1, 1, 1, 1)
        rgb = (observation.image[None] + steps).astype(np.uint8)
        return replace(observation.robot, rgb=rgb, xyz=observation.xyz[None] + steps.astype("f4"))


def test_a_window_starts_with_the_last_frame_of_another(observation):
    model = Counting()
    start = replace(observation, image=np.zeros_like(observation.image))
    video = imagine_rollout(model, start)
    np.testing.assert_array_equal(video.rgb[:, 0, 0, 0], np.arange(12))
    assert [len(window) for window in model.queried] == [5, 5, 5]
    # The last window starts early enough to be complete.
    np.testing.assert_array_equal(model.queried[2].robot_points, observation.robot_points[7:12])
    np.testing.assert_array_equal(
        model.queried[2].gripper_opening, observation.gripper_opening[7:12]
    )
    np.testing.assert_array_equal(
        model.queried[2].ee_tracking_error, observation.ee_tracking_error[7:12]
    )
    assert model.queried[2].image[0, 0, 0] == 7


def test_one_window_is_predicted_at_once_and_too_few_frames_are_refused(observation):
    model = Counting()
    imagine_rollout(model, observation, window_frames=12)
    assert [len(window) for window in model.queried] == [12]
    with pytest.raises(InputError, match="at least 20"):
        imagine_rollout(model, observation, window_frames=20)
