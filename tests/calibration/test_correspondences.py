from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from kin4d.bodies.robot.registry import load_robot
from kin4d.calibration.correspondences import read_correspondences
from kin4d.errors import InputError

GOOD = {
    "comment": "ignored",
    "size": [320, 192],
    "matches": [{"frame": 2, "pixel": [10.5, 20], "link": "hand", "point": [0, 0, 0.05]}],
}


def write(folder: Path, data: object) -> Path:
    path = folder / "matches.json"
    path.write_text(json.dumps(data))
    return path


def test_points_follow_their_links(tmp_path: Path) -> None:
    import torch

    body = load_robot("kin4d_arm")
    matches = read_correspondences(write(tmp_path, GOOD))
    assert (matches.width, matches.height, matches.aspect) == (320, 192, 1.0)
    q = body.q0.repeat(3, 1) + torch.arange(3)[:, None] * 0.05
    pose = body.link_poses(q[2])[body.link_index("hand")].numpy()
    expected = pose[:3, :3] @ [0, 0, 0.05] + pose[:3, 3]
    assert np.allclose(matches.points(body, q.numpy()), expected)
    with pytest.raises(InputError, match=r"frame that the motion does not have \(got 2\)"):
        matches.points(body, q[:2].numpy())


def test_an_unknown_link_lists_the_links(tmp_path: Path) -> None:
    body = load_robot("kin4d_arm")
    entry = {**GOOD["matches"][0], "link": "elbow_joint"}
    matches = read_correspondences(write(tmp_path, {**GOOD, "matches": [entry]}))
    with pytest.raises(InputError, match=r"no link 'elbow_joint'.*upper_arm"):
        matches.points(body, body.q0.repeat(3, 1).numpy())


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"pixel": [320, 5]}, "outside the image"),
        ({"pixel": [float("nan"), 5]}, "'pixel' must be 2 finite"),
        ({"pixel": [5]}, "'pixel' must be 2 finite"),
        ({"point": [0, 0, "up"]}, "'point' must be 3 finite"),
        ({"frame": -1}, "whole number from 0"),
        ({"frame": 1.5}, "whole number from 0"),
        ({"link": None}, "names no link"),
    ],
)
def test_bad_matches_are_named(tmp_path: Path, change: dict, message: str) -> None:
    entry = {**GOOD["matches"][0], **change}
    with pytest.raises(InputError, match=f"match 0.*{message}"):
        read_correspondences(write(tmp_path, {**GOOD, "matches": [entry]}))


@pytest.mark.parametrize(
    ("data", "message"),
    [
        ([1, 2], "not a file of matches"),
        ({"size": [320, 192]}, "not a file of matches"),
        ({**GOOD, "size": [0, 192]}, "whole pixels"),
        ({"matches": []}, "'size' must be"),
        ({**GOOD, "aspect": None}, "'aspect' must be"),
    ],
)
def test_bad_files_are_named(tmp_path: Path, data: object, message: str) -> None:
    with pytest.raises(InputError, match=message):
        read_correspondences(write(tmp_path, data))


def test_the_shipped_matches_are_readable() -> None:
    path = Path(__file__).parents[2] / "examples" / "data" / "droid_matches.json"
    assert len(read_correspondences(path).matches) == 14
