"""Sources by name, as the command line and plans of generation know them."""

from __future__ import annotations

import numpy as np

from kin4d.errors import InputError
from kin4d.objects.sequence_sample import SequenceSample
from kin4d.objects.sources import FileSource, ProceduralSource, articulated_source

SOURCE_NAMES = {
    "articulated": "procedural furniture, appliances, tools and vessels",
    "soft": "cloth, solids, ropes and chains, simulated",
    "elastic": "solid shapes ringing in their softest modes",
    "creatures": "animals and figures of six kinds: one smooth skin on a random skeleton",
    "urdf:DIR": "a folder of URDF objects, such as PartNet-Mobility",
    "animated:DIR": "a folder of animated glTF files",
    "store:DIR": "a store made before",
}


def named_source(name: str) -> ProceduralSource | FileSource:
    """The source of a name; see `SOURCE_NAMES`."""
    kind, _, where = name.partition(":")
    if name == "articulated":
        return articulated_source()
    if name == "soft":
        return soft_source()
    if name == "elastic":
        return elastic_source()
    if name == "creatures":
        return creature_source()
    if kind == "urdf" and where:
        from kin4d.objects.urdf_folder import urdf_source

        return urdf_source(where)
    if kind == "animated" and where:
        from kin4d.objects.animated_folder import animated_source

        return animated_source(where)
    if kind == "store" and where:
        from kin4d.objects.sequence_store import SequenceStore

        return SequenceStore.open(where).source()
    raise InputError("there is no such source", value=name, allowed=", ".join(SOURCE_NAMES))


def soft_source() -> ProceduralSource:
    """Simulated soft bodies."""
    from kin4d.objects.soft import KINDS

    return ProceduralSource(name="soft", licence="CC0-1.0", categories=tuple(KINDS), make=make_soft)


def make_soft(kind: str, seed: int) -> SequenceSample:
    """The simulated object of a kind and a seed."""
    from kin4d.objects.soft import simulate_soft

    return SequenceSample(simulate_soft(kind, seed), soft_source().identity(kind, seed))


def elastic_source() -> ProceduralSource:
    """Solid shapes deformed by their softest modes."""
    from kin4d.objects.soft.shapes import SHAPES

    return ProceduralSource(
        name="elastic", licence="CC0-1.0", categories=tuple(SHAPES), make=make_elastic
    )


def make_elastic(shape: str, seed: int) -> SequenceSample:
    """The vibrating object of a shape and a seed."""
    from kin4d.objects.elastic_modes import ElasticModes
    from kin4d.objects.soft.shapes import SHAPES

    source = elastic_source()
    who = source.identity(shape, seed)
    mesh = SHAPES[shape](np.random.default_rng([seed, source.categories.index(shape)]))
    modes = ElasticModes.of_mesh(mesh, seed=seed)
    return SequenceSample(modes.sequence(seed=seed, licence=who.licence, category=shape), who)


def creature_source() -> ProceduralSource:
    """Made creatures that walk, swim or fly, and then bend at random."""
    from kin4d.objects.creatures import KINDS

    return ProceduralSource(
        name="creatures", licence="Apache-2.0", categories=tuple(KINDS), make=make_creature_sample
    )


def make_creature_sample(kind: str, seed: int) -> SequenceSample:
    """The moving creature of a kind and a seed."""
    from kin4d.objects.creatures import make_creature
    from kin4d.objects.creatures.sequence import creature_sequence

    creature, who = make_creature(kind, seed), creature_source().identity(kind, seed)
    colors = creature.body.rest.colors
    return SequenceSample(
        creature_sequence(creature, seed=seed, licence=who.licence),
        who,
        colors=None if colors is None else colors[:, :3],
    )
