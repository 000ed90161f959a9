"""The same y-up or z-up file through Python and the command line: z is up inside."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import kin4d
from kin4d.cli import main
from kin4d.geometry.clip import Clip
from kin4d.geometry.mesh import Mesh, vertex_normals
from kin4d.geometry.primitives import box
from kin4d.geometry.up_axis import from_z_up, to_z_up


@pytest.fixture
def chest() -> Mesh:
    """A chest with a lid, z up, with normals."""
    lid = box((0.6, 0.5, 0.06)).transformed(np.array(_moved(0, 0, 0.24)))
    mesh = Mesh.concatenate([box((0.6, 0.5, 0.4)), lid])
    return replace(mesh, normals=vertex_normals(mesh.vertices, mesh.faces))


def _moved(x: float, y: float, z: float) -> list[list[float]]:
    return [[1, 0, 0, x], [0, 1, 0, y], [0, 0, 1, z], [0, 0, 0, 1]]


def write(mesh: Mesh, path: Path, up: str) -> Path:
    """A file whose axis `up` points up, also a GLB that is not by the specification."""
    if path.suffix != ".glb":
        return replace(mesh, source_up=up).save(path)
    turn = np.eye(4)
    turn[:3, :3] = to_z_up(np.eye(3), "y" if up == "z" else "z").T
    return mesh.transformed(turn).save(path)


@pytest.mark.parametrize("up", ["y", "z"])
@pytest.mark.parametrize("suffix", [".glb", ".obj", ".ply"])
def test_python_and_command_line_agree(chest, tmp_path: Path, suffix: str, up: str) -> None:
    path = write(chest, tmp_path / f"chest{suffix}", up)
    given = None if up == "y" else "z"  # y is the default
    mesh = Mesh.load(path, up=given)
    assert mesh.source_up == up
    np.testing.assert_allclose(mesh.vertices, chest.vertices, atol=1e-7)
    assert mesh.normals is not None
    np.testing.assert_allclose(mesh.normals, chest.normals, atol=1e-6)

    copy = mesh.save(tmp_path / f"copy{suffix}")
    again = Mesh.load(copy, up=None if suffix == ".glb" else given)
    np.testing.assert_allclose(again.vertices, chest.vertices, atol=1e-7)
    np.testing.assert_allclose(again.normals, chest.normals, atol=1e-6)  # pyright: ignore[reportArgumentType]
    if suffix == ".ply":
        assert copy.read_bytes() == path.read_bytes()

    body = kin4d.load(path, body_type="rigid", up=given)
    np.testing.assert_allclose(body.rest.vertices, chest.vertices, atol=1e-7)
    assert body.rest.normals is not None

    clip_file = tmp_path / "clip.npz"
    arguments = ["animate", path, "-o", clip_file, "--dof", "1", "--frames", "2"]
    assert main([*map(str, arguments), *(["--up", given] if given else [])]) == 0
    clip = Clip.load(clip_file)
    assert clip.mesh.source_up == up
    np.testing.assert_allclose(clip.mesh.vertices, chest.vertices, atol=1e-7)
    folder = clip.save(tmp_path / "frames", format="ply")
    frame = Mesh.load(folder / "frame_0000.ply", up=given)
    np.testing.assert_allclose(frame.vertices, clip.vertices[0], atol=1e-6)


def test_meshes_made_in_code_come_back_as_they_were(chest, tmp_path: Path) -> None:
    assert chest.source_up is None
    for suffix in (".glb", ".obj", ".ply"):
        again = Mesh.load(chest.save(tmp_path / f"a{suffix}"))
        np.testing.assert_allclose(again.vertices, chest.vertices, atol=1e-7)


def test_size_keeps_normals(chest, tmp_path: Path) -> None:
    body = kin4d.load(chest.save(tmp_path / "a.obj"), body_type="rigid", size=2.0)
    assert body.rest.bbox_diagonal == pytest.approx(2.0)
    np.testing.assert_allclose(body.rest.normals, chest.normals, atol=1e-6)  # pyright: ignore[reportArgumentType]


def test_turning_there_and_back() -> None:
    vectors = np.random.default_rng(0).normal(size=(4, 5, 3))
    np.testing.assert_array_equal(to_z_up(np.array([1.0, 2, 3]), "y"), [1, -3, 2])
    np.testing.assert_array_equal(from_z_up(to_z_up(vectors, "y"), "y"), vectors)
    with pytest.raises(kin4d.Kin4dError, match="'y' or 'z'"):
        to_z_up(vectors, "x")
    assert to_z_up(vectors, "z") is vectors


def test_an_up_axis_is_for_mesh_files(chest, tmp_path: Path, capsys) -> None:
    clip = Clip.still(chest).save(tmp_path / "a.npz")
    with pytest.raises(kin4d.Kin4dError, match="z-up"):
        kin4d.load(clip, up="y")
    assert main(["export", str(clip), "-o", str(tmp_path / "a.glb"), "--up", "y"]) == 2
    assert "z-up" in capsys.readouterr().err
