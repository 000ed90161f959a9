"""Chain: imagine further than a model sees at once, each stretch from the last frame of another."""

from __future__ import annotations

from dataclasses import replace
from itertools import chain

from kin4d.errors import InputError
from kin4d.geometry.pointmap import PointmapVideo
from kin4d.world.model import WorldModel
from kin4d.world.observation import Observation


def imagine_rollout(
    world: WorldModel,
    situation: Observation,
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
        stretch = situation.during(slice(start, start + length))
        told = world.imagine(replace(stretch, image=rgb[start], xyz=xyz[start]), seed=seed)
        here = slice(start + 1, start + length)
        rgb[here], xyz[here], mask[here] = told.rgb[1:], told.xyz[1:], told.mask[1:]
    return replace(situation.robot, rgb=rgb, xyz=xyz, mask=mask)
