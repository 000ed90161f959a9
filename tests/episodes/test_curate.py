"""Episodes that would teach something wrong are left out, each for a stated reason."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from made_episode import made_episode

from kin4d.episodes.curate import QualityFilter, RejectedEpisode, check_episode
from kin4d.episodes.importer import import_episodes
from kin4d.episodes.preview import episode_preview, episode_statistics
from kin4d.episodes.recording import CameraStream, Recording
from kin4d.episodes.splits import (
    EPISODE_SPLITS,
    HELD_OUT,
    check_episode_split,
    episode_split,
)
from kin4d.errors import InputError


def changed(**arrays):
    episode = made_episode(0)
    return replace(episode, video=replace(episode.video, **arrays))


def reason(episode, **rules) -> str:
    with pytest.raises(RejectedEpisode) as caught:
        check_episode(episode, QualityFilter(**rules))
    return caught.value.reason


def test_a_good_episode_passes() -> None:
    check_episode(made_episode(0))


def test_each_reason() -> None:
    video = made_episode(0).video
    assert reason(made_episode(frames=25)) == "wrong length"
    check_episode(made_episode(frames=25), QualityFilter(frames=0))
    mask = video.mask.copy()
    mask[30:] = 0
    assert reason(changed(mask=mask)) == "robot out of view"
    still = {name: np.repeat(getattr(video, name)[:1], 49, 0) for name in ("rgb", "xyz", "mask")}
    static = replace(made_episode(0), video=replace(video, **still), joints=None, joint_names=())
    assert reason(static) == "static clip"
    holes = video.xyz.copy()
    holes[3][video.mask[3] > 0] = np.nan
    assert reason(changed(xyz=holes)) == "broken depth"
    assert reason(changed(xyz=video.xyz * 100)) == "broken depth"
    shifted = video.xyz + np.array([0.1, 0, 0], np.float32)
    assert reason(changed(xyz=shifted)) == "broken depth"
    assert reason(changed(xyz=np.full_like(video.xyz, np.nan))) == "broken depth"
    assert reason(made_episode(0), min_seen=1.1) == "broken depth"


class Mixed:
    """A layout of episodes of which some are bad."""

    def __len__(self) -> int:
        return 7

    def read(self, index: int):
        if index == 2:
            raise InputError("cannot be read")
        if index == 3:
            raise InputError("joints hold NaN or infinite values")
        if index == 4:
            return changed(mask=np.zeros_like(made_episode(0).video.mask))
        return made_episode(index, frames=60 if index == 5 else 49)


def test_rejects_are_counted_and_the_rest_is_stored(tmp_path: Path) -> None:
    store = import_episodes(Mixed(), tmp_path / "s", source="mixed", per_shard=3)
    assert [who.name for who in store.identities] == ["000000", "000001", "000005", "000006"]
    assert store.reasons == {"unreadable": 1, "NaN joints": 1, "robot out of view": 1}
    assert {len(store.episode(i)) for i in range(4)} == {49}
    again = import_episodes(Mixed(), tmp_path / "s", source="mixed", per_shard=3)
    assert len(again) == 4
    with pytest.raises(InputError, match="another source"):
        import_episodes(Mixed(), tmp_path / "s", source="other", per_shard=3)
    found = episode_statistics(store)
    assert (found["episodes"], found["dropped"], found["robots"]) == (4, 3, {"kin4d_arm": 4})
    assert sum(found["splits"].values()) == 4
    chosen = [number for split in EPISODE_SPLITS for number in store.numbers(split)]
    assert sorted(chosen) == store.numbers() == [0, 1, 2, 3]


def test_a_missing_camera_is_said_before_all_is_rejected(tmp_path: Path) -> None:
    class Silent:
        def __len__(self) -> int:
            return 3

        def read(self, index: int) -> Recording:
            view = CameraStream.of(made_episode(0).video.rgb, fps=10.0)
            return Recording(name=str(index), motions={}, views={"main": view}, robot="panda")

    with pytest.raises(InputError, match=r"missing calibration.*kin4d calibrate panda"):
        import_episodes(Silent(), tmp_path / "s", source="silent")
    assert not (tmp_path / "s").exists()


def line(seed: int, *, task: str = "lift", robot: str = "kin4d_arm", **factors: str):
    return {"source": "kin4d", "task": task, "robot": robot, "seed": seed, "factors": factors}


def test_splits_are_stable_and_have_their_shares() -> None:
    counts = Counter(episode_split(line(seed)) for seed in range(4000))
    assert set(counts) == {"train", "val", "test"}
    assert 50 < counts["val"] < 115
    assert 50 < counts["test"] < 115
    # These must never change: a store that was trained on is trained on for ever.
    assert [episode_split(line(seed)) for seed in (0, 1, 2, 3)] == ["train"] * 4
    first = {split: [seed for seed in range(60) if episode_split(line(seed)) == split][:1]
             for split in ("val", "test")}  # fmt: skip
    assert first == {"val": [15], "test": [27]}


def test_what_is_held_out_is_never_trained_on() -> None:
    assert episode_split(line(0, robot=next(iter(HELD_OUT["arm"])))) == "unseen_arm"
    assert episode_split(line(0, task=next(iter(HELD_OUT["task"])))) == "unseen_task"
    assert episode_split(line(0, object="bottle")) == "unseen_object"
    rooms = Counter(episode_split(line(0, background=str(i))) for i in range(500))
    assert 50 < rooms["unseen_background"] < 110
    assert set(rooms) <= set(EPISODE_SPLITS)
    ours = [i for i in range(48) if episode_split(line(0, background=f"room{i:02d}")) != "train"]
    assert ours == [3, 14, 37, 41, 47]
    with pytest.raises(InputError, match="no such split"):
        check_episode_split("dev")


def test_a_sheet_shows_colour_bodies_and_depth() -> None:
    sheet = episode_preview([made_episode(0), made_episode(1)], shown=3, tile=48)
    assert sheet.shape == (64, 5 * 48, 3)
    np.testing.assert_array_equal(sheet[:32, 3:48], made_episode(0).video.rgb[0][:, 3:])
    assert (sheet[32:, :3] == (60, 190, 90)).all()
    assert (sheet[:32, :3] == (220, 60, 60)).all()
