"""The Robo4D folder layout: there and back, in metres."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from made_episode import made_episode

from kin4d.bodies import hinge, sweep_joints
from kin4d.episodes.formats.reader import open_dataset
from kin4d.episodes.formats.robo4d import (
    normalisation,
    read_robo4d,
    write_robo4d,
    write_robo4d_episodes,
)
from kin4d.errors import InputError
from kin4d.geometry.camera import Camera
from kin4d.geometry.pointmap import PointmapVideo
from kin4d.render.pointmaps import render_bodies


@pytest.fixture(scope="module")
def video() -> PointmapVideo:
    door = hinge()
    camera = Camera.framing(door.rest.bounds, width=96, height=64)
    return render_bodies({"door": door}, [sweep_joints(door, frames=9)], camera, fps=12)


def test_comes_back_in_metres(video: PointmapVideo, tmp_path: Path) -> None:
    write_robo4d(video, tmp_path, "7")
    back = read_robo4d(tmp_path, "7")
    assert (back.rgb == video.rgb).all()
    assert (back.mask == video.mask).all()
    assert (np.isnan(back.xyz) == np.isnan(video.xyz)).all()
    _, scale = normalisation(video)
    assert np.nanmax(abs(back.xyz - video.xyz)) <= 0.51 * scale / 127
    assert back.names == ("door",)
    np.testing.assert_allclose(back.camera.pose, video.camera.pose)


def test_layout_is_the_published_one(video: PointmapVideo, tmp_path: Path) -> None:
    for name in ("0", "1", "0"):
        write_robo4d(video, tmp_path, name)
    assert (tmp_path / "train_shuffled.txt").read_text() == "videos/0.mp4\nvideos/1.mp4\n"
    lines = (tmp_path / "train_img_shuffled.txt").read_text()
    assert lines == "first_frames/0.png\nfirst_frames/1.png\n"
    for kind in ("videos", "pointmap", "mask_videos", "mask_pointmap"):
        assert (tmp_path / kind / "0.mp4").stat().st_size > 0
    mask = np.load(tmp_path / "arm_masks_npy" / "0.npy")
    assert mask.shape == (9, 64, 96, 1)


def test_without_our_file_there_are_no_metres(video: PointmapVideo, tmp_path: Path) -> None:
    write_robo4d(video, tmp_path, "0")
    (tmp_path / "kin4d" / "0.json").unlink()
    (tmp_path / "arm_masks_npy" / "0.npy").unlink()
    with pytest.raises(InputError, match=r"camera .*, centre and scale"):
        read_robo4d(tmp_path, "0")
    centre, scale = normalisation(video)
    back = read_robo4d(tmp_path, "0", camera=video.camera, centre=centre, scale=scale)
    agree = ((back.mask > 0) == (video.mask > 0)).mean()
    assert agree > 0.99


def test_names_stay_in_the_folder(video: PointmapVideo, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="plain file name"):
        write_robo4d(video, tmp_path, "../escaped")
    with pytest.raises(InputError, match="does not exist"):
        read_robo4d(tmp_path, "9", camera=video.camera, centre=(0, 0, 0), scale=1.0)


def test_episodes_come_back_whole(tmp_path: Path) -> None:
    put = [made_episode(0), made_episode(1, joints=None, joint_names=(), actions=None)]
    write_robo4d_episodes(put, tmp_path)
    found = open_dataset(tmp_path)
    assert len(found) == 2
    back = found.read(0)
    assert (back.language, back.task, back.seed, back.robot) == (
        "move the arm",
        "reach",
        0,
        "kin4d_arm",
    )
    np.testing.assert_allclose(back.joints, put[0].joints)
    np.testing.assert_allclose(back.actions.values, put[0].actions.values)
    assert (back.video.rgb == put[0].video.rgb).all()
    assert found.read(1).joints is None
    camera, metres = put[0].video.camera, normalisation(put[0].video)
    (tmp_path / "kin4d" / "0.json").unlink()
    bare = open_dataset(tmp_path, camera=camera, centre=metres[0], scale=metres[1]).read(0)
    assert (bare.source, bare.joints) == ("robo4d", None)
