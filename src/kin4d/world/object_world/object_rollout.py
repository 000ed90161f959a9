"""ObjectRollout: a rollout of an object world model that goes on from where it stopped.

Nothing that was imagined is imagined again: parts, their state, the composited background and the
light are carried from piece to piece.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import torch

from kin4d.geometry.pointmap import PointmapVideo
from kin4d.world.object_world.compositor.compositor import Compositor, parts_that_moved
from kin4d.world.object_world.model import ObjectWorldModel, PartMotion, poses_in_camera
from kin4d.world.object_world.part_rollout import RolloutState, continue_rollout
from kin4d.world.object_world.segmentation import BACKGROUND
from kin4d.world.observation import Observation
from kin4d.world.observation_cleanup import clean_observation

_NEW = slice(2, None)  # frames of a piece that are new


class ObjectRollout:
    """One rollout; `advance` is called with piece after piece of the robot's motion.

    Args:
        model: The networks.
        observation: The first frame; of its robot only that frame counts.
        seed: Seed of a sample; the most likely motion if None.
    """

    def __init__(
        self, model: ObjectWorldModel, observation: Observation, *, seed: int | None = None
    ) -> None:
        self._model = model
        self._generator = None if seed is None else torch.Generator().manual_seed(seed)
        first = model.with_depth(clean_observation(observation.slice_frames(slice(1))))
        self._image, self._xyz, self._part = first.image, first.xyz, model.segment_parts(first)
        self._shows_parts = model.dynamics_sample(first, self._part) is not None
        if not self._shows_parts:
            self._part = np.full_like(self._part, BACKGROUND)
        self._path = first.to_support(first.robot_points)
        self._count = max(int(self._part.max()) + 1, 0)
        self._state: RolloutState | None = None
        self._moving = np.zeros(0, int)
        self._compositor: Compositor | None = None

    def advance(self, observation: Observation) -> tuple[PointmapVideo, PartMotion]:
        """The video of further frames, and the motion of all parts in them.

        Args:
            observation: Of its robot, frame 0 is the rollout's first frame, frame 1 the last one
                known, and the others are new. Its image and geometry are not looked at.
        """
        observation = replace(observation, image=self._image, xyz=self._xyz)
        observation = clean_observation(observation)
        motion = PartMotion(part=self._part, motions=self._advance_parts(observation))
        moved = parts_that_moved(self._xyz, self._part, motion.motions)
        if self._compositor is None or not np.isin(moved, self._moving).all():
            self._moving = np.union1d(self._moving, moved)
            self._compositor = Compositor(observation, self._part, self._moving)
        else:
            self._compositor = self._compositor.with_observation(observation)
        frames = [
            self._compositor.render(t, poses[self._moving])
            for t, poses in enumerate(motion.motions, _NEW.start)
        ]
        return self._model.finish(observation, frames), motion

    def _advance_parts(self, observation: Observation) -> np.ndarray:
        """[T, P, 4, 4] in the new frames."""
        motions = np.tile(np.eye(4), (len(observation) - _NEW.start, self._count, 1, 1))
        if not self._shows_parts:
            return motions
        new = observation.to_support(observation.robot_points[_NEW])
        self._path = np.concatenate([self._path, new])
        sample = self._model.dynamics_sample(
            observation, self._part, frames=slice(1, None), path=self._path
        )
        assert sample is not None
        poses, self._state = continue_rollout(
            self._model.dynamics, *sample.tensors(), sample.seconds, self._generator, self._state
        )
        motions[:, list(sample.part_ids)] = poses_in_camera(observation, poses[1:].numpy())
        return motions
