"""unpack_archive: a zip archive from a browser, and which file or folder in it is to be opened."""

from __future__ import annotations

import zipfile
from pathlib import Path, PurePosixPath

from kin4d.errors import InputError
from kin4d.reading import reading

# What is opened, by the name of a file in the archive: the file itself, or its folder.
_KINDS = (
    ("store.json", "folder"),
    ("pointmap.npz", "folder"),
    ("*.urdf", "file"),
    ("*.yaml", "file"),
    ("*.yml", "file"),
)


def unpack_archive(archive: Path, folder: Path, *, most: int) -> Path:
    """Unpack a zip archive into an empty folder; returns what in it is to be opened.

    That is a store of episodes, the folder of imagined videos, a robot with its meshes, or a scene
    with its files. Names that lead out of the folder, and more than `most` bytes unpacked, are
    refused before anything is written.
    """
    with reading(archive, "zip archive"), zipfile.ZipFile(archive) as opened:
        files = {PurePosixPath(one.filename): one for one in opened.infolist() if not one.is_dir()}
        target = _to_open(archive.name, list(files))
        size = sum(one.file_size for one in files.values())
        if size > most:
            raise InputError(
                f"{archive.name} is too large unpacked",
                value=f"{size / 2**30:.3g} GiB",
                allowed=f"{most / 2**30:g} GiB",
                hint="run: kin4d view FOLDER",
            )
        if any(".." in name.parts or name.is_absolute() for name in files):
            raise InputError(f"{archive.name} has names that lead out of its folder")
        for name, one in files.items():
            file = folder / name
            file.parent.mkdir(parents=True, exist_ok=True)
            # No more than the size that was stated: it may be a lie.
            with opened.open(one) as source:
                file.write_bytes(source.read(one.file_size))
    return folder / target


def _to_open(archive: str, names: list[PurePosixPath]) -> PurePosixPath:
    for pattern, kind in _KINDS:
        found = [name for name in names if name.match(pattern)]
        if len(found) == 1:
            return found[0].parent if kind == "folder" else found[0]
        if found:
            break
    raise InputError(
        f"{archive} holds nothing that can be opened, or several things",
        allowed="one of " + ", ".join(pattern for pattern, _ in _KINDS),
        hint="zip the folder of one store of episodes, imagined video, robot or scene",
    )
