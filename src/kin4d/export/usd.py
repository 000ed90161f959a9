"""Clips as USD: one mesh with time-sampled points, preview materials and textures."""

# usd-core ships no type information.
# pyright: reportAttributeAccessIssue=false
from __future__ import annotations

from collections.abc import Iterable
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import numpy as np

from kin4d.errors import InputError, OutputError
from kin4d.export.crate import UnknownCrateError, replace_stand_ins, stand_in
from kin4d.export.mesh_arrays import column_bounds
from kin4d.export.textures import TextureFolder
from kin4d.export.usd_material import bind_materials
from kin4d.extras import require
from kin4d.files import atomic_path
from kin4d.geometry.clip import Clip
from kin4d.geometry.material import linear_colors
from kin4d.geometry.mesh import Mesh

USD_SUFFIXES = (".usd", ".usda", ".usdc", ".usdz")


def write_usd(clip: Clip, path: str | Path, *, fast: bool = False) -> Path:
    """Write `clip` as USD: text (.usda), binary (.usd, .usdc) or a package with textures (.usdz).

    Frame i is time code i. Textures go to ``<stem>_textures/`` beside the file, or into the
    package. Units are metres. A clip of one frame has no time samples.

    Args:
        clip: The animation.
        path: Target; replaced whole or not at all.
        fast: Write the points of a binary file directly (see `kin4d.export.crate`) instead of
            through USD's library: about four times faster for large clips.
    """
    path = Path(path)
    if path.suffix.lower() not in USD_SUFFIXES:
        raise InputError("unknown USD suffix", value=path.suffix, allowed=", ".join(USD_SUFFIXES))
    require("pxr.Usd", extra="usd", purpose="writing USD")
    from pxr import Tf

    folder = path.with_name(f"{path.stem}_textures")
    textures = TextureFolder(clip.mesh, folder.name)
    packed = path.suffix.lower() == ".usdz"
    beside = atomic_path(folder) if textures.files and not packed else nullcontext()
    try:
        # Both are written before either takes its place.
        with beside as texture_target, atomic_path(path) as temporary:
            if texture_target is not None:
                textures.write(texture_target)
            if packed:
                _write_package(clip, temporary, textures, fast=fast)
            else:
                _write_file(clip, temporary, textures, fast=fast)
    except Tf.ErrorException as error:
        raise OutputError(f"USD could not write {path}: {error}") from error
    return path


def _write_package(clip: Clip, path: Path, textures: TextureFolder, *, fast: bool) -> None:
    """A .usdz: an uncompressed archive whose first file is the stage."""
    from pxr import UsdUtils

    stage = path.with_suffix(".usdc")
    _write_file(clip, stage, textures, fast=fast)
    textures.write(path.parent / textures.name)
    if not UsdUtils.CreateNewUsdzPackage(str(stage), str(path)):
        raise OutputError(f"USD could not pack {path.name}")


def _write_file(clip: Clip, path: Path, textures: TextureFolder, *, fast: bool) -> None:
    """The stage as one file."""
    if not fast or path.suffix.lower() == ".usda" or len(clip) == 1:
        _write_stage(clip, path, textures, samples=clip.vertices)
        return
    scaffold = path.with_name(f"{path.stem}.scaffold.usdc")
    _write_stage(clip, scaffold, textures, samples=map(stand_in, range(len(clip))))
    try:
        replace_stand_ins(scaffold, path, clip.vertices)
    except UnknownCrateError:
        # A later version of the format: USD's library writes it.
        _write_stage(clip, path, textures, samples=clip.vertices)


def _write_stage(
    clip: Clip, path: Path, textures: TextureFolder, *, samples: Iterable[np.ndarray]
) -> None:
    from pxr import Tf, Usd, UsdGeom

    stage = Usd.Stage.CreateNew(str(path))
    UsdGeom.SetStageUpAxis(stage, UsdGeom.Tokens.z)
    UsdGeom.SetStageMetersPerUnit(stage, UsdGeom.LinearUnits.meters)
    stage.SetTimeCodesPerSecond(clip.fps)
    stage.SetFramesPerSecond(clip.fps)
    stage.SetStartTimeCode(0)
    stage.SetEndTimeCode(len(clip) - 1)
    root = UsdGeom.Xform.Define(stage, "/Clip")
    stage.SetDefaultPrim(root.GetPrim())
    UsdGeom.Scope.Define(stage, "/Clip/Geometry")
    mesh = define_mesh(stage, f"/Clip/Geometry/{Tf.MakeValidIdentifier(clip.mesh.name)}", clip.mesh)
    bind_materials(stage, mesh, clip.mesh, textures, scope="/Clip/Materials")
    _set_points(mesh, clip, samples)
    stage.Save()


def define_mesh(stage: Any, path: str, source: Mesh) -> Any:
    """A mesh prim without its points: faces, texture coordinates, colours."""
    from pxr import Sdf, UsdGeom, Vt

    mesh = UsdGeom.Mesh.Define(stage, path)
    mesh.CreateSubdivisionSchemeAttr(UsdGeom.Tokens.none)
    mesh.CreateFaceVertexCountsAttr(Vt.IntArray(len(source.faces), 3))
    mesh.CreateFaceVertexIndicesAttr(Vt.IntArray.FromNumpy(source.faces.astype(np.int32).ravel()))
    mesh.CreateDoubleSidedAttr(any(material.double_sided for material in source.materials))
    primvars = UsdGeom.PrimvarsAPI(mesh)
    if source.uv is not None:
        st = primvars.CreatePrimvar("st", Sdf.ValueTypeNames.TexCoord2fArray, UsdGeom.Tokens.vertex)
        st.Set(Vt.Vec2fArray.FromNumpy(source.uv))
    if source.colors is not None:
        colors = linear_colors(source.colors).astype(np.float32)
        mesh.CreateDisplayColorPrimvar(UsdGeom.Tokens.vertex).Set(
            Vt.Vec3fArray.FromNumpy(np.ascontiguousarray(colors[:, :3]))
        )
        mesh.CreateDisplayOpacityPrimvar(UsdGeom.Tokens.vertex).Set(
            Vt.FloatArray.FromNumpy(np.ascontiguousarray(colors[:, 3]))
        )
    return mesh


def _set_points(mesh: Any, clip: Clip, samples: Iterable[np.ndarray]) -> None:
    """Rest points as the default value, `samples` as those of the frames, and their extents."""
    from pxr import Sdf, Usd, Vt

    points, extent = mesh.CreatePointsAttr(), mesh.CreateExtentAttr()
    still = len(clip) == 1
    rest = clip.vertices[0] if still else clip.mesh.vertices.astype(np.float32)
    points.Set(Vt.Vec3fArray.FromNumpy(rest), Usd.TimeCode.Default())
    extent.Set(Vt.Vec3fArray.FromNumpy(column_bounds(rest)), Usd.TimeCode.Default())
    if still:
        return
    layer = mesh.GetPrim().GetStage().GetRootLayer()
    with Sdf.ChangeBlock():
        for frame, (sample, vertices) in enumerate(zip(samples, clip.vertices, strict=True)):
            bounds = Vt.Vec3fArray.FromNumpy(column_bounds(vertices))
            layer.SetTimeSample(extent.GetPath(), frame, bounds)
            layer.SetTimeSample(points.GetPath(), frame, Vt.Vec3fArray.FromNumpy(sample))
