"""What became of the object that the robot went for: lifted, moved or missed."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from kin4d.benchmarks.world.part_tracker import PartTracker
from kin4d.benchmarks.world.regions import moving_parts, part_mask
from kin4d.episodes.episode import Episode
from kin4d.geometry.pointmap import PointmapVideo
from kin4d.world.observation import Observation

LIFTED, MOVED, MISSED = "lifted", "moved", "missed"
MIN_MOTION = 0.02
"""m of the object's centre below which it was missed."""
MIN_RISE = 0.03
"""m upwards from which it was lifted; else it was pushed, opened or closed."""
_MIN_COSINE = 0.5  # between true and predicted direction of what is moved
_MIN_PIXELS = 12  # of an object in the first frame


@dataclass(frozen=True, eq=False)
class Target:
    """The part that the robot went for, and the last frame that shows it.

    Attributes:
        part: Its number.
        frame: The last frame in which the truth shows it.
        motion: [3] m, camera frame: true displacement of its centre until then.
    """

    part: int
    frame: int
    motion: np.ndarray
    tracker: PartTracker

    @classmethod
    def of(cls, episode: Episode, observation: Observation) -> Target | None:
        """The part that moves most, or that the robot comes nearest to; None if none is seen."""
        parts = episode.parts
        assert parts is not None
        seen = [
            part
            for part in range(len(parts.object_ids))
            if part_mask(episode, part)[0].sum() >= _MIN_PIXELS
        ]
        moving = [part for part in moving_parts(episode) if part in seen]
        if not seen:
            return None
        if moving:
            chosen = max(moving, key=lambda part: _farthest(episode, part))
        else:
            hand = observation.robot_points.reshape(-1, 3)
            chosen = min(seen, key=lambda part: _distance(episode, part, hand))
        tracker = PartTracker([episode], chosen)
        frame = max(t for t in range(len(episode)) if t == 0 or tracker.visible(t))
        return cls(chosen, frame, _displacement(episode, chosen, frame), tracker)

    def find(self, video: PointmapVideo) -> tuple[np.ndarray, float, bool]:
        """Displacement [3] m (camera frame), error in px, and whether the part was lost."""
        found = self.tracker.find(video, self.frame)
        off = float(np.linalg.norm(found.centre - self.tracker.paths[0][self.frame]))
        start = part_mask(self.tracker.episodes[0], self.part)[0]
        before = np.nanmedian(self.tracker.episodes[0].video.xyz[0][start], axis=0)
        points = video.xyz[self.frame][found.mask]
        points = points[np.isfinite(points).all(-1)]
        if found.lost or not len(points):
            return np.zeros(3), off, True
        return np.median(points, axis=0) - before, off, False


def outcome(motion: np.ndarray, up: np.ndarray) -> str:
    """The outcome of a displacement [3], m; `up` is a unit vector in the same frame."""
    if np.linalg.norm(motion) < MIN_MOTION:
        return MISSED
    return LIFTED if motion @ up >= MIN_RISE else MOVED


def is_right(predicted: np.ndarray, true: np.ndarray, up: np.ndarray) -> bool:
    """Whether two displacements [3] are the same outcome, in about the same direction."""
    if outcome(predicted, up) != outcome(true, up):
        return False
    if outcome(true, up) != MOVED:
        return True
    cosine = predicted @ true / (np.linalg.norm(predicted) * np.linalg.norm(true))
    return bool(cosine > _MIN_COSINE)


def _displacement(episode: Episode, part: int, frame: int) -> np.ndarray:
    assert episode.parts is not None
    points = episode.video.xyz[0][part_mask(episode, part)[0]].astype(np.float64)
    centre = np.nanmedian(points, axis=0)
    motion = episode.parts.motions[frame, part]
    return motion[:3, :3] @ centre + motion[:3, 3] - centre


def _farthest(episode: Episode, part: int) -> float:
    return max(
        float(np.linalg.norm(_displacement(episode, part, t))) for t in range(0, len(episode), 4)
    )


def _distance(episode: Episode, part: int, hand: np.ndarray) -> float:
    points = episode.video.xyz[0][part_mask(episode, part)[0]]
    return float(np.linalg.norm(hand - np.nanmedian(points, axis=0), axis=-1).min())
