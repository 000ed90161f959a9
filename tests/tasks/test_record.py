"""Episodes of tasks: whole, metric, reproducible, and kept in a store that can go on."""

from __future__ import annotations

import shutil

import numpy as np
import pytest

pytest.importorskip("mujoco")

from kin4d.benchmarks.episodes import background_drift, off_pixel, robot_iou
from kin4d.episodes.store import EpisodeStore
from kin4d.errors import InputError
from kin4d.geometry.decimate import decimate
from kin4d.geometry.primitives import sphere
from kin4d.tasks.generate import EpisodeDatasetSpec, generate_episodes
from kin4d.tasks.record import EpisodeSpec, make_episode


@pytest.fixture(scope="module")
def episode():
    return make_episode(EpisodeSpec(task="pick_and_place", seed=11))


def test_episode_is_whole(episode) -> None:
    assert episode.success
    assert len(episode) == 49
    assert episode.video.rgb.shape == (49, 64, 96, 3)
    assert np.isfinite(episode.video.xyz).all()
    assert episode.video.names[:2] == ("robot", "object")
    assert episode.language.startswith("put the ")
    assert episode.factors["background"].startswith("room")
    assert episode.robot_mask.mean() > 0.02


def test_what_matters_is_seen(episode) -> None:
    pixels = (episode.video.mask == 2).sum((1, 2))
    assert pixels[0] > 15
    assert (pixels > 0).mean() > 0.9


def test_geometry_is_metric_and_consistent(episode) -> None:
    assert off_pixel(episode) < 0.5
    assert robot_iou(episode) >= 0.999
    assert background_drift(episode) == 0.0


def test_actions_lead_through_the_frames(episode) -> None:
    assert np.array_equal(episode.actions.values[0], np.zeros(6))
    assert episode.actions.fps == pytest.approx(episode.fps)
    assert set(np.unique(episode.actions.gripper[[0, -1]])) == {1.0}


def test_same_take_same_pixels(episode) -> None:
    again = make_episode(EpisodeSpec(task="pick_and_place", seed=11))
    assert np.array_equal(again.video.rgb, episode.video.rgb)
    assert np.array_equal(again.video.xyz, episode.video.xyz)


def test_pair_shares_its_scene_and_differs_in_outcome() -> None:
    hit, miss = (
        make_episode(EpisodeSpec(task="lift", seed=21, variant=variant))
        for variant in ("near_hit", "near_miss")
    )
    assert hit.success
    assert not miss.success
    assert np.array_equal(hit.video.rgb[0], miss.video.rgb[0])
    assert np.linalg.norm(np.subtract(hit.meta["offset"], miss.meta["offset"])) < 4e-3


def test_plan_meets_every_task_with_every_arm() -> None:
    plan = EpisodeDatasetSpec(
        tasks=("lift", "push", "reach"), arms=("kin4d_arm", "panda"), count=120
    )
    cells = {(spec.task, spec.arm) for spec in plan.specs}
    assert len(cells) == 6
    assert len({(t.task, t.name) for t in plan.specs}) == 120
    variants = [spec.variant for spec in plan.specs]
    assert variants.count("expert") == 60
    assert variants.count("near_miss") == variants.count("near_hit") == 12
    pair = [spec.seed for spec in plan.specs if spec.variant in ("near_miss", "near_hit")][:2]
    assert pair[0] == pair[1]


def test_plan_of_pairs_has_one_scene_for_each() -> None:
    plan = EpisodeDatasetSpec(
        tasks=("lift", "push"), variants=("noisy", "near_miss", "near_hit"), count=12
    )
    assert [spec.variant for spec in plan.specs[:3]] == ["noisy", "near_miss", "near_hit"]
    assert [spec.seed for spec in plan.specs] == [0, 1, 1, 2, 3, 3, 4, 5, 5, 6, 7, 7]
    assert [spec.task for spec in plan.specs[::3]] == ["lift", "push", "lift", "push"]


def test_store_is_the_same_in_one_go_or_two(tmp_path) -> None:
    plan = EpisodeDatasetSpec(tasks=("reach",), count=4, per_shard=2, frames=9, height=32, width=48)
    whole = generate_episodes(plan, tmp_path / "whole")
    assert len(whole) == 4
    assert whole.verify() == []
    shutil.copytree(tmp_path / "whole", tmp_path / "cut")
    shutil.rmtree(tmp_path / "cut" / "shards" / "00000001")
    assert len(EpisodeStore.open(tmp_path / "cut")) == 2
    again = generate_episodes(plan, tmp_path / "cut")
    for index in range(4):
        one, other = whole.episode(index), again.episode(index)
        assert one.name == other.name
        assert np.array_equal(one.video.rgb, other.video.rgb)


def test_bad_plans_are_refused() -> None:
    with pytest.raises(InputError, match="count"):
        EpisodeDatasetSpec(count=0)
    with pytest.raises(InputError, match="no such task"):
        EpisodeDatasetSpec(tasks=("juggle",))
    with pytest.raises(InputError, match="expert, noisy"):
        EpisodeDatasetSpec(variants=("lucky",))
    with pytest.raises(InputError, match="variant"):
        EpisodeSpec(task="lift", variant="lucky")


def test_coarse_sphere_keeps_its_shape() -> None:
    ball = sphere(0.05, subdivisions=4)
    small = decimate(ball, 0.02)
    assert len(small.faces) < len(ball.faces) / 4
    assert np.abs(np.linalg.norm(small.vertices, axis=1) - 0.05).max() < 1e-6
    assert np.abs(small.bounds - ball.bounds).max() < 0.01
