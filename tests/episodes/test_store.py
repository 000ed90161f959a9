"""Episodes come back from disk as they were, to within the stated error."""

from __future__ import annotations

import pickle
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from made_episode import CAMERA, made_episode

from kin4d.episodes.compression import (
    decode_frames,
    decode_points,
    encode_frames,
    encode_points,
)
from kin4d.episodes.store import EpisodeStore, episode_record
from kin4d.errors import InputError
from kin4d.kinematics.actions import Actions
from kin4d.objects.sequence_store import SequenceStore
from kin4d.storage.shard import rejected_lines
from kin4d.storage.store import StoreWriter


@given(
    st.integers(0, 2**32),
    st.sampled_from(["uint8", "uint16"]),
    st.integers(1, 5),
    st.integers(0, 4),
)
def test_frames_lose_nothing(seed: int, dtype: str, frames: int, width: int) -> None:
    rng = np.random.default_rng(seed)
    array = rng.integers(0, np.iinfo(dtype).max, (frames, 3, width), dtype, endpoint=True)
    back = decode_frames(encode_frames(array), array.shape, dtype)
    assert back.dtype == dtype
    np.testing.assert_array_equal(back, array)


def test_points_on_rays_are_kept_as_depth() -> None:
    xyz = made_episode().video.xyz.copy()
    xyz[:, :3] = np.nan
    levels, scale = encode_points(xyz, CAMERA)
    assert scale["form"] == "depth"
    assert levels.shape == (49, 32, 48)
    back = decode_points(levels, scale, CAMERA)
    assert (np.isnan(back) == np.isnan(xyz)).all()
    assert np.nanmax(np.abs(back[..., 2] - xyz[..., 2])) <= 0.51 * scale["step"]
    assert scale["step"] < 4e-5
    # What stands still does so exactly, and every point projects to its own pixel.
    still = (xyz == xyz[:1]).all(0)
    assert (back[:, still] == back[:1, still]).all()
    pixels = (back.astype(np.float64) @ CAMERA.K.T)[..., :2] / back[..., 2:]
    grid = np.stack(np.meshgrid(np.arange(48), np.arange(32)), -1)
    assert np.nanmax(np.abs(pixels - grid)) < 1e-3


def test_points_off_their_rays_keep_all_three_numbers() -> None:
    xyz = made_episode().video.xyz.copy()
    xyz[0, 5, 5] += 0.01
    xyz[1, 2, 3] = np.nan
    levels, scale = encode_points(xyz, CAMERA)
    assert scale["form"] == "xyz"
    back = decode_points(levels, scale, CAMERA)
    assert np.nanmax(np.abs(back - xyz)) <= 0.51 * scale["step"]
    assert np.isnan(back[1, 2, 3]).all()
    nothing = np.full_like(xyz, np.nan)
    assert np.isnan(decode_points(*encode_points(nothing, CAMERA), CAMERA)).all()


def same(one, other) -> None:
    for name in ("name", "robot", "joint_names", "language", "task", "success", "seed", "source",
                 "licence", "flags"):  # fmt: skip
        assert getattr(one, name) == getattr(other, name), name
    assert dict(one.factors) == dict(other.factors)
    assert dict(one.meta) == dict(other.meta)
    np.testing.assert_array_equal(one.video.rgb, other.video.rgb)
    np.testing.assert_array_equal(one.video.mask, other.video.mask)
    np.testing.assert_allclose(one.video.xyz, other.video.xyz, atol=5e-5)
    assert one.video.names == other.video.names
    np.testing.assert_array_equal(one.video.camera.pose, other.video.camera.pose)
    np.testing.assert_array_equal(one.base, other.base)
    if other.joints is None:
        assert one.joints is None
    else:
        np.testing.assert_array_equal(one.joints, other.joints)
    for name in ("kind", "rotation", "frame", "names", "fps", "link", "gripper_unit"):
        assert getattr(one.actions, name) == getattr(other.actions, name), name
    np.testing.assert_array_equal(one.actions.values, other.actions.values)
    np.testing.assert_array_equal(one.actions.gripper, other.actions.gripper)


def test_what_goes_in_comes_out(tmp_path: Path) -> None:
    base = np.eye(4)
    base[:3, 3] = 0.1, 0.2, 0.3
    pose = Actions(
        kind="pose", values=np.ones((49, 6)), fps=10.0, gripper=np.linspace(0, 1, 49), link="tip"
    )
    put = [
        made_episode(0),
        made_episode(1, joints=None, joint_names=(), base=base, actions=pose, meta={"a": [1]}),
        replace(made_episode(2), success=None, seed=None, flags=("stretched",)),
    ]
    store = EpisodeStore.write(tmp_path / "s", put, per_shard=2)
    assert len(store) == 3
    assert store.verify() == []
    for index, episode in enumerate(put):
        same(store.episode(index), episode)
    same(pickle.loads(pickle.dumps(store)).episode(-1), put[2])
    with pytest.raises(InputError, match="no such item"):
        store.episode(3)


def test_episodes_are_small() -> None:
    record = episode_record(made_episode())
    size = sum(array.nbytes for array in record.arrays.values())
    raw = 49 * 32 * 48 * (3 + 12 + 1)
    assert size < raw / 25


def test_damage_and_other_stores(tmp_path: Path) -> None:
    path = tmp_path / "s"
    EpisodeStore.write(path, [made_episode()])
    file = path / "shards" / "00000000" / "rgb.npy"
    broken = bytearray(file.read_bytes())
    broken[-200] ^= 255
    file.write_bytes(broken)
    store = EpisodeStore.open(path)
    assert store.verify() == ["00000000/rgb.npy differs from its checksum"]
    with pytest.raises(InputError, match=r"/s, kin4d/reach/000000: .*not a readable row of frames"):
        store.episode(0)
    with pytest.raises(InputError, match='format "kin4d sequences"'):
        SequenceStore.open(path)


def test_rejects_are_counted_by_reason(tmp_path: Path) -> None:
    lost = [rejected_lines(made_episode(i).identity, f"static clip: {i}") for i in (1, 2)]
    with StoreWriter.begin(tmp_path / "s", {}, EpisodeStore) as writer:
        writer.commit(0, [episode_record(made_episode(0)), *lost])
    store = EpisodeStore.open(tmp_path / "s")
    assert store.reasons == {"static clip": 2}
    assert len(store) == 1


def test_sizes_may_differ_within_a_shard(tmp_path: Path) -> None:
    video = made_episode(1).video
    half = replace(
        video,
        rgb=video.rgb[:, ::2, ::2],
        xyz=video.xyz[:, ::2, ::2],
        mask=video.mask[:, ::2, ::2],
        camera=CAMERA.resized(24, 16),
    )
    store = EpisodeStore.write(tmp_path / "s", [made_episode(0), made_episode(1, video=half)])
    assert store.episode(1).video.rgb.shape == (49, 16, 24, 3)


def test_older_names_of_robots_and_variants_are_read(tmp_path: Path) -> None:
    older = replace(made_episode(0), robot="sketch", meta={"kind": "miss"})
    store = EpisodeStore.write(tmp_path / "store", [older])
    assert store.lines[0]["robot"] == store.episode(0).robot == "kin4d_arm"
    assert store.episode(0).meta["kind"] == "near_miss"
