"""Valid recordings and stores of episodes and objects, and what reads all of each."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from kin4d.benchmarks.reliability import valid_files as valid
from kin4d.geometry.primitives import box


def load_recordings(path: Path) -> Any:
    """All recordings of a dataset, and what their cameras saw."""
    from kin4d.episodes.formats.reader import open_dataset
    from kin4d.episodes.recording import Recording

    reader = open_dataset(path)
    found = []
    for index in range(min(len(reader), 3)):
        one = reader.read(index)
        found.append(one)
        if isinstance(one, Recording):
            found += [view.read() for view in one.views.values()]
    return found


def lerobot(version: str) -> Callable[[Path], Path]:
    """Writes a LeRobotDataset with all that kin4d keeps in it."""

    def write(folder: Path) -> Path:
        from kin4d.episodes.formats.lerobot_write import write_lerobot

        return write_lerobot([valid.episode()], folder / "a", version=version)

    return write


def recorded(folder: Path) -> Path:
    """As `lerobot`, without what kin4d alone writes."""
    from kin4d.episodes.formats.lerobot_write import write_lerobot

    path = write_lerobot([valid.episode()], folder / "a", version="v2.1", geometry=False)
    (path / "meta" / "kin4d.jsonl").unlink()
    return path


def robo4d(folder: Path) -> Path:
    """A Robo4D folder of one episode."""
    from kin4d.episodes.formats.robo4d import write_robo4d_episodes

    return write_robo4d_episodes([valid.episode()], folder / "a")


def episode_store(folder: Path) -> Path:
    """A store of one episode."""
    from kin4d.episodes.store import EpisodeStore

    return EpisodeStore.write(folder / "a", [valid.episode()]).path


def load_store(path: Path) -> Any:
    """All that is in a store, its checksums included."""
    from kin4d.cli.open_store import open_store
    from kin4d.episodes.store import EpisodeStore

    store = open_store(path)
    store.verify()
    if isinstance(store, EpisodeStore):
        return [store.episode(i) for i in range(min(len(store), 3))], store.reasons
    return [store.sample(i) for i in range(min(len(store), 3))]


def sequence_store(folder: Path) -> Path:
    """A store of one moving box."""
    from kin4d.objects.sequence import VertexSequence
    from kin4d.objects.sequence_sample import SequenceSample
    from kin4d.objects.sequence_store import SequenceStore
    from kin4d.storage.sample_id import SampleId

    mesh = box((1, 1, 1))
    who = SampleId(source="kin4d", category="box", name="1", licence="MIT")
    vertices = np.stack([mesh.vertices, mesh.vertices * 1.5]).astype(np.float32)
    sequence = VertexSequence(
        name="1", category="box", source="kin4d", licence="MIT", seed=0,
        faces=mesh.faces, fps=10.0, vertices=vertices,
    )  # fmt: skip
    return SequenceStore.write(folder / "a", [SequenceSample(sequence, who)]).path
