"""Clips on disk: one .npz archive that holds everything and can run nothing (no pickle)."""

from __future__ import annotations

import json
from dataclasses import fields
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import numpy as np

from kin4d.errors import InputError
from kin4d.files import atomic_path, read_arrays
from kin4d.geometry.clip import Clip
from kin4d.geometry.io.texture import decode_image, encode_image
from kin4d.geometry.material import SurfaceMaterial
from kin4d.geometry.mesh import Mesh
from kin4d.geometry.skin import SkinAnimation
from kin4d.geometry.up_axis import to_z_up
from kin4d.reading import parse_json, reading

if TYPE_CHECKING:
    from PIL.Image import Image

FORMAT = "kin4d.clip/1"

_MESH_ARRAYS = (
    "vertices",
    "faces",
    "uv",
    "normals",
    "tangents",
    "colors",
    "face_material",
    "face_group",
    "source_index",
)
_STORED_AS = {"face_group": "face_part"}  # archives keep the names of format 1
_SKIN_ARRAYS = ("joints", "weights", "transforms")
_SKELETON_ARRAYS = ("parents", "pivots")  # of a skin, where a skeleton is known
_MATERIAL_FIELDS = [field.name for field in fields(SurfaceMaterial) if field.name != "textures"]


def save_clip(clip: Clip, path: str | Path) -> Path:
    """Write `clip` to `path` (.npz); `load_clip` gives it back.

    The archive holds one array per field ("vertices", "mesh/faces", "skin/joints",
    "diagnostics/NAME", "texture/0" as image file bytes, ...) and "header": JSON with the format's
    name, fps, names and materials.
    """
    path = Path(path)
    if path.suffix.lower() != ".npz":
        raise InputError("clips are saved as .npz", value=path.name, allowed="a name in .npz")
    images: list[Image] = []
    materials = [_material_to_json(material, images) for material in clip.mesh.materials]
    header: dict[str, Any] = {
        "format": FORMAT,
        "fps": clip.fps,
        "up": "z",
        "mesh": {
            "name": clip.mesh.name,
            "parts": clip.mesh.groups,
            "materials": materials,
            "source_up": clip.mesh.source_up,
        },
    }
    arrays = {
        f"mesh/{_STORED_AS.get(name, name)}": getattr(clip.mesh, name) for name in _MESH_ARRAYS
    }
    arrays |= {"vertices": clip.vertices, "q": clip.q}
    if clip.skin is not None:
        header["joints"] = clip.skin.names
        for name in (*_SKIN_ARRAYS, *_SKELETON_ARRAYS):
            arrays[f"skin/{name}"] = getattr(clip.skin, name)
    for i, image in enumerate(images):
        arrays[f"texture/{i}"] = np.frombuffer(encode_image(image).data, np.uint8)
    for name, values in clip.diagnostics.items():
        arrays[f"diagnostics/{name}"] = _plain(name, values)
    arrays["header"] = np.array(json.dumps(header))
    present = {name: values for name, values in arrays.items() if values is not None}
    with atomic_path(path) as temporary:
        np.savez(temporary, **present)
    return path


def _plain(name: str, values: Any) -> np.ndarray:
    """`values` as an array of numbers or text; of objects, only pickle could hold it."""
    array = np.asarray(values)
    if array.dtype.hasobject:
        raise InputError(
            f"diagnostic '{name}' cannot be saved", value=str(array.dtype), allowed="numbers"
        )
    return array


def load_clip(path: str | Path) -> Clip:
    """Read a clip that `save_clip` wrote; anything else is an `InputError` saying what is wrong."""
    arrays = read_arrays(path, what="clip")
    with reading(path, "clip", place="its header", hint=f"give a clip in the format {FORMAT}"):
        header = parse_json(str(arrays["header"]))
        found = header["format"]
    if found != FORMAT:
        raise InputError(
            f"{path} has another format",
            value=found,
            allowed=FORMAT,
            hint="write the clip again with this version of kin4d",
        )
    with reading(path, "clip"):
        return _clip(header, arrays)


def _clip(header: dict[str, Any], arrays: dict[str, np.ndarray]) -> Clip:
    up = header.get("up", "z")
    if up != "z":  # as written before clips were always z-up
        rotation = np.eye(4)
        rotation[:3, :3] = to_z_up(np.eye(3), up).T
        for name in {"vertices", "mesh/vertices", "mesh/normals"} & set(arrays):
            arrays[name] = to_z_up(arrays[name], up)
        if "skin/transforms" in arrays:
            arrays["skin/transforms"] = rotation @ arrays["skin/transforms"] @ rotation.T
    images = {
        int(name.removeprefix("texture/")): decode_image(data.tobytes(), name=name)
        for name, data in arrays.items()
        if name.startswith("texture/")
    }
    mesh = Mesh(
        **{name: arrays.get(f"mesh/{_STORED_AS.get(name, name)}") for name in _MESH_ARRAYS},  # pyright: ignore[reportArgumentType]
        materials=tuple(
            _material_from_json(entry, images) for entry in header["mesh"]["materials"]
        ),
        groups=tuple(header["mesh"]["parts"]),
        name=header["mesh"]["name"],
        source_up=header["mesh"].get("source_up"),
    )
    skin = None
    if "joints" in header:
        tracks = {name: arrays[f"skin/{name}"] for name in _SKIN_ARRAYS}
        skin = SkinAnimation(
            names=tuple(header["joints"]),
            **tracks,
            parents=arrays.get("skin/parents"),
            pivots=arrays.get("skin/pivots"),
        )
    diagnostics = {
        name.removeprefix("diagnostics/"): values
        for name, values in arrays.items()
        if name.startswith("diagnostics/")
    }
    return Clip(
        mesh=mesh,
        vertices=arrays["vertices"],
        fps=header["fps"],
        q=arrays.get("q"),
        skin=skin,
        diagnostics=MappingProxyType(diagnostics),
    )


def _material_to_json(material: SurfaceMaterial, images: list[Image]) -> dict[str, Any]:
    """The fields of `material`, its textures as indices into `images`, which are appended to."""
    entry = {name: getattr(material, name) for name in _MATERIAL_FIELDS}
    entry["textures"] = {}
    for slot, image in material.textures.items():
        known = [i for i, other in enumerate(images) if other is image]
        if not known:
            images.append(image)
        entry["textures"][slot] = known[0] if known else len(images) - 1
    return entry


def _material_from_json(entry: dict[str, Any], images: dict[int, Image]) -> SurfaceMaterial:
    values: dict[str, Any] = {
        name: tuple(value) if isinstance(value, list) else value for name, value in entry.items()
    }
    values["textures"] = MappingProxyType(
        {slot: images[index] for slot, index in entry["textures"].items()}
    )
    return SurfaceMaterial(**values)
