"""Open a store of whatever kind its folder says it is."""

from __future__ import annotations

from pathlib import Path

from kin4d.episodes.store import EpisodeStore
from kin4d.files import read_json
from kin4d.objects.sequence_store import SequenceStore


def open_store(path: str | Path) -> SequenceStore | EpisodeStore:
    """The store at `path`; a folder that is none is an `InputError`."""
    head = Path(path) / "store.json"
    metadata = read_json(head) if head.is_file() else {}
    episodes = isinstance(metadata, dict) and metadata.get("format") == EpisodeStore.FORMAT
    return EpisodeStore.open(path) if episodes else SequenceStore.open(path)
