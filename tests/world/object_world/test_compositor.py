"""Stages: layers that land where geometry says, backdrops that are filled, light that is found."""

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
    """An episode, its situation, and the parts of its first frame."""
    from kin4d.tasks.record import EpisodeSpec, make_episode
    from kin4d.world.object_world.batches import episode_observation

    episode = make_episode(EpisodeSpec(task="push", seed=12), frames=9)
    part = np.maximum(episode.parts.mask[0].astype(int) - 2, -1)
    return episode, episode_observation(episode), part


def test_nothing_that_moves_leaves_the_first_frame_as_it_is(scene):
    episode, situation, part = scene
    shown = Compositor(situation, part, np.array([], int)).show(0, np.zeros((0, 4, 4)))
    same = ~shown.robot & ~shown.guessed
    off = np.abs(shown.rgb[same].astype(int) - episode.video.rgb[0][same])
    assert np.percentile(off, 99) <= 2
    np.testing.assert_allclose(shown.xyz[same], episode.video.xyz[0][same], atol=1e-4)


def test_parts_land_where_they_truly_went(scene):
    episode, situation, part = scene
    motions = episode.parts.motions
    moving = parts_that_moved(situation.xyz, part, motions)
    assert len(moving) >= 1
    shown = Compositor(situation, part, moving).show(8, motions[8][moving])
    true = np.isin(episode.parts.mask[8], moving + 2)
    overlap = (shown.moved & true).sum() / (shown.moved | true).sum()
    assert overlap > 0.6
    both = shown.moved & true
    assert np.median(np.abs(shown.xyz[both] - episode.video.xyz[8][both])) < 0.004


def test_a_stage_with_true_motions_beats_the_first_frame_by_far(scene):
    episode, situation, part = scene
    moving = parts_that_moved(situation.xyz, part, episode.parts.motions)
    stage = Compositor(situation, part, moving)
    true, first = (episode.video.rgb[t].astype(float) for t in (8, 0))
    shown = stage.show(8, episode.parts.motions[8][moving]).rgb.astype(float)
    changed = (np.abs(true - first).max(-1) > 12) & (episode.video.mask[8] != 1)
    assert ((shown - true)[changed] ** 2).mean() < 0.3 * ((first - true)[changed] ** 2).mean()


def test_light_is_found_by_the_shadow_of_the_robot(scene):
    from kin4d.tasks.task import TASKS

    _, situation, part = scene
    key = TASKS["push"].build(12).room.lights.key
    light = Compositor(situation, part, np.array([], int)).light
    assert light.power > 0.1
    assert np.degrees(np.arccos(np.clip(light.key @ key, -1, 1))) < 6


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
