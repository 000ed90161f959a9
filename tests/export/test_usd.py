"""USD files, read back by Pixar's own library."""

from __future__ import annotations

import io
import zipfile
from dataclasses import replace

import numpy as np
import pytest
from PIL import Image

from kin4d.errors import InputError, MissingExtraError, OutputError
from kin4d.export import usd
from kin4d.export.usd import write_usd
from kin4d.geometry.clip import Clip

pytest.importorskip("pxr")
from pxr import Usd, UsdGeom, UsdShade


def mesh_of(stage: Usd.Stage) -> UsdGeom.Mesh:
    (found,) = (prim for prim in stage.Traverse() if prim.IsA(UsdGeom.Mesh))
    return UsdGeom.Mesh(found)


@pytest.mark.parametrize("suffix", usd.USD_SUFFIXES)
def test_every_frame_comes_back(door, tmp_path, suffix):
    stage = Usd.Stage.Open(str(write_usd(door, tmp_path / f"door{suffix}", up="z")))
    mesh = mesh_of(stage)
    assert mesh.GetPointsAttr().GetTimeSamples() == list(range(len(door)))
    for i, frame in enumerate(door.vertices):
        np.testing.assert_array_equal(np.array(mesh.GetPointsAttr().Get(i)), frame)
        extent = np.array(mesh.GetExtentAttr().Get(i))
        np.testing.assert_array_equal(extent, [frame.min(0), frame.max(0)])
    np.testing.assert_allclose(np.array(mesh.GetPointsAttr().Get()), door.mesh.vertices, atol=1e-7)
    corners = np.array(mesh.GetFaceVertexIndicesAttr().Get()).reshape(-1, 3)
    np.testing.assert_array_equal(corners, door.mesh.faces)
    assert set(mesh.GetFaceVertexCountsAttr().Get()) == {3}
    assert (stage.GetTimeCodesPerSecond(), stage.GetFramesPerSecond()) == (30, 30)
    assert (stage.GetStartTimeCode(), stage.GetEndTimeCode()) == (0, len(door) - 1)
    assert UsdGeom.GetStageUpAxis(stage) == UsdGeom.Tokens.z
    assert UsdGeom.GetStageMetersPerUnit(stage) == 1
    assert stage.GetDefaultPrim()


@pytest.mark.parametrize("suffix", [".usda", ".usdc"])
@pytest.mark.parametrize("batch_frames", [1, 2, 3])
def test_frames_survive_being_written_in_batches(
    cloth, tmp_path, suffix, batch_frames, monkeypatch
):
    monkeypatch.setattr(usd, "_BATCH_BYTES", batch_frames * cloth.vertices[0].nbytes)
    stage = Usd.Stage.Open(str(write_usd(cloth, tmp_path / f"a{suffix}")))
    points = mesh_of(stage).GetPointsAttr()
    again = np.stack([np.array(points.Get(i)) for i in range(len(cloth))])
    np.testing.assert_array_equal(again, cloth.vertices)


def test_one_frame_has_no_time_samples(door, tmp_path):
    still = Clip(mesh=door.mesh, vertices=door.vertices[5:6], fps=24)
    stage = Usd.Stage.Open(str(write_usd(still, tmp_path / "a.usdc")))
    mesh = mesh_of(stage)
    assert mesh.GetPointsAttr().GetTimeSamples() == []
    np.testing.assert_array_equal(np.array(mesh.GetPointsAttr().Get()), door.vertices[5])


def inputs_of(material: UsdShade.Material) -> dict[str, object]:
    """The surface's inputs by name: values, or (texture node, channel) where connected."""
    surface = material.ComputeSurfaceSource()[0]
    found = {}
    for entry in surface.GetInputs():
        sources = entry.GetConnectedSources()[0]
        if sources:
            found[entry.GetBaseName()] = (
                UsdShade.Shader(sources[0].source.GetPrim()),
                sources[0].sourceName,
            )
        else:
            found[entry.GetBaseName()] = entry.Get()
    return found


def test_look_survives(cloth, tmp_path):
    path = write_usd(cloth, tmp_path / "cloth.usdc")
    assert {file.name for file in tmp_path.iterdir()} == {"cloth.usdc", "cloth_textures"}
    stage = Usd.Stage.Open(str(path))
    mesh = mesh_of(stage)
    st = UsdGeom.PrimvarsAPI(mesh).GetPrimvar("st")
    np.testing.assert_array_equal(np.array(st.Get()), cloth.mesh.uv)
    assert st.GetInterpolation() == UsdGeom.Tokens.vertex
    colors = np.array(mesh.GetDisplayColorPrimvar().Get())
    np.testing.assert_allclose(colors * 255, cloth.mesh.colors[:, :3], atol=1e-4)
    subsets = UsdShade.MaterialBindingAPI(mesh).GetMaterialBindSubsets()
    assert [list(subset.GetIndicesAttr().Get()) for subset in subsets] == [[0, 1], [2, 3]]
    bound = [UsdShade.MaterialBindingAPI(s).ComputeBoundMaterial()[0] for s in subsets]
    full, glass = (inputs_of(material) for material in bound)
    for name, slot, channel in (
        ("diffuseColor", "base_color", "rgb"),
        ("roughness", "metallic_roughness", "g"),
        ("metallic", "metallic_roughness", "b"),
        ("normal", "normal", "rgb"),
        ("occlusion", "occlusion", "r"),
        ("emissiveColor", "emissive", "rgb"),
    ):
        node, source_channel = full[name]
        assert source_channel == channel
        file = node.GetInput("file").Get().resolvedPath
        expected = np.asarray(cloth.mesh.materials[0].textures[slot])
        np.testing.assert_array_equal(np.asarray(Image.open(file)), expected)
        srgb = slot in ("base_color", "emissive")
        assert node.GetInput("sourceColorSpace").Get() == ("sRGB" if srgb else "raw")
    scale = full["diffuseColor"][0].GetInput("scale").Get()
    np.testing.assert_allclose(scale, cloth.mesh.materials[0].base_color)
    assert glass["opacity"][1] == "a"
    assert glass["opacityThreshold"] == pytest.approx(0.4)
    assert glass["roughness"] == pytest.approx(0.8)


def test_package_holds_its_textures(cloth, tmp_path):
    path = write_usd(cloth, tmp_path / "cloth.usdz")
    assert [file.name for file in tmp_path.iterdir()] == ["cloth.usdz"]
    stage = Usd.Stage.Open(str(path))
    mesh = mesh_of(stage)
    np.testing.assert_array_equal(np.array(mesh.GetPointsAttr().Get(3)), cloth.vertices[3])
    with zipfile.ZipFile(path) as archive:
        names = archive.namelist()
        assert names[0].endswith(".usdc")
        pictures = [Image.open(io.BytesIO(archive.read(name))) for name in names[1:]]
    sources = {id(i): i for m in cloth.mesh.materials for i in m.textures.values()}
    stored = {np.asarray(picture).tobytes() for picture in pictures}
    assert stored == {np.asarray(image).tobytes() for image in sources.values()}


def test_pixars_own_validators_find_nothing(door, cloth, tmp_path):
    validation = pytest.importorskip("pxr.UsdValidation")
    registry = validation.ValidationRegistry()
    context = validation.ValidationContext(registry.GetOrLoadAllValidators())
    for name, clip in (("a.usdz", cloth), ("b.usdc", door), ("c.usdc", cloth)):
        stage = Usd.Stage.Open(str(write_usd(clip, tmp_path / name)))
        assert [error.GetMessage() for error in context.Validate(stage)] == []


def test_names_are_made_valid(cloth, tmp_path):
    odd = replace(cloth, mesh=replace(cloth.mesh, name="3 ünï/köde.obj"))
    stage = Usd.Stage.Open(str(write_usd(odd, tmp_path / "a.usda")))
    assert len(mesh_of(stage).GetPointsAttr().Get(0)) == 6


def test_failure_leaves_old_file_and_textures(cloth, tmp_path, monkeypatch):
    path = write_usd(cloth, tmp_path / "a.usdc")
    before = {p: p.read_bytes() for p in tmp_path.rglob("*") if p.is_file()}
    real = usd._write_points

    def fail_at_the_end(*arguments):
        real(*arguments)
        raise RuntimeError("power cut")

    monkeypatch.setattr(usd, "_write_points", fail_at_the_end)
    with pytest.raises(RuntimeError):
        write_usd(replace(cloth, fps=99), path)
    assert {p: p.read_bytes() for p in tmp_path.rglob("*") if p.is_file()} == before


def test_unwritable_targets(door, tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(OutputError, match="cannot write"):
        write_usd(door, tmp_path / "file" / "a.usdc")


def test_bad_options(door, tmp_path):
    with pytest.raises(InputError, match=r"\.usdz"):
        write_usd(door, tmp_path / "a.abc")
    with pytest.raises(InputError, match="up axis"):
        write_usd(door, tmp_path / "a.usd", up="x")


def test_without_usd_the_extra_is_named(door, tmp_path, monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "pxr.Usd", None)
    with pytest.raises(MissingExtraError, match=r"kin4d\[usd\]"):
        write_usd(door, tmp_path / "a.usdc")
