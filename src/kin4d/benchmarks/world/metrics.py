"""WorldMetrics: compares one imagined clip with the recorded episode."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import cached_property

import numpy as np

from kin4d.benchmarks.world.image_metrics import (
    cells_of,
    fits_codec,
    latent_map,
    psnr,
    sharpness,
    ssim_map,
    within,
)
from kin4d.benchmarks.world.part_tracker import PartTracker
from kin4d.benchmarks.world.point_metrics import point_error, temporal_point_error
from kin4d.benchmarks.world.regions import (
    composited,
    evaluated_frames,
    moving_parts,
    moving_region,
    part_mask,
)
from kin4d.episodes.episode import Episode
from kin4d.geometry.pointmap import PointmapVideo
from kin4d.world.diffusion.codec import VideoCodec
from kin4d.world.episode_observation import episode_observation
from kin4d.world.observation import Observation

Score = Mapping[str, float]
"""Figures by name; NaN where an episode has nothing to measure, such as a part that moves."""


class WorldMetrics:
    """Metrics of clips imagined for one episode.

    Args:
        episode: The truth.
        codec: Whose latents are compared; None leaves them out.
    """

    def __init__(self, episode: Episode, *, codec: VideoCodec | None = None) -> None:
        self.episode = episode
        self.codec = codec if codec is not None and fits_codec(episode.video.rgb.shape) else None

    @cached_property
    def observation(self) -> Observation:
        """The input of a world model."""
        return episode_observation(self.episode)

    @cached_property
    def regions(self) -> dict[str, np.ndarray]:
        """[T, H, W] bool by name.

        Everything; what moves; of that, where a part that moves is or was, and so neither shadows
        nor what the robot uncovers; and such parts where they are.
        """
        truth = self.episode.video
        things = np.zeros(truth.mask.shape, bool)
        for tracker in self.trackers:
            things |= part_mask(self.episode, tracker.part)
        moving = moving_region(truth, composited(self.observation))
        return {
            "": np.ones(truth.mask.shape, bool),
            " moving": moving,
            " touched": moving & (things | things[0]),
            " things": things,
        }

    @cached_property
    def trackers(self) -> list[PartTracker]:
        """One for each rigid part that truly moves."""
        return [PartTracker([self.episode], part) for part in moving_parts(self.episode)]

    def colours(self, predicted: PointmapVideo) -> Score:
        """PSNR (dB), SSIM and distance of latents in each region, sharpness where parts move."""
        truth = self.episode.video
        alike = ssim_map(truth.rgb, predicted.rgb)
        far = None if self.codec is None else latent_map(self.codec, truth.rgb, predicted.rgb)
        score = {}
        for name, where in self.regions.items():
            score[f"PSNR{name}"] = psnr(truth.rgb, predicted.rgb, where)
            score[f"SSIM{name}"] = within(alike, where)
            if far is not None:
                share = cells_of(where)[1:]
                total = share.sum()
                latent = float((far[1:] * share).sum() / total) if total else float("nan")
                score[f"latent L2{name}"] = latent
        score["sharpness"] = sharpness(truth.rgb, predicted.rgb, self.regions[" moving"])
        return score

    def geometry(self, predicted: PointmapVideo) -> Score:
        """Chamfer distances (mm, mm²) and F-scores in each region, and of changes."""
        truth, score = self.episode.video.xyz, {}
        for region in ("", " moving"):
            for when, measure in (("", point_error), (" temporal", temporal_point_error)):
                found = measure(truth, predicted.xyz, self.regions[region])
                name = f"{region}{when}"
                score[f"CD-L1{name}"] = 1e3 * found.cd_l1
                score[f"CD-L2{name}"] = 1e6 * found.cd_l2
                score[f"F{name}"] = found.f_score
        return score

    def things(self, predicted: PointmapVideo) -> Score:
        """Where parts that truly move are found: errors and true ways in px, IoU of their masks.

        Means over parts. "last" is of the last frame in which the truth shows the part, the other
        figures are means over evaluated frames in which it does.
        """
        rows = [
            row
            for tracker in self.trackers
            if (row := self._part_errors(tracker, predicted)) is not None
        ]
        names = ("off", "off last", "way", "way last", "IoU", "lost")
        means = np.mean(rows, axis=0) if rows else np.full(len(names), np.nan)
        return dict(zip(names, map(float, means), strict=True))

    def score(self, predicted: PointmapVideo) -> Score:
        """Everything."""
        return {**self.colours(predicted), **self.things(predicted), **self.geometry(predicted)}

    def _part_errors(
        self, tracker: PartTracker, predicted: PointmapVideo
    ) -> tuple[float, ...] | None:
        path, true = tracker.paths[0], part_mask(self.episode, tracker.part)
        off, way, overlap, lost = [], [], [], []
        for frame in evaluated_frames(len(predicted)):
            if tracker.visible(frame):
                found = tracker.find(predicted, int(frame))
                off.append(float(np.linalg.norm(found.centre - path[frame])))
                way.append(float(np.linalg.norm(path[frame] - path[0])))
                both = (found.mask & true[frame]).sum()
                overlap.append(float(both / (found.mask | true[frame]).sum()))
                lost.append(float(found.lost))
        if not off:
            return None
        means = (np.mean(values) for values in (off, way, overlap, lost))
        mean_off, mean_way, mean_overlap, mean_lost = (float(value) for value in means)
        return mean_off, off[-1], mean_way, way[-1], mean_overlap, mean_lost


def average(scores: Iterable[Score], name: str) -> float:
    """Mean of a figure over the clips that have it; NaN if none does."""
    values = [score[name] for score in scores if name in score and np.isfinite(score[name])]
    return float(np.mean(values)) if values else float("nan")
