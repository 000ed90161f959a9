"""PC2 caches, read back from their bytes, and their OBJ by trimesh."""

from __future__ import annotations

import struct

import numpy as np
import pytest
import trimesh

from kin4d.errors import OutputError
from kin4d.export import pc2
from kin4d.export.pc2 import write_pc2


def test_header_and_points(door, tmp_path):
    data = write_pc2(door, tmp_path / "door.pc2").read_bytes()
    header = struct.unpack("<12siiffi", data[:32])
    frames, points = door.vertices.shape[:2]
    assert header == (b"POINTCACHE2\0", 1, points, 0.0, 1.0, frames)
    again = np.frombuffer(data, "<f4", offset=32).reshape(frames, points, 3)
    np.testing.assert_array_equal(again, door.vertices)


def test_obj_has_the_same_vertices_in_one_object(cloth, tmp_path):
    with pytest.warns(UserWarning, match="MTL cannot hold"):
        write_pc2(cloth, tmp_path / "cloth.pc2")
    text = (tmp_path / "cloth.obj").read_text()
    rows = [line.split()[1:4] for line in text.splitlines() if line.startswith("v ")]
    np.testing.assert_array_equal(np.array(rows, float), cloth.mesh.vertices)
    assert sum(line.startswith("o ") for line in text.splitlines()) == 1
    assert sum(line.startswith("usemtl ") for line in text.splitlines()) == 2


@pytest.mark.filterwarnings("ignore:.*MTL cannot hold")
def test_obj_keeps_the_look(cloth, tmp_path):
    write_pc2(cloth, tmp_path / "cloth.pc2")
    scene = trimesh.load_scene(tmp_path / "cloth.obj", process=False)
    solids = {solid.visual.material.name: solid for solid in scene.geometry.values()}
    for index, material in enumerate(cloth.mesh.materials):
        solid = solids[f"{index}_{material.name.replace(' ', '_')}"]
        expected = np.asarray(material.textures["base_color"])
        loaded = np.asarray(solid.visual.material.image)[..., : expected.shape[-1]]
        np.testing.assert_array_equal(loaded, expected)
        faces = cloth.mesh.faces[cloth.mesh.face_material == index]
        np.testing.assert_allclose(solid.triangles, cloth.mesh.vertices[faces])
        np.testing.assert_allclose(solid.visual.uv[solid.faces], cloth.mesh.uv[faces])


def test_failure_leaves_the_old_cache(door, tmp_path, monkeypatch):
    path = tmp_path / "a.pc2"
    path.write_bytes(b"precious")

    def fail(*arguments):
        raise RuntimeError("power cut")

    monkeypatch.setattr(pc2, "save_mesh", fail)
    with pytest.raises(RuntimeError):
        write_pc2(door, path)
    assert path.read_bytes() == b"precious"
    assert [file.name for file in tmp_path.iterdir()] == ["a.pc2"]


def test_unwritable_targets(door, tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(OutputError):
        write_pc2(door, tmp_path / "file" / "a.pc2")
    (tmp_path / "b.pc2").mkdir()
    with pytest.raises(OutputError, match="folder"):
        write_pc2(door, tmp_path / "b.pc2")
    assert not (tmp_path / "b.obj").exists()
