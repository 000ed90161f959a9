"""The same y-up or z-up file through Python and the command line: z is up inside."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import trimesh

import kin4d
from kin4d.cli import main
from kin4d.geometry.clip import Clip
from kin4d.geometry.mesh import Mesh, vertex_normals
from kin4d.geometry.primitives import box
from kin4d.geometry.up_axis import from_z_up, to_z_up


@pytest.fixture
def chest() -> Mesh:
    """A chest with a lid, z up, with normals and tangents."""
    lid = box((0.6, 0.5, 0.06)).transformed(np.array(_moved(0, 0, 0.24)))
    mesh = Mesh.concatenate([box((0.6, 0.5, 0.4)), lid])
    normals = vertex_normals(mesh.vertices, mesh.faces)
    along = np.cross(normals, [0.3, 0.5, 0.8])
    along /= np.linalg.norm(along, axis=-1, keepdims=True)
    side = np.where(mesh.vertices[:, :1] > 0, 1.0, -1.0)
    return replace(mesh, normals=normals, tangents=np.concatenate([along, side], axis=1))


def _moved(x: float, y: float, z: float) -> list[list[float]]:
    return [[1, 0, 0, x], [0, 1, 0, y], [0, 0, 1, z], [0, 0, 0, 1]]


def write(mesh: Mesh, path: Path, up: str) -> Path:
    """A file whose axis `up` points up, also a GLB that is not by the specification."""
    if path.suffix == ".stl":
        trimesh.Trimesh(from_z_up(mesh.vertices, up), mesh.faces, process=False).export(path)
        return path
    if path.suffix != ".glb":
        return replace(mesh, source_up=up).save(path)
    rotation = np.eye(4)
    rotation[:3, :3] = to_z_up(np.eye(3), "y" if up == "z" else "z").T
    return mesh.transformed(rotation).save(path)


@pytest.mark.parametrize("up", ["y", "z"])
@pytest.mark.parametrize("suffix", [".glb", ".obj", ".ply", ".stl"])
def test_python_and_command_line_agree(chest, tmp_path: Path, suffix: str, up: str) -> None:
    path = write(chest, tmp_path / f"chest{suffix}", up)
    given = None if up == "y" else "z"  # y is the default
    # STL has no shared vertices, and its numbers are single precision.
    expected = chest.vertices[chest.faces.ravel()] if suffix == ".stl" else chest.vertices
    mesh = Mesh.load(path, up=given)
    assert mesh.source_up == up
    np.testing.assert_allclose(mesh.vertices, expected, atol=1e-7)

    body = kin4d.load(path, body_type="rigid", up=given)
    np.testing.assert_allclose(body.rest.vertices, expected, atol=1e-7)

    clip_file = tmp_path / "clip.npz"
    arguments = ["animate", path, "-o", clip_file, "--dof", "1", "--frames", "2"]
    assert main([*map(str, arguments), *(["--up", given] if given else [])]) == 0
    clip = Clip.load(clip_file)
    assert clip.mesh.source_up == up
    np.testing.assert_allclose(clip.mesh.vertices, expected, atol=1e-7)
    folder = clip.save(tmp_path / "frames", format="ply")
    frame = Mesh.load(folder / "frame_0000.ply", up=given)
    np.testing.assert_allclose(frame.vertices, clip.vertices[0], atol=1e-6)


@pytest.mark.parametrize("up", ["y", "z"])
@pytest.mark.parametrize("suffix", [".glb", ".obj", ".ply"])
def test_normals_and_tangents_survive(chest, tmp_path: Path, suffix: str, up: str) -> None:
    path = write(chest, tmp_path / f"chest{suffix}", up)
    given = None if up == "y" else "z"
    mesh = Mesh.load(path, up=given)
    copy = mesh.save(tmp_path / f"copy{suffix}")
    again = Mesh.load(copy, up=None if suffix == ".glb" else given)
    body = kin4d.load(path, body_type="rigid", up=given)
    for found in (
        mesh,
        again,
        body.rest,
        Clip.load(Clip.still(mesh).save(tmp_path / "a.npz")).mesh,
    ):
        np.testing.assert_allclose(found.vertices, chest.vertices, atol=1e-7)
        np.testing.assert_allclose(found.normals, chest.normals, atol=1e-6)
        if suffix == ".glb":  # OBJ and PLY have no tangents
            np.testing.assert_allclose(found.tangents, chest.tangents, atol=1e-6)
    if suffix == ".ply":
        assert copy.read_bytes() == path.read_bytes()


def test_a_mirrored_mesh_has_the_other_handedness(chest) -> None:
    mirrored = chest.transformed(np.diag([-1.0, 1, 1, 1]))
    np.testing.assert_allclose(mirrored.tangents[:, 3], -chest.tangents[:, 3])
    np.testing.assert_allclose(
        mirrored.tangents[:, :3], chest.tangents[:, :3] * [-1, 1, 1], atol=1e-6
    )
    assert chest.replace_vertices(2 * chest.vertices).tangents is None


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
