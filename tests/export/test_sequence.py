"""Folders of frames, read back by trimesh."""

from __future__ import annotations

import numpy as np
import pytest
import trimesh

from kin4d.errors import InputError, OutputError
from kin4d.export import sequence
from kin4d.export.sequence import write_sequence

pytestmark = pytest.mark.filterwarnings("ignore:.*MTL cannot hold")


def in_order(triangles: np.ndarray) -> np.ndarray:
    rows = triangles.reshape(-1, 9).round(6) + 0.0
    return rows[np.lexsort(rows.T)]


@pytest.mark.parametrize("format", ["obj", "ply"])
def test_every_frame_comes_back(door, tmp_path, format):
    folder = write_sequence(door, tmp_path / "frames", format=format)
    files = sorted(folder.glob(f"frame_*.{format}"))
    assert len(files) == len(door)
    for file, vertices in zip(files, door.vertices, strict=True):
        loaded = trimesh.load_scene(file, process=False, maintain_order=True).to_mesh()
        expected = vertices[door.mesh.faces].astype(np.float64)
        # trimesh regroups an OBJ's faces by material.
        np.testing.assert_allclose(in_order(loaded.triangles), in_order(expected), atol=1e-6)


def test_ply_keeps_order_colors_and_coordinates(cloth, tmp_path):
    folder = write_sequence(cloth, tmp_path / "frames", format="ply")
    solid = trimesh.load_mesh(folder / "frame_0003.ply", process=False)
    np.testing.assert_array_equal(solid.vertices, cloth.vertices[3])
    np.testing.assert_array_equal(solid.faces, cloth.mesh.faces)
    np.testing.assert_array_equal(solid.visual.uv, cloth.mesh.uv)
    columns = solid.metadata["_ply_raw"]["vertex"]["data"]
    channels = [columns[name] for name in ("red", "green", "blue", "alpha")]
    np.testing.assert_array_equal(np.stack(channels, 1), cloth.mesh.colors)


def test_obj_frames_share_materials_and_textures(cloth, tmp_path):
    folder = write_sequence(cloth, tmp_path / "frames")
    assert [file.name for file in folder.glob("*.mtl")] == ["frame_0000.mtl"]
    # A base colour and an emissive picture of each material, and a normal map.
    assert len(list(folder.glob("*.png"))) == 5
    scene = trimesh.load_scene(folder / "frame_0004.obj", process=False)
    pictures = [np.asarray(m.textures["base_color"])[..., :3] for m in cloth.mesh.materials]
    loaded = [np.asarray(s.visual.material.image)[..., :3] for s in scene.geometry.values()]
    assert sorted(p.tobytes() for p in loaded) == sorted(p.tobytes() for p in pictures)


def test_failure_leaves_the_old_folder(door, cloth, tmp_path, monkeypatch):
    folder = write_sequence(door, tmp_path / "frames", format="ply")
    before = {file.name: file.read_bytes() for file in folder.iterdir()}
    real, calls = sequence.write_ply, []

    def fail_at_the_third(mesh, path):
        calls.append(path)
        if len(calls) == 3:
            raise RuntimeError("power cut")
        real(mesh, path)

    monkeypatch.setattr(sequence, "write_ply", fail_at_the_third)
    with pytest.raises(RuntimeError):
        write_sequence(cloth, folder, format="ply")
    assert {file.name: file.read_bytes() for file in folder.iterdir()} == before
    assert [path.name for path in tmp_path.iterdir()] == ["frames"]


def test_a_new_sequence_replaces_the_old(door, cloth, tmp_path):
    write_sequence(door, tmp_path / "frames", format="ply")
    folder = write_sequence(cloth, tmp_path / "frames", format="ply")
    assert len(list(folder.iterdir())) == len(cloth)


def test_other_folders_are_not_replaced(door, tmp_path):
    (tmp_path / "thesis.tex").write_text("years of work")
    with pytest.raises(InputError, match="other files"):
        write_sequence(door, tmp_path)
    (tmp_path / "frame_0000.obj").write_text("")
    with pytest.raises(InputError, match=r"thesis\.tex"):
        write_sequence(door, tmp_path)
    assert (tmp_path / "thesis.tex").exists()


def test_bad_targets(door, tmp_path):
    with pytest.raises(InputError, match="'ply'"):
        write_sequence(door, tmp_path / "a", format="stl")
    (tmp_path / "file").write_text("")
    with pytest.raises(OutputError):
        write_sequence(door, tmp_path / "file" / "frames")
