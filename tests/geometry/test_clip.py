"""Clip, skin and pointmap video: the value types of motion check themselves."""

from __future__ import annotations

import numpy as np
import pytest

from kin4d.errors import InputError
from kin4d.geometry.camera import Camera
from kin4d.geometry.clip import Clip
from kin4d.geometry.pointmap import PointmapVideo
from kin4d.geometry.primitives import box
from kin4d.geometry.skin import Skin, SkinAnimation

CUBE = box((1, 1, 1))
STILL = np.repeat(CUBE.vertices[None], 3, axis=0)


class TestClip:
    def test_times_and_bounds(self):
        clip = Clip(mesh=CUBE, vertices=STILL + np.arange(3)[:, None, None], fps=10)
        assert len(clip) == 3
        np.testing.assert_allclose(clip.times, [0, 0.1, 0.2])
        assert clip.bounds.tolist() == [[-0.5] * 3, [2.5] * 3]
        assert clip.vertices.dtype == np.float32

    @pytest.mark.parametrize(
        ("changes", "message"),
        [
            ({"vertices": STILL[:, :5]}, "wrong shape"),
            ({"vertices": STILL[:0]}, "wrong shape"),
            ({"vertices": CUBE.vertices}, "wrong shape"),
            ({"vertices": STILL * np.array([1, np.nan, 1])[:, None, None]}, "from frame 1"),
            ({"vertices": STILL * 1e300}, "infinite"),
            ({"vertices": STILL + 1e9}, "loses its shape.* 64 m apart"),
            ({"fps": 0}, "fps"),
            ({"fps": np.nan}, "fps"),
            ({"q": np.zeros((2, 1))}, "track 'q' has another length"),
            ({"diagnostics": {"energy": np.zeros(4)}}, "track 'energy'"),
        ],
    )
    def test_bad_clips(self, changes, message):
        with pytest.raises(InputError, match=message), np.errstate(over="ignore"):
            Clip(**{"mesh": CUBE, "vertices": STILL, "fps": 24, **changes})


class TestSkin:
    def test_rigid_skin_moves_each_vertex_by_its_joint(self):
        skin = Skin.rigid(np.array([0, 1, 1]), ("a", "b"))
        assert skin.is_rigid
        moves = np.stack([np.eye(4)] * 2)
        moves[1, :3, 3] = [1, 2, 3]
        moved = skin.apply(moves, np.zeros((3, 3)))
        assert moved.tolist() == [[0, 0, 0], [1, 2, 3], [1, 2, 3]]

    def test_weights_blend(self):
        skin = Skin(joints=np.array([[0, 1]]), weights=np.array([[0.25, 0.75]]), names=("a", "b"))
        moves = np.stack([np.eye(4)] * 2)
        moves[1, :3, 3] = [4, 0, 0]
        np.testing.assert_allclose(skin.apply(moves, np.array([[1.0, 1, 1]])), [[4, 1, 1]])

    @pytest.mark.parametrize(
        ("joints", "weights"),
        [
            (np.zeros((3, 5)), np.zeros((3, 5))),
            (np.zeros(3), np.zeros(3)),
            (np.zeros((3, 1)), np.zeros((3, 2))),
            (np.full((3, 1), 2), np.ones((3, 1))),
            (np.full((3, 1), -1), np.ones((3, 1))),
        ],
    )
    def test_bad_skins(self, joints, weights):
        with pytest.raises(InputError, match="skin"):
            Skin(joints=joints, weights=weights, names=("a", "b"))

    def test_bad_track(self):
        skin = {"joints": np.zeros((8, 1)), "weights": np.ones((8, 1)), "names": ("a",)}
        with pytest.raises(InputError, match="transforms have the wrong shape"):
            SkinAnimation(**skin, transforms=np.zeros((3, 2, 4, 4)))
        track = SkinAnimation(**skin, transforms=np.stack([np.eye(4)] * 2)[:, None])
        with pytest.raises(InputError, match="track 'skin' has another length"):
            Clip(mesh=CUBE, vertices=STILL, fps=24, skin=track)


def video(**changes) -> PointmapVideo:
    camera = Camera.look_at((0, -2, 0), (0, 0, 0), width=4, height=3)
    fields = {
        "rgb": np.full((2, 3, 4, 3), 7, np.uint8),
        "xyz": np.full((2, 3, 4, 3), np.nan, np.float32),
        "mask": np.zeros((2, 3, 4), np.uint8),
        "camera": camera,
        "fps": 12.5,
        "names": ("arm",),
    }
    return PointmapVideo(**{**fields, **changes})


class TestPointmapVideo:
    def test_round_trip(self, tmp_path):
        xyz = np.random.default_rng(0).normal(size=(2, 3, 4, 3)).astype(np.float32)
        xyz[0, 0] = np.nan
        one = video(xyz=xyz)
        again = PointmapVideo.load(one.save(tmp_path / "a.npz"))
        np.testing.assert_array_equal(again.xyz, xyz)
        np.testing.assert_array_equal(again.rgb, one.rgb)
        np.testing.assert_array_equal(again.camera.pose, one.camera.pose)
        assert (again.fps, again.names, len(again)) == (12.5, ("arm",), 2)

    @pytest.mark.parametrize(
        "changes",
        [
            {"xyz": np.zeros((2, 3, 4, 3))},
            {"xyz": np.zeros((2, 4, 3, 3), np.float32)},
            {"mask": np.zeros((1, 3, 4), np.uint8)},
            {"fps": -1},
        ],
    )
    def test_bad_videos(self, changes):
        with pytest.raises(InputError, match="pointmap video"):
            video(**changes)

    def test_bad_files(self, tmp_path):
        path = tmp_path / "a.npz"
        video().save(path)
        whole = path.read_bytes()
        middle = len(whole) // 2
        torn = whole[:middle] + bytes(64) + whole[middle + 64 :]
        for data in (b"", b"hello", whole[:middle], torn):
            path.write_bytes(data)
            with pytest.raises(InputError, match="not a readable pointmap video"):
                PointmapVideo.load(path)
        arrays = {name: getattr(video(), name) for name in ("rgb", "xyz", "mask")}
        for meta in ("[]", "{}", '{"format": "kin4d.pointmap/1"}', "null", "{"):
            np.savez(path, **arrays, meta=np.array(meta))
            with pytest.raises(InputError, match="not a readable"):
                PointmapVideo.load(path)
        np.savez(path, **arrays, meta=np.array('{"format": "other/9"}'))
        with pytest.raises(InputError, match="another format"):
            PointmapVideo.load(path)
        with pytest.raises(InputError, match="does not exist"):
            PointmapVideo.load(tmp_path / "b.npz")
