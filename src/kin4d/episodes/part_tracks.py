"""Parts: which rigid part each pixel shows, and how every part has moved since the first frame.

Only a simulator knows this. It is what a world model may learn motion from: where each object that
is seen in the first frame goes.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from kin4d.errors import InputError

FIRST = 2
"""Mask id of the first part: 0 is the room, 1 the robot, as in an episode's video."""


@dataclass(frozen=True, eq=False, kw_only=True)
class PartTracks:
    """The rigid parts of an episode's objects; a cabinet with one drawer has two.

    Attributes:
        mask: [T, H, W] uint8: 0 the room, 1 the robot, part p has id p + 2.
        motions: [T, P, 4, 4] float64: in the camera frame, m. A point at x in the first frame is
            at ``motions[t, p] @ x`` in frame t.
        object_ids: [P] the id in the episode's video of the object that each part belongs to.
    """

    mask: np.ndarray
    motions: np.ndarray
    object_ids: tuple[int, ...]

    def __post_init__(self) -> None:
        frames, parts = len(self.mask), len(self.object_ids)
        if self.motions.shape != (frames, parts, 4, 4) or self.mask.ndim != 3:
            raise InputError(
                "motions of parts have the wrong shape",
                value=self.motions.shape,
                allowed=f"{(frames, parts, 4, 4)}",
            )
        if int(self.mask.max(initial=0)) >= FIRST + parts:
            raise InputError("a pixel shows a part that is not there", value=int(self.mask.max()))

    def pick(self, index: np.ndarray) -> PartTracks:
        """The parts in frames `index` [n], moving from where they are in the first of these."""
        since = np.linalg.inv(self.motions[index[0]])
        return PartTracks(
            mask=self.mask[index], motions=self.motions[index] @ since, object_ids=self.object_ids
        )

    def carried(self, xyz: np.ndarray) -> np.ndarray:
        """[T, H, W, 3] float32 m: where all that the first frame shows, at `xyz` [H, W, 3], goes.

        Room and robot stay where they are: the robot's motion follows from its joints.
        """
        whole = np.tile(
            np.eye(4, dtype=np.float32), (len(self.mask), len(self.object_ids) + FIRST, 1, 1)
        )
        whole[:, FIRST:] = self.motions
        chosen = whole[:, self.mask[0]]
        return (chosen[..., :3, :3] @ xyz[None, ..., None])[..., 0] + chosen[..., :3, 3]
