"""Rows of the table: trivial baselines, world models, and the compositor with true motions."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

import numpy as np

from kin4d.benchmarks.world.regions import composited, copied
from kin4d.episodes.episode import ROBOT, Episode
from kin4d.episodes.part_tracks import FIRST
from kin4d.errors import InputError
from kin4d.geometry.pointmap import PointmapVideo
from kin4d.training.weights import FILE, weights_file
from kin4d.world.model import WorldModel as WorldModel
from kin4d.world.model import load_world_model
from kin4d.world.object_world.compositor.compositor import Compositor, parts_that_moved
from kin4d.world.object_world.model import ObjectWorldModel
from kin4d.world.observation import Observation

ImagineFn = Callable[[Observation], PointmapVideo]

COPY, COMPOSITE, CEILING = "copy the first frame", "composite", "stage, true motions"
MODEL, BARE = "shipped model", "shipped model, no refinement"
NO_PROPRIOCEPTION = "shipped model without proprioception"

TRIVIAL: Mapping[str, ImagineFn] = {COPY: copied, COMPOSITE: composited}
"""Rows without a model."""


def load_rows(names: Sequence[str]) -> tuple[dict[str, WorldModel], dict[str, str]]:
    """World models by row, and a digest of each file.

    The thresholds apply to the first name: it is run as it ships, and without its refinement if it
    has one. The others are rows of their own, named after their files or folders.

    Args:
        names: Each one that ships, a file, or a folder of a run.
    """
    rows: dict[str, WorldModel] = {}
    digests: dict[str, str] = {}
    for number, name in enumerate(names):
        file = weights_file(name, "world")
        label = file.parent.name if file.name == FILE else file.stem
        digests[label] = hashlib.sha256(file.read_bytes()).hexdigest()[:16]
        world = load_world_model(file)
        if not number and isinstance(world, ObjectWorldModel) and world.refinement is not None:
            rows[BARE] = ObjectWorldModel(world.segmentation, world.dynamics, depth=world.depth)
        rows[label if number else MODEL] = world
    return rows, digests


def ablated_action(imagine: ImagineFn) -> ImagineFn:
    """The same without measured gripper opening and tracking error, as for actions not executed."""
    return lambda observation: imagine(
        replace(observation, gripper_opening=None, ee_tracking_error=None)
    )


def true_motion_baseline(episode: Episode, frames: np.ndarray | None = None) -> ImagineFn:
    """The compositor with the true parts and motions: the upper bound of its structure.

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

    def imagine(observation: Observation) -> PointmapVideo:
        moving = parts_that_moved(observation.xyz, part, motions)
        compositor = Compositor(observation, part, moving)
        shown = [compositor.render(t, motions[t][moving]) for t in range(len(observation))]
        rgb, xyz, robot = (
            np.stack([getattr(one, name) for one in shown]) for name in ("rgb", "xyz", "robot")
        )
        rgb[0], xyz[0] = observation.image, observation.xyz
        return replace(observation.robot, rgb=rgb, xyz=xyz, mask=robot.astype(np.uint8) * ROBOT)

    return imagine
