"""Measures of world models: right on clips whose figures are known beforehand."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from pushed_block import FRAMES, pushed_block

from kin4d.benchmarks.world.baselines import true_motion_baseline
from kin4d.benchmarks.world.image_metrics import (
    BEST,
    cells_of,
    fitted_codec,
    latent_map,
    psnr,
    sharpness,
    ssim_map,
)
from kin4d.benchmarks.world.metrics import WorldMetrics, average
from kin4d.benchmarks.world.optical_flow import flow_cosine, part_flow, pixel_flow
from kin4d.benchmarks.world.point_metrics import NEAR, point_error, temporal_point_error
from kin4d.benchmarks.world.regions import (
    composited,
    copied,
    evaluated_frames,
    moving_parts,
    moving_region,
    part_mask,
    part_path,
)
from kin4d.geometry.distance import chamfer_l1, chamfer_l2, f_score


@pytest.fixture(scope="module")
def metrics() -> WorldMetrics:
    return WorldMetrics(pushed_block())


def test_psnr_of_a_known_error_and_of_none() -> None:
    truth = np.full((3, 4, 4, 3), 100, np.uint8)
    predicted = truth.copy()
    predicted[1:, :2] += 51  # a fifth of the range
    upper = np.zeros((3, 4, 4), bool)
    upper[:, :2] = True
    assert psnr(truth, predicted, upper) == pytest.approx(-20 * np.log10(0.2))
    assert psnr(truth, predicted, ~upper) == BEST
    assert np.isnan(psnr(truth, predicted, np.zeros_like(upper)))
    predicted[0] = 0  # the first frame is not judged
    assert psnr(truth, predicted, ~upper) == BEST


def test_blur_lowers_ssim_and_sharpness() -> None:
    from scipy.ndimage import gaussian_filter

    truth = np.random.default_rng(0).integers(0, 256, (2, 24, 24, 3)).astype(np.uint8)
    soft = gaussian_filter(truth.astype(float), (0, 1.5, 1.5, 0)).astype(np.uint8)
    everywhere = np.ones(truth.shape[:3], bool)
    assert np.allclose(ssim_map(truth, truth), 1, atol=1e-5)
    assert ssim_map(truth, soft).mean() < 0.6
    assert sharpness(truth, truth, everywhere) == pytest.approx(1)
    assert sharpness(truth, soft, everywhere) < 0.2


def test_latents_differ_where_pixels_do() -> None:
    rng = np.random.default_rng(0)
    clips = rng.integers(0, 256, (4, 9, 16, 16, 3)).astype(np.uint8)
    codec = fitted_codec(clips, channels=24)
    predicted = clips[0].copy()
    predicted[5:, 8:, 8:] = 0
    far = latent_map(codec, clips[0], predicted)
    where = np.zeros((9, 16, 16), bool)
    where[5:, 8:, 8:] = True
    assert far.shape == (3, 2, 2)
    assert ((far > 0) == (cells_of(where) > 0)).all()


def test_points_are_compared_as_geometry_does() -> None:
    rng = np.random.default_rng(0)
    truth, predicted = rng.normal(0, 0.02, (2, 5, 6, 7, 3)).astype(np.float32)
    where = rng.random((5, 6, 7)) < 0.7
    found = point_error(truth, predicted, where)
    pairs = [(truth[t][where[t]], predicted[t][where[t]]) for t in evaluated_frames(5)]
    assert found.cd_l1 == pytest.approx(np.mean([chamfer_l1(*pair) for pair in pairs]))
    assert found.cd_l2 == pytest.approx(np.mean([chamfer_l2(*pair) for pair in pairs]))
    assert found.f_score == pytest.approx(np.mean([f_score(*p, threshold=NEAR) for p in pairs]))


def test_temporal_figures_count_still_pixels_once_each() -> None:
    truth = np.zeros((2, 4, 4, 3), np.float32)
    predicted = truth.copy()
    predicted[1, 0, 0, 2] = 0.16  # one pixel of sixteen moves and should not
    found = temporal_point_error(truth, predicted, np.ones((2, 4, 4), bool))
    assert found.cd_l1 == pytest.approx(0.16 / 16 / 2)
    # The truth is all near; of what is predicted, fifteen of sixteen are.
    assert found.f_score == pytest.approx(2 * 15 / 31)
    predicted[1, 0, 0] = np.nan
    assert temporal_point_error(truth, predicted, np.ones((2, 4, 4), bool)).cd_l1 == 0


def test_composite_shows_the_robot_and_nothing_that_moves(metrics: WorldMetrics) -> None:
    truth, observation = metrics.episode.video, metrics.observation
    composite, copy = composited(observation), copied(observation)
    assert (composite.rgb[0] == truth.rgb[0]).all()
    assert (copy.rgb == truth.rgb[0]).all()
    robot = composite.mask[-1] == 1
    assert robot.any()
    assert (composite.rgb[-1][robot] == observation.robot.rgb[-1][robot]).all()
    where = moving_region(truth, composite)
    assert not where[0].any()
    assert not (where & (truth.mask == 1)).any()
    # Where the block has come from and gone to, the composite is wrong.
    assert where[-1, 22:26, 5:10].any()
    assert where[-1, 22:26, 24:28].any()


def test_hidden_robot_is_not_composited(metrics: WorldMetrics) -> None:
    near = replace(metrics.observation, xyz=metrics.observation.xyz * np.float32(0.01))
    assert not composited(near).mask[1:].any()


def test_paths_of_parts_are_exact(metrics: WorldMetrics) -> None:
    assert moving_parts(metrics.episode) == [0]
    path = part_path(metrics.episode, 0)
    assert np.allclose(path - path[0], [[2 * t, 0] for t in range(FRAMES)], atol=1e-3)
    assert moving_parts(pushed_block(speed=0)) == []


def test_truth_is_perfect_and_copies_are_as_far_off_as_things_went(metrics: WorldMetrics) -> None:
    truth = metrics.score(metrics.episode.video)
    assert truth["PSNR"] == truth["PSNR moving"] == truth["PSNR things"] == BEST
    assert truth["off"] == truth["off last"] == truth["lost"] == 0
    assert truth["IoU"] == 1
    assert truth["CD-L1"] == truth["CD-L1 moving temporal"] == 0
    assert truth["sharpness"] == pytest.approx(1)
    copy = metrics.things(copied(metrics.observation))
    assert copy["off last"] == pytest.approx(2 * (FRAMES - 1), abs=1e-3)
    assert copy["off"] == pytest.approx(copy["way"])
    assert copy["IoU"] < 0.3


def test_touched_pixels_are_where_the_block_is_or_was(metrics: WorldMetrics) -> None:
    touched, moving = metrics.regions[" touched"], metrics.regions[" moving"]
    first, now = (part_mask(metrics.episode, 0)[t] for t in (0, -1))
    assert (touched[-1] == (moving[-1] & (first | now))).all()
    assert touched[-1].any()


def test_stage_with_true_motions_comes_near_the_truth(metrics: WorldMetrics) -> None:
    score = metrics.score(true_motion_baseline(metrics.episode)(metrics.observation))
    composite = metrics.score(composited(metrics.observation))
    assert score["off last"] < 1
    assert score["PSNR moving"] > composite["PSNR moving"] + 5
    assert score["CD-L1 moving"] < composite["CD-L1 moving"] / 2


@pytest.mark.parametrize("late", [2, 4])
def test_parts_are_found_where_they_were_put(metrics: WorldMetrics, late: int) -> None:
    frames = np.maximum(np.arange(FRAMES) - late, 0)
    predicted = true_motion_baseline(metrics.episode, frames)(metrics.observation)
    tracker = metrics.trackers[0]
    found = tracker.find(predicted, FRAMES - 1)
    assert np.linalg.norm(found.centre - tracker.paths[0][frames[-1]]) < 1
    assert not found.lost


def test_a_part_that_vanished_counts_as_left_behind(metrics: WorldMetrics) -> None:
    tracker, video = metrics.trackers[0], metrics.episode.video
    empty = pushed_block(speed=0).video
    gone = np.where(part_mask(pushed_block(speed=0), 0)[..., None], 0, 1)
    rgb = np.where(gone, empty.rgb, np.array([90, 110, 100], np.uint8)).astype(np.uint8)
    wall = (2.0 * video.camera.rays()).astype(np.float32)
    xyz = np.where(gone, empty.xyz, wall).astype(np.float32)
    found = tracker.find(replace(video, rgb=rgb, xyz=xyz), FRAMES - 1)
    assert found.lost
    assert (found.centre == tracker.paths[0][0]).all()


def test_flow_follows_a_sliding_texture(metrics: WorldMetrics) -> None:
    rng = np.random.default_rng(0)
    wide = rng.integers(0, 256, (32, 80, 3)).astype(np.uint8)
    rgb = np.stack([wide[:, 30 - t : 78 - t] for t in range(FRAMES)])
    video = replace(metrics.episode.video, rgb=rgb, mask=np.zeros(rgb.shape[:3], np.uint8))
    flow = pixel_flow(video, 8)
    assert (flow[8:-8, 8:-12] == (4, 0)).all()


def test_flow_of_things_agrees_with_their_motions() -> None:
    episode, still = pushed_block(speed=1), pushed_block(speed=0)
    flow, seen = part_flow(episode, 8)
    assert seen.any()
    assert np.allclose(flow[seen], (4, 0), atol=1e-3)
    everywhere = np.ones(episode.video.mask.shape, bool)
    assert flow_cosine(episode, episode.video, everywhere) > 0.8
    assert abs(flow_cosine(episode, still.video, everywhere)) < 0.2
    assert np.isnan(flow_cosine(still, episode.video, everywhere))


def test_average_passes_over_what_is_not_there() -> None:
    scores = [{"a": 1.0}, {"a": float("nan")}, {"b": 2.0}, {"a": 3.0}]
    assert average(scores, "a") == 2
    assert np.isnan(average(scores, "c"))
