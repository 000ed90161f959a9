"""Rows of the table: what a model knows of scenes that it was not trained on."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace

import numpy as np

from kin4d.benchmarks.world.baselines import TRIVIAL
from kin4d.episodes.episode import Episode
from kin4d.episodes.part_tracks import FIRST
from kin4d.geometry.pointmap import PointmapVideo
from kin4d.world.object_world.model import ObjectWorldModel
from kin4d.world.observation import Observation
from kin4d.world.support_plane import SupportPlane, find_support, with_support

AT_BASE = "depth, table taken to be at the base"
FOUND = "depth, table found"
TRUE_PARTS = "depth, table found, true parts"
NO_DEPTH = "no depth, table guessed"
NO_DEPTH_GIVEN = "no depth, table given"

RowFn = Callable[[Observation, Episode], PointmapVideo]


def rows_of(model: ObjectWorldModel | None) -> Mapping[str, RowFn]:
    """Rows by name: those without a model, and the model with more and more of the truth."""
    trivial: dict[str, RowFn] = {
        name: lambda observation, episode, row=row: row(observation)
        for name, row in TRIVIAL.items()
    }
    if model is None:
        return trivial

    def at_base(observation: Observation, episode: Episode) -> PointmapVideo:
        return model.imagine(observation)

    def found(observation: Observation, episode: Episode) -> PointmapVideo:
        return model.imagine(supported(observation))

    def true_parts(observation: Observation, episode: Episode) -> PointmapVideo:
        assert episode.parts is not None
        part = np.maximum(episode.parts.mask[0].astype(int) - FIRST, -1)
        return model.imagine(supported(observation), part=part)

    def no_depth(observation: Observation, episode: Episode) -> PointmapVideo:
        return model.imagine(supported(without_depth(observation)))

    def no_depth_given(observation: Observation, episode: Episode) -> PointmapVideo:
        given = replace(without_depth(observation), support=supported(observation).support)
        return model.imagine(given)

    return {
        **trivial,
        AT_BASE: at_base,
        FOUND: found,
        TRUE_PARTS: true_parts,
        NO_DEPTH: no_depth,
        NO_DEPTH_GIVEN: no_depth_given,
    }


def supported(observation: Observation) -> Observation:
    """The observation on the plane that is found, or on that of the base if none is."""
    return with_support(observation, find_support(observation) or SupportPlane.at_height(0.0))


def without_depth(observation: Observation) -> Observation:
    """The same without measured depth."""
    return replace(observation, xyz=np.full_like(observation.xyz, np.nan))
