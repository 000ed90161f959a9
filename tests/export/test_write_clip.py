"""One door to all writers, by suffix."""

from __future__ import annotations

import pytest

from kin4d.errors import InputError
from kin4d.export import CLIP_SUFFIXES, write_clip


@pytest.mark.parametrize("suffix", [*CLIP_SUFFIXES, "", ".GLB"])
def test_every_suffix_writes(door, tmp_path, suffix):
    path = write_clip(door, tmp_path / f"door{suffix}")
    assert path == tmp_path / f"door{suffix}"
    assert path.is_dir() == (suffix == "")
    assert path.is_dir() or path.stat().st_size > 1000


def test_options_reach_the_writer(door, tmp_path):
    folder = write_clip(door, tmp_path / "frames", format="ply")
    assert len(list(folder.glob("*.ply"))) == len(door)


def test_options_of_another_format_are_named(door, tmp_path):
    with pytest.raises(InputError, match=r"'format'.*skin, normals"):
        write_clip(door, tmp_path / "a.glb", format="ply")


def test_unknown_suffix_lists_the_known(door, tmp_path):
    with pytest.raises(InputError, match=r"\.glb.*\.usdz.*\.pc2.*\.npz.*folder"):
        write_clip(door, tmp_path / "a.fbx")


def test_movies_are_rendered(door, tmp_path):
    path = door.save(tmp_path / "door.gif", width=48, height=32)
    assert path.read_bytes()[:3] == b"GIF"
    assert door.render(width=48, height=32).rgb.shape == (len(door), 32, 48, 3)
