"""Scene control measured: our mechanics, the recorded poses and what the table says of them."""

from __future__ import annotations

import numpy as np
import pytest

pytest.importorskip("mujoco")

from kin4d.benchmarks.world.scene_control import (
    ARTICULATED,
    compare_controls,
    mechanics_clips,
    task_scene,
    true_clips,
)
from kin4d.episodes.episode import Episode
from kin4d.tasks.record import EpisodeSpec, make_episode
from kin4d.tasks.task import TASKS
from kin4d.world.episode_observation import episode_observation
from kin4d.world.model import load_world_model
from kin4d.world.object_world.model import ObjectWorldModel
from kin4d.world.scene_motion import scene_motion


@pytest.fixture(scope="module")
def episode() -> Episode:
    """A lid that is shut."""
    return make_episode(EpisodeSpec(task="close_lid", seed=922_500_000), frames=25)


def test_the_recorded_poses_give_the_recorded_parts(episode: Episode) -> None:
    assert episode.parts is not None
    observation = episode_observation(episode)
    motion = scene_motion(observation, true_clips(episode, task_scene(episode)))
    np.testing.assert_allclose(motion.motions, episode.parts.motions, atol=1e-5)
    # The pixels of both are those that the recording shows of the parts.
    recorded = episode.parts.mask[0].astype(int) - 2
    visible = recorded >= 0
    assert (motion.part[visible] == recorded[visible]).mean() > 0.97
    assert (motion.part[~visible] < 0).mean() > 0.99


def test_mechanics_shut_the_lid_without_seeing_the_truth(episode: Episode) -> None:
    scene = task_scene(episode)
    clips, whole = mechanics_clips(episode, scene)
    true = true_clips(episode, scene)
    assert whole
    assert len(clips) == len(true)
    moved = [np.abs(clip.vertices[-1] - clip.vertices[0]).max() for clip in true]
    part = int(np.argmax(moved))
    assert moved[part] > 0.05
    assert len(clips[part]) == len(episode)
    off = np.linalg.norm(clips[part].vertices - true[part].vertices, axis=-1).max(1)
    assert off[0] < 1e-5
    assert off[-1] < 0.2 * moved[part]


def test_the_table(episode: Episode) -> None:
    model = load_world_model("tiny")
    assert isinstance(model, ObjectWorldModel)
    report = compare_controls([episode], model)
    rows = {(row["episodes"], row["control"]): row for row in report.rows}
    assert {group for group, _ in rows} == {"all", "close_lid", "expert"}
    true = rows["all", "scene, true poses"]
    assert true["clips"] == 1
    assert true["displacement px"] < 2
    assert true["true way px"] > 2
    (check,) = report.checks
    ratio = report.ratios["object displacement error, scene of robot control"]
    assert check.value == pytest.approx(1 - ratio)
    assert not compare_controls([], model).rows
    assert set(ARTICULATED) < set(TASKS)
