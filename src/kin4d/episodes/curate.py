"""Curation: episodes that would teach something wrong are left out, and the reasons are counted."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from kin4d.episodes.episode import FRAMES, Episode
from kin4d.errors import InputError


class RejectedEpisode(InputError):
    """An episode that is left out.

    Attributes:
        reason: One of a few, to be counted.
    """

    def __init__(self, reason: str, why: str, *, hint: str | None = None) -> None:
        self.reason = reason
        super().__init__(f"{reason}: {why}", hint=hint)


@dataclass(frozen=True, kw_only=True)
class QualityFilter:
    """What an episode must be like.

    Attributes:
        frames: Its length; 0 for any.
        min_robot: Share of the image that the robot must cover in a frame to be in view.
        min_in_view: Share of frames in which it must be in view.
        min_motion: Share of all pixels that must change colour or body between some two of its
            first, middle and last frame; less is a clip in which nothing happens.
        min_joint_motion: Where joints are known, how far (rad or m) some joint must move instead.
        min_seen: Share of pixels that must have a point.
        max_off_pixel: How far (px) points may lie from the pixel they are in.
        depth: Allowed depth, m.
    """

    frames: int = FRAMES
    min_robot: float = 0.002
    min_in_view: float = 0.9
    min_motion: float = 0.003
    min_joint_motion: float = 0.02
    min_seen: float = 0.0
    max_off_pixel: float = 0.5
    depth: tuple[float, float] = (0.01, 50.0)


def check_episode(episode: Episode, rules: QualityFilter | None = None) -> None:
    """Raise `RejectedEpisode` if an episode breaks a rule."""
    rules = rules or QualityFilter()
    if rules.frames and len(episode) != rules.frames:
        raise RejectedEpisode("wrong length", f"{len(episode)} frames, not {rules.frames}")
    _check_view(episode, rules)
    _check_motion(episode, rules)
    _check_depth(episode, rules)


def _check_view(episode: Episode, rules: QualityFilter) -> None:
    share = episode.robot_mask.mean((1, 2))
    in_view = float((share >= rules.min_robot).mean())
    if in_view < rules.min_in_view:
        away = int(np.flatnonzero(share < rules.min_robot)[0])
        raise RejectedEpisode(
            "robot out of view",
            f"seen in {in_view:.0%} of frames, first away in frame {away}",
        )


def _check_motion(episode: Episode, rules: QualityFilter) -> None:
    if episode.joints is not None and np.ptp(episode.joints, axis=0).max() > rules.min_joint_motion:
        return
    video = episode.video
    chosen = [0, len(video) // 2, len(video) - 1]
    rgb, mask = video.rgb[chosen].astype(np.int16), video.mask[chosen]
    changed = (np.abs(rgb - rgb[:1]).max(-1) > 16) | (mask != mask[:1])
    if changed.any(0).mean() < rules.min_motion:
        raise RejectedEpisode("static clip", f"{changed.any(0).mean():.2%} of pixels change")


def _check_depth(episode: Episode, rules: QualityFilter) -> None:
    xyz, camera = episode.video.xyz, episode.video.camera
    seen = np.asarray(np.isfinite(xyz).all(-1))
    if seen.mean() < rules.min_seen or not seen.any():
        raise RejectedEpisode("broken depth", f"{seen.mean():.0%} of pixels have a point")
    if not seen[episode.robot_mask].all():
        raise RejectedEpisode("broken depth", "the robot has pixels without a point")
    z = xyz[..., 2]
    low, high = float(z[seen].min()), float(z[seen].max())
    if low < rules.depth[0] or high > rules.depth[1]:
        raise RejectedEpisode("broken depth", f"from {low:.3g} to {high:.3g} m")
    v, u = np.indices(seen.shape[1:])
    pixels = (xyz @ camera.K.T.astype(np.float32))[..., :2] / z[..., None]
    off = np.hypot(pixels[..., 0] - u, pixels[..., 1] - v)[seen].max()
    if off > rules.max_off_pixel:
        raise RejectedEpisode("broken depth", f"points are up to {off:.2f} px from their pixels")
