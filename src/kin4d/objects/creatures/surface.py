"""The surface of a made creature: one smooth union of its bones, drawn by surface nets."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from kin4d.geometry.surface_nets import surface_nets
from kin4d.objects.creatures.anatomy import Bone

_BLEND = 0.7  # of a bone's radius where it leaves another: the width over which they blend
_GOES_ON = 0.15  # the same, of a bone that begins where its parent ends: more would be a bulge
_THINNEST = 1.3  # cells, half the least thickness of anything


def creature_surface(
    bones: Sequence[Bone], *, cells: int
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """One closed surface around bones, with mirror images where the bones have them.

    Args:
        bones: In a tree, parents first.
        cells: Of the grid, along the longest side.

    Returns:
        Vertices [V, 3], triangles [F, 3], and how far each vertex is from each bone [V, B].
    """
    ends = np.stack([[bone.start, bone.end] for bone in bones])
    radius = np.array([bone.radius for bone in bones])
    low = (ends - radius[..., None]).min((0, 1))
    high = (ends + radius[..., None]).max((0, 1))
    # As wide on both sides, so that mirror images have the same cells.
    high[0] = max(high[0], -low[0])
    low[0] = -high[0]
    cell = float((high - low).max()) / cells
    count = np.ceil((high - low) / cell / 2).astype(int) * 2 + 8
    origin = (low + high) / 2 - (count - 1) / 2 * cell
    field = np.full(count, 4.0 * cell)
    for bone in bones:
        reach = max(bone.radius) + 4 * cell
        box = np.stack([bone.start, bone.end])
        first = np.clip((box.min(0) - reach - origin) // cell, 0, count).astype(int)
        last = np.clip((box.max(0) + reach - origin) // cell + 2, 0, count).astype(int)
        part = tuple(slice(a, b) for a, b in zip(first, last, strict=True))
        at = np.stack(np.meshgrid(*(np.arange(a, b) for a, b in zip(first, last, strict=True)),
                                  indexing="ij"), -1) * cell + origin  # fmt: skip
        goes_on = bone.parent >= 0 and np.allclose(bone.start, bones[bone.parent].end)
        width = max((_GOES_ON if goes_on else _BLEND) * bone.radius[0], cell)
        field[part] = _smooth_minimum(
            field[part], bone_distance(bone, at, least=_THINNEST * cell), width
        )
    vertices, faces = surface_nets(field)
    vertices = vertices * cell + origin
    far = np.stack([bone_distance(bone, vertices, least=_THINNEST * cell) for bone in bones], 1)
    return vertices, faces, far


def bone_distance(bone: Bone, points: np.ndarray, *, least: float = 0.0) -> np.ndarray:
    """[...] about how far points [..., 3] are from a bone's surface, negative inside.

    Args:
        bone: A round cone, perhaps flat.
        points: Where.
        least: Radius and half thickness at least.
    """
    thickness = min(max(bone.flat, least / max(bone.radius)), 1.0)
    arm, axis = points - bone.start, bone.end - bone.start
    stretch = (1 / thickness - 1) * bone.normal
    arm = arm + (arm @ bone.normal)[..., None] * stretch
    axis = axis + (axis @ bone.normal) * stretch
    share = np.clip(arm @ axis / (axis @ axis), 0.0, 1.0)
    radius = bone.radius[0] + share * (bone.radius[1] - bone.radius[0])
    return np.linalg.norm(arm - share[..., None] * axis, axis=-1) - np.maximum(
        radius, least / thickness
    )


def _smooth_minimum(one: np.ndarray, other: np.ndarray, width: float) -> np.ndarray:
    """The lesser of two fields, rounded where they differ by less than `width`."""
    overlap = np.maximum(width - np.abs(one - other), 0.0) / width
    return np.minimum(one, other) - overlap * overlap * width / 4
