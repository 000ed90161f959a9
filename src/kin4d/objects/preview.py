"""Contact sheets of object samples from any source, and statistics of a store."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from kin4d.objects.object_sample import ObjectSample
from kin4d.storage.splits import split_of

if TYPE_CHECKING:
    from kin4d.objects.sequence_store import SequenceStore


def object_preview(samples: Sequence[ObjectSample], *, tile: int = 160) -> np.ndarray:
    """[3 tile, n tile, 3] uint8: a column per sample; at rest and at both ends of its range.

    Args:
        samples: n of them.
        tile: Width and height of each view, pixels.
    """
    return np.concatenate([_views(one, tile) for one in samples], axis=1)


def _views(sample: ObjectSample, tile: int) -> np.ndarray:
    from kin4d.geometry.clip import Clip
    from kin4d.geometry.material import SurfaceMaterial
    from kin4d.geometry.mesh import Mesh
    from kin4d.render.pointmaps import render_clip

    vertices = sample.vertices(sample.extreme_states())
    white = SurfaceMaterial(name="vertex colours", base_color=(1.0, 1.0, 1.0, 1.0))
    mesh = Mesh(vertices=vertices[0], faces=sample.faces)
    if sample.colors is not None:
        opaque = np.full((len(sample.colors), 1), 255, np.uint8)
        colors = np.concatenate([sample.colors, opaque], axis=1)
        mesh = Mesh(vertices=vertices[0], faces=sample.faces, colors=colors, materials=(white,))
    clip = Clip(mesh=mesh, vertices=vertices, fps=1.0)
    rgb = render_clip(clip, width=tile, height=tile, threads=1).rgb
    return rgb.reshape(-1, tile, 3)


def object_statistics(store: SequenceStore) -> dict[str, Any]:
    """Counts of a store: sequences and frames, by source, category, split and licence."""
    lines, identities = store.lines, store.identities
    return {
        "sequences": len(store),
        "dropped": len(store.dropped),
        "shards": len(store.shards),
        "frames": sum(line["frames"] for line in lines),
        "vertices": sum(line["vertices"] for line in lines),
        "bytes": store.size,
        "sources": dict(Counter(who.source for who in identities)),
        "categories": dict(Counter(who.category for who in identities)),
        "splits": dict(Counter(split_of(who) for who in identities)),
        "licences": dict(Counter(who.licence for who in identities)),
    }
