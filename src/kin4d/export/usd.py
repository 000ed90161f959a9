"""Clips as USD: one mesh with time-sampled points, preview materials and textures."""

# usd-core ships no type information.
# pyright: reportAttributeAccessIssue=false
from __future__ import annotations

import ctypes
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import nullcontext
from pathlib import Path
from typing import Any, Literal

import numpy as np

from kin4d.errors import InputError, OutputError
from kin4d.export.bounds import column_bounds
from kin4d.export.textures import TextureFolder
from kin4d.export.usd_material import bind_materials
from kin4d.extras import require
from kin4d.files import atomic_path
from kin4d.geometry.clip import Clip

USD_SUFFIXES = (".usd", ".usda", ".usdc", ".usdz")

# Frames packed at a time: few enough to stay in the processor's cache, enough to amortise a save.
_BATCH_BYTES = 12_000_000


def write_usd(clip: Clip, path: str | Path, *, up: Literal["y", "z"] = "y") -> Path:
    """Write `clip` as USD: text (.usda), binary (.usd, .usdc) or a package with textures (.usdz).

    Frame i is time code i. Textures go to ``<stem>_textures/`` beside the file, or into the
    package. Units are metres. A clip of one frame has no time samples.

    Args:
        clip: The animation.
        path: Target; replaced whole or not at all.
        up: Which of the mesh's own axes points up.
    """
    path = Path(path)
    if path.suffix.lower() not in USD_SUFFIXES:
        raise InputError("unknown USD suffix", value=path.suffix, allowed=", ".join(USD_SUFFIXES))
    if up not in ("y", "z"):
        raise InputError("unknown up axis", value=up, allowed="'y' or 'z'")
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
                _write_package(clip, temporary, textures, up)
            else:
                _write_stage(clip, temporary, textures, up)
    except Tf.ErrorException as error:
        raise OutputError(f"USD could not write {path}: {error}") from error
    return path


def _write_package(clip: Clip, path: Path, textures: TextureFolder, up: str) -> None:
    """A .usdz: an uncompressed archive whose first file is the stage."""
    from pxr import UsdUtils

    stage = path.with_suffix(".usdc")
    _write_stage(clip, stage, textures, up)
    textures.write(path.parent / textures.name)
    if not UsdUtils.CreateNewUsdzPackage(str(stage), str(path)):
        raise OutputError(f"USD could not pack {path.name}")


def _write_stage(clip: Clip, path: Path, textures: TextureFolder, up: str) -> None:
    from pxr import Usd, UsdGeom

    stage = Usd.Stage.CreateNew(str(path))
    UsdGeom.SetStageUpAxis(stage, UsdGeom.Tokens.z if up == "z" else UsdGeom.Tokens.y)
    UsdGeom.SetStageMetersPerUnit(stage, UsdGeom.LinearUnits.meters)
    stage.SetTimeCodesPerSecond(clip.fps)
    stage.SetFramesPerSecond(clip.fps)
    stage.SetStartTimeCode(0)
    stage.SetEndTimeCode(len(clip) - 1)
    root = UsdGeom.Xform.Define(stage, "/Clip")
    stage.SetDefaultPrim(root.GetPrim())
    mesh = _define_mesh(stage, clip)
    bind_materials(stage, mesh, clip.mesh, textures)
    _write_points(stage, mesh, clip)
    stage.Save()


def _define_mesh(stage: Any, clip: Clip) -> Any:
    """The mesh without its points: faces, texture coordinates, colours."""
    from pxr import Sdf, Tf, UsdGeom, Vt

    source = clip.mesh
    name = Tf.MakeValidIdentifier(source.name)
    mesh = UsdGeom.Mesh.Define(stage, f"/Clip/{name}")
    mesh.CreateSubdivisionSchemeAttr(UsdGeom.Tokens.none)
    mesh.CreateFaceVertexCountsAttr(Vt.IntArray(len(source.faces), 3))
    mesh.CreateFaceVertexIndicesAttr(Vt.IntArray.FromNumpy(source.faces.astype(np.int32).ravel()))
    mesh.CreateDoubleSidedAttr(any(material.double_sided for material in source.materials))
    primvars = UsdGeom.PrimvarsAPI(mesh)
    if source.uv is not None:
        st = primvars.CreatePrimvar("st", Sdf.ValueTypeNames.TexCoord2fArray, UsdGeom.Tokens.vertex)
        st.Set(Vt.Vec2fArray.FromNumpy(source.uv))
    if source.colors is not None:
        colors = source.colors.astype(np.float32) / 255
        mesh.CreateDisplayColorPrimvar(UsdGeom.Tokens.vertex).Set(
            Vt.Vec3fArray.FromNumpy(np.ascontiguousarray(colors[:, :3]))
        )
        mesh.CreateDisplayOpacityPrimvar(UsdGeom.Tokens.vertex).Set(
            Vt.FloatArray.FromNumpy(np.ascontiguousarray(colors[:, 3]))
        )
    return mesh


def _write_points(stage: Any, mesh: Any, clip: Clip) -> None:
    """Rest points as the default, and one time sample per frame, saved batch by batch."""
    from pxr import Usd, Vt

    points, extent = mesh.CreatePointsAttr(), mesh.CreateExtentAttr()

    def set_points(values: Any, bounds: np.ndarray, time: Any) -> None:
        points.Set(values, time)
        extent.Set(Vt.Vec3fArray.FromNumpy(bounds), time)

    still = len(clip) == 1
    rest = clip.vertices[0] if still else clip.mesh.vertices.astype(np.float32)
    set_points(Vt.Vec3fArray.FromNumpy(rest), column_bounds(rest), Usd.TimeCode.Default())
    if still:
        return
    # Binary files are appended to; text would be written anew.
    binary = not stage.GetRootLayer().identifier.lower().endswith(".usda")
    frame = 0
    for batch in _point_batches(clip.vertices):
        for values, bounds in batch:
            set_points(values, bounds, frame)
            frame += 1
        if binary:
            # Saved samples leave memory, and their arrays can be filled again.
            stage.Save()


def _point_batches(frames: np.ndarray) -> Iterator[list[tuple[Any, np.ndarray]]]:
    """The frames [T, V, 3] as USD arrays with bounds [2, 3]; the next batch is filled meanwhile."""
    from pxr import Vt

    size = min(max(1, _BATCH_BYTES // frames[0].nbytes), len(frames))
    pools = [[Vt.Vec3fArray(frames.shape[1]) for _ in range(size)] for _ in range(2)]

    def fill(start: int) -> list[tuple[Any, np.ndarray]]:
        pool = pools[start // size % 2]
        chosen = frames[start : start + size]
        return [_fill(array, points) for array, points in zip(pool, chosen, strict=False)]

    with ThreadPoolExecutor(1) as helper:
        batch = helper.submit(fill, 0)
        for start in range(0, len(frames), size):
            ready = batch.result()
            if start + size < len(frames):
                batch = helper.submit(fill, start + size)
            yield ready


def _fill(array: Any, points: np.ndarray) -> tuple[Any, np.ndarray]:
    """Copy `points` [V, 3] float32 into a USD array of that length; returns it and its bounds.

    USD's own conversion goes number by number and takes longer than writing the file.
    """
    from pxr import Gf

    # Arrays are copied on write: after an assignment this one shares its memory with nobody.
    array[0] = Gf.Vec3f(0)
    memory = np.asarray(array)
    ctypes.memmove(memory.ctypes.data, points.ctypes.data, points.nbytes)
    return array, column_bounds(memory)
