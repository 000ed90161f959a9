"""`kin4d demo`: every result is there, and the page shows them without the network."""

from __future__ import annotations

import json
import re
from pathlib import Path

import imageio.v3 as imageio
import numpy as np
import pytest

from kin4d.cli import main
from kin4d.geometry.pointmap import PointmapVideo


def test_demo(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert not main(["demo", "--output", str(tmp_path), "--json"])
    found = json.loads(capsys.readouterr().out)
    names = ("cooler_opens", "cooler_pushed", "character")
    clips = {f"{name}.{suffix}" for name in names for suffix in ("glb", "mp4")}
    assert clips | {"index.html", "world/pointmap.npz", "world/imagined.mp4"} <= {*found["files"]}
    page = (tmp_path / "index.html").read_text(encoding="utf-8")
    assert page.count("<video") == 4
    assert "http" not in page, "the page needs nothing from elsewhere"
    linked = re.findall(r'href="([^"]+)"', page)
    assert len(linked) == 8
    assert all((tmp_path / file).stat().st_size > 0 for file in linked)
    for name in names:
        film = imageio.imread(tmp_path / f"{name}.mp4").astype(int)
        assert np.abs(film - film[0]).max(-1).max(0).mean() > 10, f"{name} stands still"
    video = PointmapVideo.load(tmp_path / "world" / "pointmap.npz")
    moved = np.abs(video.rgb[-1].astype(int) - video.rgb[0]).max(-1) > 12
    assert 0.05 < moved.mean() < 0.9
