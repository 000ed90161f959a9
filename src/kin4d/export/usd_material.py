"""Materials in a USD stage, as UsdPreviewSurface networks."""

# usd-core ships no type information.
# pyright: reportAttributeAccessIssue=false
from __future__ import annotations

from typing import Any

import numpy as np

from kin4d.export.mesh_arrays import faces_by_material
from kin4d.export.textures import TextureFolder
from kin4d.geometry.material import SurfaceMaterial
from kin4d.geometry.mesh import Mesh


def bind_materials(
    stage: Any, prim: Any, mesh: Mesh, textures: TextureFolder, *, scope: str
) -> None:
    """Define the materials `mesh` uses under the path `scope` and bind them to `prim`, by face
    subsets if several."""
    from pxr import UsdGeom, UsdShade, Vt

    used = faces_by_material(mesh)
    UsdGeom.Scope.Define(stage, scope)
    for index, faces in used.items():
        material = _define(stage, f"{scope}/m{index}", mesh.materials[index], textures)
        target = prim.GetPrim()
        if len(used) > 1:
            subset = UsdGeom.Subset.CreateGeomSubset(
                prim,
                f"m{index}",
                UsdGeom.Tokens.face,
                Vt.IntArray.FromNumpy(np.asarray(faces, np.int32)),
                UsdShade.Tokens.materialBind,
            )
            target = subset.GetPrim()
        UsdShade.MaterialBindingAPI.Apply(target).Bind(material)
    if len(used) > 1:
        UsdShade.MaterialBindingAPI(prim).SetMaterialBindSubsetsFamilyType(UsdGeom.Tokens.partition)


def _define(stage: Any, path: str, source: SurfaceMaterial, textures: TextureFolder) -> Any:
    from pxr import Gf, Sdf, UsdShade

    types = Sdf.ValueTypeNames
    material = UsdShade.Material.Define(stage, path)
    material.GetPrim().SetDisplayName(source.name)
    surface = UsdShade.Shader.Define(stage, f"{path}/Surface")
    surface.CreateIdAttr("UsdPreviewSurface")
    material.CreateSurfaceOutput().ConnectToSource(surface.ConnectableAPI(), "surface")

    def texture(slot: str, *, srgb: bool, scale: tuple, bias: tuple = (0, 0, 0, 0)) -> Any:
        """A texture node reading the "st" coordinates; None if the slot has no image."""
        file = textures.path(source, slot)
        if file is None:
            return None
        reader = UsdShade.Shader.Define(stage, f"{path}/Coordinates")
        reader.CreateIdAttr("UsdPrimvarReader_float2")
        reader.CreateInput("varname", types.String).Set("st")
        reader.CreateOutput("result", types.Float2)
        node = UsdShade.Shader.Define(stage, f"{path}/{slot}")
        node.CreateIdAttr("UsdUVTexture")
        node.CreateInput("file", types.Asset).Set(Sdf.AssetPath(f"./{file}"))
        node.CreateInput("st", types.Float2).ConnectToSource(reader.ConnectableAPI(), "result")
        node.CreateInput("sourceColorSpace", types.Token).Set("sRGB" if srgb else "raw")
        for wrap in ("wrapS", "wrapT"):
            node.CreateInput(wrap, types.Token).Set("repeat")
        node.CreateInput("scale", types.Float4).Set(Gf.Vec4f(*scale))
        node.CreateInput("bias", types.Float4).Set(Gf.Vec4f(*bias))
        return node

    def put(name: str, kind: Any, value: Any, node: Any = None, channel: str = "rgb") -> None:
        """Set an input of the surface, or connect it to a texture's channel."""
        entry = surface.CreateInput(name, kind)
        if node is None:
            entry.Set(value)
        else:
            node.CreateOutput(channel, types.Float3 if channel == "rgb" else types.Float)
            entry.ConnectToSource(node.ConnectableAPI(), channel)

    *rgb, alpha = source.base_color
    base = texture("base_color", srgb=True, scale=source.base_color)
    put("diffuseColor", types.Color3f, Gf.Vec3f(*rgb), base)
    if source.alpha_mode != "OPAQUE":
        put("opacity", types.Float, alpha, base, "a")
    if source.alpha_mode == "MASK":
        put("opacityThreshold", types.Float, source.alpha_cutoff)
    factors = (1, source.roughness, source.metallic, 1)
    packed = texture("metallic_roughness", srgb=False, scale=factors)
    put("roughness", types.Float, source.roughness, packed, "g")
    put("metallic", types.Float, source.metallic, packed, "b")
    glow = texture("emissive", srgb=True, scale=(*source.emissive, 1))
    put("emissiveColor", types.Color3f, Gf.Vec3f(*source.emissive), glow)
    # Normal maps store [-1, 1] as [0, 1].
    bumps = texture("normal", srgb=False, scale=(2, 2, 2, 1), bias=(-1, -1, -1, 0))
    if bumps is not None:
        put("normal", types.Normal3f, None, bumps)
    shade = texture("occlusion", srgb=False, scale=(1, 1, 1, 1))
    if shade is not None:
        put("occlusion", types.Float, None, shade, "r")
    return material
