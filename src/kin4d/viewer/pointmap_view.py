"""PointmapView: what cameras saw or imagined: images beside coloured points, over time."""

from __future__ import annotations

from collections.abc import Mapping

from kin4d.geometry.pointmap import PointmapVideo
from kin4d.viewer.disagreement import disagreement_video
from kin4d.viewer.page import Page
from kin4d.viewer.pointmap_row import PointmapRow
from kin4d.viewer.timeline import Timeline


class PointmapView:
    """A page that plays pointmap videos, several side by side, and where they disagree.

    Args:
        page: Where; whatever it showed before is closed.
        videos: By name, in one world.
    """

    def __init__(self, page: Page, videos: Mapping[str, PointmapVideo]) -> None:
        page.clear()
        self.videos = dict(videos)
        first = next(iter(self.videos.values()))
        if len(self.videos) > 1 and len({video.rgb.shape for video in self.videos.values()}) == 1:
            self.videos["disagreement"] = disagreement_video([*self.videos.values()])
        page.gui.set_panel_label(next(iter(self.videos))[:40])
        page.gui.add_markdown(
            f"{len(first)} frames, {first.camera.width} x {first.camera.height} pixels"
        )
        frames = max(len(video) for video in self.videos.values())
        self.timeline = Timeline(
            page,
            count=frames,
            fps=first.fps,
            show=lambda frame: self.row.show(frame),
            playing=True,
        )
        self.row = PointmapRow(page, self.videos)
        self.row.show(0)
        page.show(self)

    def tick(self) -> float | None:
        """See `View`."""
        return self.timeline.tick()
