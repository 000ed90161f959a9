"""Compositor: parts at their true pose, inpainted background, estimated light."""

import numpy as np
import pytest

from kin4d.world.object_world.compositor.compositor import (
    Compositor,
    parts_that_moved,
    pyramid_inpaint,
)

pytest.importorskip("mujoco")


@pytest.fixture(scope="module")
def scene():
    """An episode, its observation, and the parts of its first frame."""
    from kin4d.tasks.record import EpisodeSpec, make_episode
    from kin4d.world.episode_observation import episode_observation

    episode = make_episode(EpisodeSpec(task="push", seed=12), frames=9)
    part = np.maximum(episode.parts.mask[0].astype(int) - 2, -1)
    return episode, episode_observation(episode), part


def test_without_moving_parts_the_first_frame_is_unchanged(scene):
    episode, observation, part = scene
    frame = Compositor(observation, part, np.array([], int)).render(0, np.zeros((0, 4, 4)))
    same = ~frame.robot & ~frame.guessed
    off = np.abs(frame.rgb[same].astype(int) - episode.video.rgb[0][same])
    assert np.percentile(off, 99) <= 2
    np.testing.assert_allclose(frame.xyz[same], episode.video.xyz[0][same], atol=1e-4)


def test_parts_are_rendered_at_their_true_pose(scene):
    episode, observation, part = scene
    motions = episode.parts.motions
    moving = parts_that_moved(observation.xyz, part, motions)
    assert len(moving) >= 1
    frame = Compositor(observation, part, moving).render(8, motions[8][moving])
    true = np.isin(episode.parts.mask[8], moving + 2)
    overlap = (frame.moved & true).sum() / (frame.moved | true).sum()
    assert overlap > 0.6
    both = frame.moved & true
    assert np.median(np.abs(frame.xyz[both] - episode.video.xyz[8][both])) < 0.004


def test_composites_with_true_motion_beat_the_first_frame(scene):
    episode, observation, part = scene
    moving = parts_that_moved(observation.xyz, part, episode.parts.motions)
    compositor = Compositor(observation, part, moving)
    true, first = (episode.video.rgb[t].astype(float) for t in (8, 0))
    frame = compositor.render(8, episode.parts.motions[8][moving]).rgb.astype(float)
    changed = (np.abs(true - first).max(-1) > 12) & (episode.video.mask[8] != 1)
    assert ((frame - true)[changed] ** 2).mean() < 0.3 * ((first - true)[changed] ** 2).mean()


def test_light_is_estimated_from_the_shadow_of_the_robot(scene):
    from kin4d.tasks.task import TASKS

    _, observation, part = scene
    key = TASKS["push"].build(12).room.lights.key
    light = Compositor(observation, part, np.array([], int)).light
    assert light.shadow_strength > 0.1
    assert np.degrees(np.arccos(np.clip(light.direction @ key, -1, 1))) < 6


def test_holes_are_filled_smoothly():
    ramp = np.linspace(0, 1, 20, dtype=np.float32)[None, :, None].repeat(12, 0)
    known = np.ones((12, 20), bool)
    known[3:9, 8:12] = False
    filled = pyramid_inpaint(np.where(known[..., None], ramp, 9.0), known)
    np.testing.assert_array_equal(filled[known], ramp[known])
    assert np.abs(filled - ramp).max() < 0.15
    assert np.isfinite(
        pyramid_inpaint(np.full((4, 4, 1), np.nan, np.float32), np.zeros((4, 4), bool))
    ).all()
