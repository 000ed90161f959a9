"""Kinds of soft motion, each a scene made from a seed."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

import numpy as np

from kin4d.errors import InputError
from kin4d.objects.sequence import VertexSequence
from kin4d.objects.soft import cloth, lines, solids
from kin4d.objects.soft.scene import SoftDivergedError, SoftScene
from kin4d.objects.soft.simulate import simulate_scene

KINDS: dict[str, Callable[[np.random.Generator], SoftScene]] = {
    "cloth_corner": cloth.hang_by_corner,
    "cloth_edge": cloth.hang_by_edge,
    "cloth_drop": cloth.cloth_drop,
    "flag": cloth.cloth_flag,
    "solid_fall": solids.fall,
    "solid_poke": solids.poke,
    "solid_twist": solids.twist,
    "solid_shake": solids.shake,
    "rope_swing": lines.rope_swing,
    "rope_fall": lines.rope_fall,
    "chain_swing": lines.chain_swing,
    "chain_fall": lines.chain_fall,
}
"""What can be simulated: name to the maker of a scene from random numbers."""


def soft_scene(kind: str, seed: int) -> SoftScene:
    """The scene of a kind and a seed; the same one every time."""
    if kind not in KINDS:
        raise InputError("unknown kind of soft motion", value=kind, allowed=", ".join(KINDS))
    # Kinds differ in their numbers though they share a seed.
    return KINDS[kind](np.random.default_rng([seed, list(KINDS).index(kind)]))


def simulate_soft(kind: str, seed: int, *, frames: int = 48, fps: float = 24.0) -> VertexSequence:
    """A soft object over time; the same for the same arguments. `SoftDivergedError` if it blows up.

    Args:
        kind: One of `KINDS`.
        seed: Any whole number from 0.
        frames: How many, the start included.
        fps: Frames per second.
    """
    scene = soft_scene(kind, seed)
    name = f"{kind}_{seed}"
    return simulate_scene(scene, name=name, seed=seed, frames=frames, fps=fps)


def soft_sequences(
    kinds: Iterable[str], seeds: Iterable[int], *, frames: int = 48
) -> Iterator[VertexSequence]:
    """Every kind for every seed, leaving out what diverges."""
    kinds = list(kinds)
    for seed in seeds:
        for kind in kinds:
            try:
                yield simulate_soft(kind, seed, frames=frames)
            except SoftDivergedError:
                continue
