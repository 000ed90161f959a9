"""Pages of pointmap videos: what a browser unpacks is what went in."""

from __future__ import annotations

import base64
import json
import re
import zlib
from dataclasses import replace

import numpy as np
import pytest
from browser import colours, complaints, wait_until

from kin4d.episodes.store import shipped_episodes
from kin4d.errors import InputError
from kin4d.export.pointmap_html import pointmap_html, write_pointmap_html
from kin4d.geometry.pointmap_layout import world_points


@pytest.fixture(scope="module")
def video():
    return shipped_episodes().episode(3).video


def unpacked(page: str) -> tuple[dict, dict[str, np.ndarray]]:
    """Header and arrays, with differences between frames added up."""
    header = json.loads(re.search(r'id="head"[^>]*>(.*?)</script>', page)[1])
    data = zlib.decompress(base64.b64decode(re.search(r'id="data"[^>]*>(.*?)</script>', page)[1]))
    arrays, at = {}, 0
    for name, kind, count in header["arrays"]:
        dtype = np.dtype(kind)
        planes = np.frombuffer(data, np.uint8, count * dtype.itemsize, at)
        values = planes.reshape(dtype.itemsize, count).T.copy().view(dtype).reshape(-1)
        frames = values.reshape(header["frames"], -1, 3)
        arrays[name] = np.cumsum(frames, axis=0, dtype=dtype)
        at += count * dtype.itemsize
    return header, arrays


def test_points_and_colours_come_back(video) -> None:
    header, arrays = unpacked(pointmap_html({"one": video}))
    assert header["frames"] == len(video)
    np.testing.assert_array_equal(arrays["dotColors"], video.rgb.reshape(len(video), -1, 3))
    low, high = np.array(header["restLow"]), np.array(header["restHigh"])
    for frame in (0, 10, 24):
        world = world_points(video, frame).reshape(-1, 3)
        dots = arrays["dots"][frame]
        seen = np.isfinite(world).all(1)
        np.testing.assert_array_equal(seen, dots[:, 0] != 65535)
        shown = low + dots[seen] / 65534 * (high - low)
        assert np.abs(shown - world[seen]).max() < 1e-4


def test_videos_stand_beside_each_other_and_short_ones_wait(video) -> None:
    short = replace(video, rgb=video.rgb[:5], xyz=video.xyz[:5], mask=video.mask[:5])
    header, arrays = unpacked(pointmap_html({"a": video, "b": short}))
    count = header["points"] // 2
    np.testing.assert_array_equal(arrays["dotColors"][24, count:], arrays["dotColors"][4, count:])
    seen = arrays["dots"][0, :, 0] != 65535
    size = np.array(header["restHigh"]) - header["restLow"]
    apart = (
        np.median(arrays["dots"][0, count:][seen[count:]], axis=0)
        - np.median(arrays["dots"][0, :count][seen[:count]], axis=0)
    ) / 65534 * size  # fmt: skip
    right = video.camera.pose[:3, 0]
    assert abs(apart[2]) < 1e-3
    assert np.linalg.norm(apart) > 0.3
    assert np.linalg.norm(np.cross(apart[:2], right[:2])) < 1e-2


def test_nothing_to_show_is_refused(video) -> None:
    with pytest.raises(InputError, match="at least one"):
        pointmap_html({})
    blind = replace(video, xyz=np.full_like(video.xyz, np.nan))
    with pytest.raises(InputError, match="see nothing"):
        pointmap_html({"blind": blind})


def test_a_browser_plays_it(tab, tmp_path, video) -> None:
    page = write_pointmap_html({"a": video, "b": video}, tmp_path / "two.html")
    tab.goto(page.as_uri())
    wait_until(tab, "kin4d.ready && kin4d.drawn > 1")
    first = tab.evaluate("kin4d.frame")
    wait_until(tab, f"kin4d.frame != {first}")
    assert tab.evaluate("kin4d.error") == ""
    assert colours(tab.screenshot()) > 50
    assert complaints(tab) == []
