"""A rollout that goes on from where it stopped is the one that is imagined at once."""

from functools import cache

import numpy as np
import pytest
import torch

from kin4d.world.model import load_world_model
from kin4d.world.object_world.dynamics import DynamicsConfig, PartDynamics
from kin4d.world.object_world.part_rollout import continue_rollout, rollout_parts
from kin4d.world.observation import Observation

pytest.importorskip("mujoco")


@cache
def lifting() -> Observation:
    from kin4d.tasks.record import EpisodeSpec, make_episode
    from kin4d.world.episode_observation import episode_observation

    return episode_observation(make_episode(EpisodeSpec(task="lift", seed=920_000_000), frames=25))


def piece(observation: Observation, start: int, end: int) -> Observation:
    """The first frame, the last one known before `start`, and those up to `end`."""
    return observation.slice_frames(np.r_[0, start - 1, start:end])


def test_the_state_of_parts_is_all_that_is_carried() -> None:
    torch.manual_seed(0)
    dynamics = PartDynamics(DynamicsConfig(width=16, memory=16)).eval()
    torch.nn.init.normal_(dynamics.decide[-1].weight, std=0.3)
    robot, parts = torch.randn(9, 40, 3) * 0.1, torch.randn(2, 48, 3) * 0.02
    others, owner = torch.randn(60, 3) * 0.1, torch.randint(-1, 2, (60,))
    sensed = torch.full((9, 4), torch.nan)
    for seed in (None, 3):
        first, second = (
            None if seed is None else torch.Generator().manual_seed(seed) for _ in range(2)
        )
        whole = rollout_parts(dynamics, robot, parts, others, owner, sensed, 0.1, first)
        assert not torch.allclose(whole[0], whole[-1])
        state, poses = None, []
        for rows in (slice(0, 2), slice(1, 6), slice(5, 9)):
            found, state = continue_rollout(
                dynamics, robot[rows], parts, others, owner, sensed[rows], 0.1, second, state
            )
            poses.append(found[1:])
        torch.testing.assert_close(torch.cat(poses), whole[1:], atol=1e-6, rtol=1e-5)


def test_in_one_piece_it_is_what_is_imagined_at_once() -> None:
    model, observation = load_world_model("tiny"), lifting()
    video, motion = model.imagine_parts(observation)
    again, parts = model.begin_rollout(observation).advance(piece(observation, 1, 25))
    np.testing.assert_allclose(parts.motions, motion.motions[1:], atol=1e-6)
    np.testing.assert_array_equal(parts.part, motion.part)
    np.testing.assert_array_equal(again.rgb, video.rgb[1:])
    np.testing.assert_allclose(again.xyz, video.xyz[1:], atol=1e-6)
    np.testing.assert_array_equal(again.mask, video.mask[1:])


@pytest.mark.parametrize("step", [1, 8])
def test_in_pieces_the_object_goes_to_the_same_place(step: int) -> None:
    model, observation = load_world_model("tiny"), lifting()
    video, motion = model.imagine_parts(observation)
    lifted = np.linalg.norm(motion.motions[-1, :, :3, 3], axis=-1).argmax()
    rollout = model.begin_rollout(observation)
    for start in range(1, 25, step):
        again, parts = rollout.advance(piece(observation, start, min(start + step, 25)))
    # Other points of the same surface are looked at while less of the robot's way is known.
    points = observation.xyz[(motion.part == lifted) & np.isfinite(observation.xyz).all(-1)]
    ends = [one[-1, lifted] for one in (motion.motions, parts.motions)]
    expected, found = (points @ pose[:3, :3].T + pose[:3, 3] for pose in ends)
    way = np.linalg.norm(expected - points, axis=-1).mean()
    assert way > 0.06
    assert np.linalg.norm(found - expected, axis=-1).mean() < 0.1 * way
    seen = np.abs(again.rgb[-1].astype(int) - video.rgb[-1]).mean()
    assert seen < 2.0  # of 255


def test_a_scene_without_parts_stays_as_it_is() -> None:
    model, observation = load_world_model("tiny"), lifting()
    model.segmentation.predict = lambda features: np.full(features.shape[-2:], -1)
    video, parts = model.begin_rollout(observation).advance(piece(observation, 1, 4))
    assert parts.motions.shape[1] == 0
    assert len(video) == 3
