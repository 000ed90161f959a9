"""The benchmark of episodes: its measures catch what they are meant to catch."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

pytest.importorskip("mujoco")

from kin4d.benchmarks import BENCHMARKS
from kin4d.benchmarks.episodes import background_drift, off_pixel, robot_iou
from kin4d.tasks.record import EpisodeSpec, make_episode


@pytest.fixture(scope="module")
def episode():
    return make_episode(EpisodeSpec(task="reach", seed=5), frames=5, height=32, width=48)


def test_good_episode_passes(episode) -> None:
    assert "episodes" in BENCHMARKS
    assert off_pixel(episode) < 0.01
    assert robot_iou(episode) >= 0.999
    assert background_drift(episode) == 0.0


def test_points_beside_their_pixels_are_seen(episode) -> None:
    xyz = episode.video.xyz + np.array([0.02, 0, 0], np.float32)
    assert off_pixel(replace(episode, video=replace(episode.video, xyz=xyz))) > 0.5


def test_robot_elsewhere_is_seen(episode) -> None:
    moved = episode.joints.copy()
    moved[:, 0] += 0.1
    assert robot_iou(replace(episode, joints=moved)) < 0.9


def test_drift_of_the_background_is_seen(episode) -> None:
    xyz = episode.video.xyz.copy()
    xyz[2] += 1e-4
    assert background_drift(replace(episode, video=replace(episode.video, xyz=xyz))) > 5e-5
