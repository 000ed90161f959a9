"""Forty-nine frames of any recording: which ones, and what was commanded between them."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from made_episode import made_episode

from kin4d.episodes.timing import (
    check_times,
    pick_actions,
    pick_frames,
    resample_episode,
    uniform_frames,
)
from kin4d.errors import InputError
from kin4d.kinematics.actions import Actions, integrate
from kin4d.kinematics.conventions import values_to_poses


@given(count=st.integers(2, 300), frames=st.integers(2, 80))
def test_frames_are_spread_evenly(count: int, frames: int) -> None:
    index = uniform_frames(np.arange(count) / 15, frames)
    assert len(index) == frames
    assert (index[0], index[-1]) == (0, count - 1)
    wanted = np.linspace(0, count - 1, frames)
    assert (np.diff(index) >= 0).all()
    assert np.abs(index - wanted).max() <= 0.5 + 1e-6


def test_uneven_frames_are_taken_by_their_times() -> None:
    times = np.array([0.0, 0.1, 0.2, 0.3, 0.7, 1.0])
    assert uniform_frames(times, 6).tolist() == [0, 2, 3, 4, 4, 5]


@pytest.mark.parametrize(
    ("times", "message"),
    [
        ([0.0], "too few frames"),
        ([0.0, 0.1, 0.1, 0.2], "frame 2 is not after frame 1"),
        ([0.0, 0.1, np.nan, 0.3], "do not grow"),
        ([0.0, 0.1, 0.2, 0.3, 5.0], r"missing between 0.300 s and 5.000 s.*cut the recording"),
    ],
)
def test_times_that_make_no_episode(times: list[float], message: str) -> None:
    with pytest.raises(InputError, match=message):
        check_times(np.array(times))


def test_long_episodes_lose_frames_and_short_ones_repeat_them() -> None:
    long = resample_episode(made_episode(frames=97))
    assert len(long) == 49
    assert long.fps == pytest.approx(5.0)
    assert long.flags == ()
    np.testing.assert_array_equal(long.video.rgb, made_episode(frames=97).video.rgb[::2])
    np.testing.assert_array_equal(long.joints, made_episode(frames=97).joints[::2])
    short = resample_episode(made_episode(frames=25))
    assert len(short) == 49
    assert short.flags == ("stretched",)
    assert short.fps == pytest.approx(20.0)
    same = made_episode()
    assert resample_episode(same) is same


def test_changes_add_up_over_frames_left_out() -> None:
    rng = np.random.default_rng(0)
    index = np.array([0, 3, 3, 4, 9])
    deltas = Actions(kind="joint_delta", values=rng.normal(size=(10, 3)), fps=10.0)
    picked = pick_actions(deltas, index, fps=5.0)
    np.testing.assert_allclose(picked.values.cumsum(0), deltas.values.cumsum(0)[index])
    np.testing.assert_allclose(picked.values[2], 0, atol=1e-12)
    for frame in ("base", "tool"):
        values = rng.normal(size=(10, 6)) * 0.3
        deltas = Actions(kind="pose_delta", values=values, fps=10.0, frame=frame)
        picked = pick_actions(deltas, index, fps=5.0)
        start = values_to_poses(rng.normal(size=(1, 6)), "rotvec")[0]
        whole = integrate(values_to_poses(values, "rotvec"), start, frame=frame)
        part = integrate(values_to_poses(picked.values, "rotvec"), start, frame=frame)
        np.testing.assert_allclose(part, whole[index], atol=1e-9)
        assert picked.fps == 5.0


def test_picking_keeps_what_was_commanded() -> None:
    episode = made_episode(frames=97)
    gripper = np.linspace(0, 1, 97)
    episode = replace(episode, actions=replace(episode.actions, gripper=gripper))
    picked = pick_frames(episode, np.arange(0, 97, 8), fps=2.0)
    np.testing.assert_array_equal(picked.actions.gripper, gripper[::8])
    np.testing.assert_array_equal(picked.actions.values, episode.actions.values[::8])
