"""The files an MJCF model reads: looked through before MuJoCo opens them."""

from __future__ import annotations

from pathlib import Path

from kin4d.bodies.robot.asset_resolver import package_folder
from kin4d.errors import InputError
from kin4d.geometry.io.safe_xml import parse_xml

_FOLDERS = {"mesh": "meshdir", "texture": "texturedir", "hfield": "meshdir", "skin": "meshdir"}


def check_files(path: Path) -> None:
    """Refuse a model that is not MJCF, is unsafe XML or reads files outside its own folder."""
    root = parse_xml(path)
    if root.tag != "mujoco":
        raise InputError(f"{path} is not MJCF", value=f"<{root.tag}>", allowed="<mujoco> as root")
    folder = path.resolve().parent
    allowed = package_folder(path.resolve())
    elements, queue, seen = [], [root], {path.resolve()}
    while queue:
        for element in queue.pop().iter():
            elements.append(element)
            name = element.get("file")
            if element.tag in ("include", "model") and name:
                included = _inside(folder, name, allowed, path)
                if included not in seen and included.suffix.lower() == ".xml":
                    seen.add(included)
                    queue.append(parse_xml(included))
    folders = {}
    for element in elements:
        if element.tag == "compiler":
            folders.update({k: v for k, v in element.items() if k.endswith("dir")})
    for element in elements:
        name = element.get("file")
        if name and element.tag in _FOLDERS:
            where = folders.get(_FOLDERS[element.tag], folders.get("assetdir", ""))
            _inside(folder / where, name, allowed, path)


def _inside(folder: Path, name: str, allowed: Path, path: Path) -> Path:
    found = (folder / name).resolve()
    if not found.is_relative_to(allowed):
        raise InputError(
            f"{path.name} names a file outside the folders it may read",
            value=name,
            allowed=f"files in {allowed}",
        )
    return found
