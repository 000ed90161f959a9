"""Chain: imagine further than a model sees at once, each stretch from the last frame of another."""

from __future__ import annotations

from dataclasses import replace
from itertools import chain

import numpy as np

from kin4d.errors import InputError
from kin4d.geometry.pointmap import PointmapVideo
from kin4d.world.situation import Situation
from kin4d.world.world import Imaginer


def imagine_chained(
    world: Imaginer,
    situation: Situation,
    *,
    length: int | None = None,
    seed: int | None = None,
) -> PointmapVideo:
    """What happens in a situation of any length.

    What a stretch has imagined is the next one's first frame, errors included: they add up.

    Args:
        world: The model.
        situation: Of at least `length` frames.
        length: Frames of a stretch; by default what the model works at, or all at once.
        seed: Of one of many futures; see `Imaginer.imagine`.
    """
    length = length or world.frames or len(situation)
    if length == len(situation):
        return world.imagine(situation, seed=seed)
    if not 2 <= length < len(situation):
        raise InputError(
            "frames of a situation that is imagined in stretches",
            value=len(situation),
            allowed=f"at least {length}",
            hint="resample the robot's motion",
        )
    rgb, xyz = situation.robot.rgb.copy(), situation.robot.xyz.copy()
    mask = situation.robot.mask.copy()
    rgb[0], xyz[0] = situation.image, situation.xyz
    last = len(situation) - length
    for start in chain(range(0, last, length - 1), [last]):
        told = world.imagine(_stretch(situation, start, length, rgb[start], xyz[start]), seed=seed)
        here = slice(start + 1, start + length)
        rgb[here], xyz[here], mask[here] = told.rgb[1:], told.xyz[1:], told.mask[1:]
    return replace(situation.robot, rgb=rgb, xyz=xyz, mask=mask)


def _stretch(
    situation: Situation, start: int, length: int, image: np.ndarray, xyz: np.ndarray
) -> Situation:
    """Some frames of a situation, beginning with a frame that was imagined."""
    here = slice(start, start + length)
    robot, actor = situation.robot, situation.actor
    if actor is not None and actor.transforms is not None:
        actor = replace(actor, frames=length, transforms=actor.transforms[here])
    return replace(
        situation,
        image=image,
        xyz=xyz,
        robot=replace(robot, rgb=robot.rgb[here], xyz=robot.xyz[here], mask=robot.mask[here]),
        track=situation.track[here],
        cover=situation.cover[here],
        actions=None if situation.actions is None else situation.actions[here],
        opening=None if situation.opening is None else situation.opening[here],
        lag=None if situation.lag is None else situation.lag[here],
        actor=actor,
    )
