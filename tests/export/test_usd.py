"""USD files, read back by Pixar's own library."""

from __future__ import annotations

import io
import zipfile
from dataclasses import replace

import numpy as np
import pytest
from PIL import Image

from kin4d.errors import InputError, MissingExtraError, OutputError
from kin4d.export import crate, usd
from kin4d.export.usd import write_usd
from kin4d.geometry.clip import Clip
from kin4d.geometry.material import linear_colors
from kin4d.geometry.mesh import Mesh

pytest.importorskip("pxr")
from pxr import Usd, UsdGeom, UsdShade, Vt


def mesh_of(stage: Usd.Stage) -> UsdGeom.Mesh:
    (found,) = (prim for prim in stage.Traverse() if prim.IsA(UsdGeom.Mesh))
    return UsdGeom.Mesh(found)


@pytest.mark.parametrize("fast", [False, True])
@pytest.mark.parametrize("suffix", usd.USD_SUFFIXES)
def test_every_frame_comes_back(door, tmp_path, suffix, fast):
    stage = Usd.Stage.Open(str(write_usd(door, tmp_path / f"door{suffix}", fast=fast)))
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


def frames_of(stage: Usd.Stage) -> np.ndarray:
    points = mesh_of(stage).GetPointsAttr()
    return np.stack([np.array(points.Get(i)) for i in points.GetTimeSamples()])


@pytest.mark.parametrize("count", [1, 2, 5, 6])
@pytest.mark.parametrize("frames", [2, 3, 300])
def test_streamed_points_of_any_size(cloth, tmp_path, count, frames):
    """Odd and even counts end at different places between the file's eight-byte steps."""
    vertices = np.random.default_rng(count).normal(size=(frames, 3 * count, 3))
    mesh = Mesh(vertices=vertices[0], faces=np.arange(3 * count).reshape(-1, 3))
    clip = Clip(mesh=mesh, vertices=vertices, fps=24)
    stage = Usd.Stage.Open(str(write_usd(clip, tmp_path / "a.usdc", fast=True)))
    np.testing.assert_array_equal(frames_of(stage), clip.vertices)


def test_frames_that_do_not_differ(door, tmp_path):
    """USD stores equal arrays once; fast ones differ by their frame."""
    clip = replace(door, vertices=np.repeat(door.vertices[:1], len(door), 0), skin=None)
    stage = Usd.Stage.Open(str(write_usd(clip, tmp_path / "a.usdc", fast=True)))
    np.testing.assert_array_equal(frames_of(stage), clip.vertices)


def test_binary_files_can_be_edited_and_saved_in_place(cloth, tmp_path):
    path = write_usd(cloth, tmp_path / "a.usdc", fast=True)
    stage = Usd.Stage.Open(str(path))
    extra = np.ones((6, 3), np.float32)
    mesh_of(stage).GetPointsAttr().Set(Vt.Vec3fArray.FromNumpy(extra), len(cloth))
    stage.GetDefaultPrim().SetCustomDataByKey("note", "edited")
    stage.Save()
    del stage
    again = Usd.Stage.Open(str(path))
    assert again.GetDefaultPrim().GetCustomDataByKey("note") == "edited"
    np.testing.assert_array_equal(frames_of(again), [*cloth.vertices, extra])


def test_binary_and_text_say_the_same(cloth, tmp_path):
    binary = Usd.Stage.Open(str(write_usd(cloth, tmp_path / "a.usdc", fast=True)))
    text = Usd.Stage.Open(str(write_usd(cloth, tmp_path / "a.usda")))
    assert binary.ExportToString().splitlines()[4:] == text.ExportToString().splitlines()[4:]


def test_an_unknown_layout_is_left_to_usd(cloth, tmp_path, monkeypatch):
    def unknown(*arguments):
        raise crate.UnknownCrateError("of a later age")

    monkeypatch.setattr(crate, "_sections", unknown)
    stage = Usd.Stage.Open(str(write_usd(cloth, tmp_path / "a.usdc", fast=True)))
    np.testing.assert_array_equal(frames_of(stage), cloth.vertices)


def test_layouts_that_are_refused(cloth, tmp_path):
    target = tmp_path / "b.usdc"
    path = write_usd(cloth, tmp_path / "a.usdc", fast=True)
    with pytest.raises(crate.UnknownCrateError, match="nothing refers"):
        crate.replace_stand_ins(path, target, cloth.vertices)
    still = write_usd(
        Clip(mesh=cloth.mesh, vertices=cloth.vertices[:1], fps=1), tmp_path / "c.usdc"
    )
    with pytest.raises(crate.UnknownCrateError, match="stand-in 0"):
        crate.replace_stand_ins(still, target, cloth.vertices)
    data = path.read_bytes()
    for bad, match in ((b"#usda 1.0" * 9, "version"), (data + b"more", "table")):
        path.write_bytes(bad)
        with pytest.raises(crate.UnknownCrateError, match=match):
            crate.replace_stand_ins(path, target, cloth.vertices)
    assert not target.exists()


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
    np.testing.assert_allclose(colors, linear_colors(cloth.mesh.colors)[:, :3], atol=1e-6)
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
        stage = Usd.Stage.Open(str(write_usd(clip, tmp_path / name, fast=True)))
        assert [error.GetMessage() for error in context.Validate(stage)] == []


@pytest.mark.parametrize("name", ["3 ünï/köde.obj", "", "Materials"])
def test_any_name_will_do(cloth, tmp_path, name):
    odd = replace(cloth, mesh=replace(cloth.mesh, name=name))
    stage = Usd.Stage.Open(str(write_usd(odd, tmp_path / "a.usda")))
    assert len(mesh_of(stage).GetPointsAttr().Get(0)) == 6


def test_failure_leaves_old_file_and_textures(cloth, tmp_path, monkeypatch):
    path = write_usd(cloth, tmp_path / "a.usdc", fast=True)
    before = {p: p.read_bytes() for p in tmp_path.rglob("*") if p.is_file()}
    real = usd.replace_stand_ins

    def fail_at_the_end(*arguments):
        real(*arguments)
        raise RuntimeError("power cut")

    monkeypatch.setattr(usd, "replace_stand_ins", fail_at_the_end)
    with pytest.raises(RuntimeError):
        write_usd(replace(cloth, fps=99), path, fast=True)
    assert {p: p.read_bytes() for p in tmp_path.rglob("*") if p.is_file()} == before


def test_unwritable_targets(door, tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(OutputError, match="cannot write"):
        write_usd(door, tmp_path / "file" / "a.usdc")


def test_bad_options(door, tmp_path):
    with pytest.raises(InputError, match=r"\.usdz"):
        write_usd(door, tmp_path / "a.abc")


def test_without_usd_the_extra_is_named(door, tmp_path, monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "pxr.Usd", None)
    with pytest.raises(MissingExtraError, match=r"kin4d\[usd\]"):
        write_usd(door, tmp_path / "a.usdc")
