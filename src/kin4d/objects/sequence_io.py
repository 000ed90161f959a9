"""Sequences in shards: a sample's motion as plain arrays and a line of a manifest, and back.

A line says who it is, its licence and seed, how many frames T, vertices V and faces F it has, and
all that is not an array. The arrays: ``vertices`` [T V, 3] float32 m, ``faces`` [F, 3] int32, and
those of the following that it has: ``velocities`` and ``forces`` [T V, 3] float32, ``part`` [F]
int32, ``colors`` [V, 3] uint8.
"""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

import numpy as np

from kin4d.objects.articulated_sample import ArticulatedSample
from kin4d.objects.object_sample import ObjectSample
from kin4d.objects.sequence import VertexSequence
from kin4d.objects.sequence_sample import SequenceSample
from kin4d.storage.shard import ShardRecord, sample_id_of

_TRACKS = ("vertices", "velocities", "forces")
_DTYPES = {
    "vertices": np.float32,
    "faces": np.int32,
    "velocities": np.float32,
    "forces": np.float32,
    "part": np.int32,
    "colors": np.uint8,
}


def sequence_record(sample: ObjectSample, *, frames: int = 16, fps: float = 10.0) -> ShardRecord:
    """A sample's motion as a record: a sequence as it is, anything else by its `demo_states`.

    Args:
        sample: The object.
        frames: Length of the track.
        fps: Frames per second of the track.
    """
    arrays: dict[str, np.ndarray] = {"faces": sample.faces}
    extra: dict[str, Any] = {"fps": fps, "material": {}, "pins": [], "meta": {}}
    if isinstance(sample, SequenceSample):
        sequence = sample.sequence
        for name in _TRACKS:
            if (track := getattr(sequence, name)) is not None:
                arrays[name] = track
        extra = {
            "fps": sequence.fps,
            "material": dict(sequence.material),
            "pins": sequence.pins.tolist(),
            "meta": dict(sequence.meta),
        }
    else:
        states = sample.demo_states(frames)
        arrays["vertices"] = sample.vertices(states)
        if isinstance(sample, ArticulatedSample):
            names = [joint.name for joint in sample.object.free_joints]
            extra["meta"] = {"joints": names, "q": states.round(9).tolist()}
    if (sample.face_part >= 0).all():
        arrays["part"] = sample.face_part
    if sample.colors is not None:
        arrays["colors"] = sample.colors
    arrays = {name: np.ascontiguousarray(array, _DTYPES[name]) for name, array in arrays.items()}
    length, count = arrays["vertices"].shape[:2]
    for name in _TRACKS:
        if name in arrays:
            arrays[name] = arrays[name].reshape(-1, 3)
    counts = {"frames": length, "vertices": count, "faces": len(sample.faces)}
    line = {**asdict(sample.identity), **counts, **extra, "arrays": sorted(arrays)}
    return ShardRecord(line, arrays)


def restore_sequence(line: dict[str, Any], arrays: dict[str, np.ndarray]) -> SequenceSample:
    """The sample that `sequence_record` made a line and arrays of."""
    who = sample_id_of(line)
    frames, count = line["frames"], line["vertices"]
    tracks = {name: arrays[name].reshape(frames, count, 3) for name in _TRACKS if name in arrays}
    sequence = VertexSequence(
        name=who.name,
        category=who.category,
        source=who.source,
        licence=who.licence,
        seed=who.seed or 0,
        faces=arrays["faces"],
        fps=line["fps"],
        material=line["material"],
        pins=np.array(line["pins"], np.int64),
        meta=line["meta"],
        **tracks,
    )
    part = arrays["part"].astype(np.int64) if "part" in arrays else None
    return SequenceSample(sequence, who, face_part=part, colors=arrays.get("colors"))


def sequence_rows(line: dict[str, Any]) -> dict[str, int]:
    """How many rows each array of a sequence has."""
    track = line["frames"] * line["vertices"]
    rows = {"faces": line["faces"], "part": line["faces"], "colors": line["vertices"]}
    return {name: rows.get(name, track) for name in line["arrays"]}
