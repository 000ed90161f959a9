"""Predict videos longer than a model's window: each window starts at the last frame of another."""

from __future__ import annotations

from dataclasses import replace
from itertools import chain

from kin4d.errors import InputError
from kin4d.geometry.pointmap import PointmapVideo
from kin4d.world.model import WorldModel
from kin4d.world.observation import Observation


def imagine_rollout(
    model: WorldModel,
    observation: Observation,
    *,
    window_frames: int | None = None,
    seed: int | None = None,
) -> PointmapVideo:
    """Predict the video of an observation of any length.

    The last frame of a window is the first of the next one, so errors accumulate.

    Args:
        model: The model.
        observation: Of at least `window_frames` frames.
        window_frames: Frames per window; by default the model's own, or all at once.
        seed: Seed of a sample; see `WorldModel.imagine`.
    """
    window_frames = window_frames or model.frames or len(observation)
    if window_frames == len(observation):
        return model.imagine(observation, seed=seed)
    if not 2 <= window_frames < len(observation):
        raise InputError(
            "frames of an observation that is predicted in windows",
            value=len(observation),
            allowed=f"at least {window_frames}",
            hint="resample the robot's motion",
        )
    rgb, xyz = observation.robot.rgb.copy(), observation.robot.xyz.copy()
    mask = observation.robot.mask.copy()
    rgb[0], xyz[0] = observation.image, observation.xyz
    last = len(observation) - window_frames
    for start in chain(range(0, last, window_frames - 1), [last]):
        window = observation.slice_frames(slice(start, start + window_frames))
        predicted = model.imagine(replace(window, image=rgb[start], xyz=xyz[start]), seed=seed)
        written = slice(start + 1, start + window_frames)
        rgb[written], xyz[written], mask[written] = (
            predicted.rgb[1:],
            predicted.xyz[1:],
            predicted.mask[1:],
        )
    return replace(observation.robot, rgb=rgb, xyz=xyz, mask=mask)
