"""The files an MJCF model reads: looked through before MuJoCo opens them.

MuJoCo joins a name with folders that `<compiler>` elements give, in the model, in its includes and
in other models it attaches, the later ones replacing earlier ones. Rather than repeat these rules,
every name is tried with every folder that is given anywhere; all must lie where the model may read.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from kin4d.bodies.robot.asset_resolver import package_folder
from kin4d.errors import InputError
from kin4d.geometry.io.safe_xml import parse_xml
from kin4d.reading import confined_path

_MOST_FILES = 1000
_MOST_COPIES = 100_000
_MOST_ELEMENTS = 64_000_000  # pixels of a made texture, cells of a height field


def check_files(path: Path) -> None:
    """Refuse a model that is not MJCF, is unsafe XML, reads files outside its own folder, holds
    itself, or copies its parts too often."""
    trees = _trees(path)
    _check_names(path, trees)
    for tree in trees.values():
        _check_counts(tree)


def _trees(path: Path) -> dict[Path, Any]:
    """The XML of the model and of all files that it includes or attaches."""
    roots = [package_folder(path.resolve())]
    trees: dict[Path, Any] = {}
    waiting: list[tuple[Path, tuple[Path, ...]]] = [(path, ())]
    while waiting:
        file, above = waiting.pop()
        real = file.resolve()
        if real in above:
            raise InputError(f"{path} holds itself", value=str(file.name))
        if real in trees:
            continue
        if len(trees) >= _MOST_FILES:
            raise InputError(f"{path} includes too many files", allowed=f"{_MOST_FILES}")
        root = trees[real] = parse_xml(file)
        if root.tag != "mujoco" and (file == path or root.tag == "robot"):
            raise InputError(
                f"{file} is not MJCF", value=f"<{root.tag}>", allowed="<mujoco> as root"
            )
        for element in root.iter("include", "model"):
            name = element.get("file")
            if name is None:
                continue
            # Names are relative to the model's folder, or to that of the including file.
            for base in {path.parent, file.parent}:
                found = confined_path(path, name, base=base, roots=roots, absolute=True)
                if found.is_file():
                    waiting.append((found, (*above, real)))
    return trees


def _check_names(path: Path, trees: dict[Path, Any]) -> None:
    roots = [package_folder(path.resolve())]
    compilers = [element for tree in trees.values() for element in tree.iter("compiler")]
    folders = {value for one in compilers for key, value in one.items() if key.endswith("dir")}
    bases = {path.resolve().parent, *(file.parent for file in trees)}
    if len(folders) != 1 or len(trees) > 1:
        folders.add("")  # a model without a compiler of its own looks beside itself
    names = {
        value
        for tree in trees.values()
        for element in tree.iter()
        for key, value in element.items()
        if key.startswith("file") and element.tag not in ("include", "model")
    }
    for base in bases:
        for folder in folders:
            where = base / folder
            for name in names:
                confined_path(path, name, base=where, roots=roots, absolute=True)


def _check_counts(tree: Any) -> None:
    """Refuse what a few characters multiply without end."""
    for element in tree.iter("replicate", "composite", "flexcomp"):
        copies = 1.0
        for one in (element, *element.iterancestors("replicate")):
            for word in (one.get("count") or "1").split():
                copies *= max(_number(word), 1.0)
        if not copies <= _MOST_COPIES:
            raise InputError(
                f"<{element.tag}> makes too many copies",
                value=f"{copies:.3g}",
                allowed=f"{_MOST_COPIES:,}",
            )
    for element in tree.iter("texture", "hfield"):
        size = max(_number(element.get("width")), _number(element.get("nrow")), 1.0)
        size *= max(_number(element.get("height")), _number(element.get("ncol")), 1.0)
        if not size <= _MOST_ELEMENTS:
            raise InputError(f"<{element.tag}> is too large", value=f"{size:.3g} elements")


def _number(word: str | None) -> float:
    try:
        return abs(float(word or 1))
    except ValueError:
        return 1.0  # MuJoCo refuses it with a better message
