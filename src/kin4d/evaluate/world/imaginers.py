"""Imaginers: the rows of the table. Each is a function from a situation to a clip."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace

import numpy as np

from kin4d.data.episodes.episode import ROBOT, Episode
from kin4d.data.episodes.parts import FIRST
from kin4d.errors import InputError
from kin4d.evaluate.world.regions import composited, copied
from kin4d.geometry.pointmap import PointmapVideo
from kin4d.world.rigid.model import RigidWorld
from kin4d.world.rigid.stage import Stage, moving_parts
from kin4d.world.situation import Situation

Imaginer = Callable[[Situation], PointmapVideo]

COPY, COMPOSITE, CEILING = "copy the first frame", "composite", "stage, true motions"
MODEL, BARE = "shipped model", "shipped model, no painter"

TRIVIAL: Mapping[str, Imaginer] = {COPY: copied, COMPOSITE: composited}
"""Rows that know nothing."""


def models(world: RigidWorld) -> dict[str, Imaginer]:
    """Rows of a model: without its painter if it has one, and as it ships."""
    if world.painter is None:
        return {MODEL: world.imagine}
    return {BARE: RigidWorld(world.seer, world.mover, None).imagine, MODEL: world.imagine}


def staged(episode: Episode, frames: np.ndarray | None = None) -> Imaginer:
    """The stage, told the true parts and how they truly moved: the most its structure can do.

    Args:
        episode: The truth.
        frames: [T] int: the frame of the truth whose motions each frame shows, to be wrong by a
            known amount; each its own if None.
    """
    parts = episode.parts
    if parts is None:
        raise InputError(f"episode '{episode.name}' does not know its rigid parts")
    part = np.maximum(parts.mask[0].astype(int) - FIRST, -1)
    motions = parts.motions if frames is None else parts.motions[frames]

    def imagine(situation: Situation) -> PointmapVideo:
        moving = moving_parts(situation.xyz, part, motions)
        stage = Stage(situation, part, moving)
        shown = [stage.show(t, motions[t][moving]) for t in range(len(situation))]
        rgb, xyz, robot = (
            np.stack([getattr(one, name) for one in shown]) for name in ("rgb", "xyz", "robot")
        )
        rgb[0], xyz[0] = situation.image, situation.xyz
        return replace(situation.robot, rgb=rgb, xyz=xyz, mask=robot.astype(np.uint8) * ROBOT)

    return imagine
