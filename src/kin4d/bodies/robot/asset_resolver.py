"""Where a description's meshes and textures are: URIs to files, never outside stated roots."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from kin4d.errors import InputError
from kin4d.reading import confined_path

# A description in one of these folders belongs to the package folder above it.
_DESCRIPTION_FOLDERS = ("urdf", "robots", "robot", "mjcf", "xml", "xacro", "description")


class AssetResolver:
    """Finds the files a description names.

    Args:
        description: The URDF or MJCF file.
        search_roots: More folders that may be read; packages are looked for in them first.
    """

    def __init__(self, description: Path, search_roots: Sequence[str | Path] = ()) -> None:
        self.description = description.resolve()
        self.search_roots = tuple(Path(root).resolve() for root in search_roots)
        for root in self.search_roots:
            if not root.is_dir():
                raise InputError(f"search root {root} is not a folder")
        self.package = package_folder(self.description)

    def find(self, uri: str) -> Path | None:
        """The file that `uri` names, or None if there is none.

        `package://NAME/REST` is looked for in the folder called NAME among the search roots, their
        children, the description's package, and such parents of the description and children of
        these as are ROS packages (hold a package.xml); other paths relative to the description and
        to each root. A path that leaves its root is an `InputError`.
        """
        candidates = self._candidates(uri)
        outside = False
        for base, root, inside in candidates:
            try:
                candidate = confined_path(
                    self.description, inside, base=base, roots=[root], absolute=True
                )
            except InputError:
                outside = True
                continue
            if candidate.is_file():
                return candidate.resolve()
        if outside:
            roots = dict.fromkeys(str(root) for _, root, _ in candidates)
            raise InputError(
                f"{self.description.name} refers to a file outside its folder",
                value=uri,
                allowed="files in " + ", ".join(roots),
                hint="move the file there, or add its folder to search_roots if you trust it",
            )
        return None

    def tried(self, uri: str) -> str:
        """The folders looked in for `uri`, for error messages."""
        return ", ".join(dict.fromkeys(str(base) for base, _, _ in self._candidates(uri)))

    def _candidates(self, uri: str) -> list[tuple[Path, Path, str]]:
        """(base, root, rest): `uri` may be base/rest, if that is inside root."""
        scheme, separator, rest = uri.partition("://")
        if not separator:
            scheme, rest = "", uri
        rest = rest.replace("\\", "/")
        roots = (*self.search_roots, self.package)
        if scheme in ("package", "model"):
            # Three slashes (an empty package name) are a common slip: read on to the first name.
            name, _, inside = rest.lstrip("/").partition("/")
            return [(root, root, inside) for root in (*self._packages(name), *roots)]
        if scheme in ("", "file"):
            own = (self.description.parent, self.package, rest)
            return [own, *((root, root, rest) for root in roots)]
        raise InputError(
            f"{self.description.name} names a file in a way that is not read",
            value=uri,
            allowed="package://NAME/PATH, file:///PATH or a path relative to the description",
        )

    def _packages(self, name: str) -> list[Path]:
        """Folders that can be the package `name`, best first."""
        if not name or name in (".", "..") or "\0" in name:
            return []
        found = []
        for folder in (*self.search_roots, *self.description.parents):
            trusted = folder in (*self.search_roots, self.package)
            for one in (folder, folder / name):
                # Else any folder of the system could call itself a package.
                if one.name == name and (trusted or (one / "package.xml").is_file()):
                    found.append(one)
        return [folder for folder in found if folder.is_dir()]


def package_folder(description: Path) -> Path:
    """The folder a description may read: its ROS package, or its own folder."""
    for parent in description.parents:
        if (parent / "package.xml").is_file():
            return parent
    folder = description.parent
    return folder.parent if folder.name.lower() in _DESCRIPTION_FOLDERS else folder
