"""unpack_store: a zipped store of episodes from a browser, as a folder."""

from __future__ import annotations

import zipfile
from pathlib import Path, PurePosixPath

from kin4d.errors import InputError
from kin4d.reading import reading

_HEAD = "store.json"


def unpack_store(archive: Path, folder: Path, *, most: int) -> Path:
    """Unpack a zip archive that holds a store, into an empty folder; returns the store's folder.

    Only what belongs to a store is unpacked. Names that lead out of the folder, and more than
    `most` bytes unpacked, are refused before anything is written.
    """
    with reading(archive, "zip archive of a store"), zipfile.ZipFile(archive) as opened:
        entries = {PurePosixPath(one.filename): one for one in opened.infolist()}
        heads = [name for name in entries if name.name == _HEAD]
        if len(heads) != 1:
            raise InputError(
                f"{archive.name} holds no store of episodes",
                value=f"{len(heads)} files called {_HEAD}",
                allowed="one",
                hint="zip the folder that kin4d data episodes or kin4d data import wrote",
            )
        root = heads[0].parent
        own = {
            name.relative_to(root): one
            for name, one in entries.items()
            if name.is_relative_to(root) and not one.is_dir()
        }
        size = sum(one.file_size for one in own.values())
        if size > most:
            raise InputError(
                f"{archive.name} is too large unpacked",
                value=f"{size / 2**30:.3g} GiB",
                allowed=f"{most / 2**30:g} GiB",
                hint="run: kin4d view FOLDER",
            )
        if any(".." in name.parts or name.is_absolute() for name in own):
            raise InputError(f"{archive.name} has names that lead out of its folder")
        for name, one in own.items():
            target = folder / name
            target.parent.mkdir(parents=True, exist_ok=True)
            # No more than the size that was stated: it may be a lie.
            with opened.open(one) as source:
                target.write_bytes(source.read(one.file_size))
    return folder
