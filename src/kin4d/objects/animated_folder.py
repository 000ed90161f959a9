"""Folders of animated glTF files as a source: one sample per clip."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from pathlib import Path

from kin4d.errors import InputError
from kin4d.files import read_json
from kin4d.objects.animated import animation_names, load_animation
from kin4d.objects.sequence_sample import SequenceSample
from kin4d.objects.sources import FileSource
from kin4d.storage.sample_id import SampleId

LICENCES = "licences.json"
"""Beside the files: their terms by file name, ``{"Fox.glb": "CC-BY-4.0"}``; "*" is for the rest."""


def animated_source(folder: str | Path) -> FileSource:
    """Every clip of every .glb and .gltf file in a folder.

    Terms are read from `LICENCES` in the folder; files it does not name are "unknown", and not
    trained on. All clips of a file are one instance, so that splits keep characters apart. A clip
    that does not deform is an `InputError` when it is loaded.
    """
    folder = Path(folder)
    files = sorted(path for path in folder.glob("*") if path.suffix.lower() in (".glb", ".gltf"))
    if not files:
        raise InputError(f"{folder} holds no animated files", allowed=".glb and .gltf files")
    terms = read_json(folder / LICENCES) if (folder / LICENCES).is_file() else {}
    if not isinstance(terms, dict):
        raise InputError(f"{folder / LICENCES} is no object of names and terms")
    clips, identities = [], []
    for file in files:
        licence = str(terms.get(file.name) or terms.get("*") or "unknown")
        for clip in animation_names(file):
            clips.append((file, clip))
            identities.append(
                SampleId(
                    source=folder.name,
                    category=file.stem,
                    name=f"{file.stem}/{clip}",
                    licence=licence,
                    instance=file.stem,
                )
            )
    if not clips:
        raise InputError(f"{folder} holds no animation: none of its {len(files)} files has a clip")
    return FileSource(folder.name, identities, partial(_load, clips, identities))


def _load(
    clips: Sequence[tuple[Path, str]], identities: Sequence[SampleId], index: int
) -> SequenceSample:
    file, clip = clips[index]
    who = identities[index]
    return SequenceSample(load_animation(file, clip, licence=who.licence), who)
