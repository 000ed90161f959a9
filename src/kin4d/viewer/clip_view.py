"""ClipView: a motion that was made before: play, pause, scrub, save."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from kin4d.geometry.clip import Clip
from kin4d.viewer.page import Page
from kin4d.viewer.save_panel import Writer, add_save_panel, file_stem
from kin4d.viewer.surface import Surface
from kin4d.viewer.timeline import Timeline


class ClipView:
    """A page that plays a clip.

    Args:
        page: Where; whatever it showed before is closed.
        clip: What to play.
    """

    def __init__(self, page: Page, clip: Clip) -> None:
        page.clear()
        self.clip, self._page = clip, page
        page.floor(clip.bounds)
        self.surface = Surface(page.scene, page.path("body"), clip.mesh, clip.skin)
        display = self.surface.display
        text = f"{len(clip.mesh.vertices):,} vertices, {len(clip)} frames, {clip.fps:g} a second"
        if not display.whole:
            text += f"; **a preview of {len(display.faces):,} triangles is shown**"
        page.gui.set_panel_label(clip.mesh.name[:40])
        page.gui.add_markdown(text, order=0)
        self.timeline = Timeline(
            page, count=len(clip), fps=clip.fps, show=self.show, playing=len(clip) > 1, order=1
        )
        self.buttons = add_save_panel(page, clip.mesh.name, self._writers())
        self.show(0)
        page.show(self)

    def show(self, frame: int) -> None:
        """Show one frame of the clip, of those beyond its end the last."""
        frame = min(frame, len(self.clip) - 1)
        with self._page.viser.atomic():
            if self.clip.skin is not None:
                self.surface.set_transforms(self.clip.skin.transforms[frame])
            else:
                self.surface.set_vertices(self.clip.vertices[frame])

    def tick(self) -> float | None:
        """See `View`."""
        return self.timeline.tick()

    def _writers(self) -> dict[str, Writer]:
        stem = file_stem(self.clip.mesh.name)

        def write(suffix: str) -> Callable[[Path], None]:
            def save(folder: Path) -> None:
                self.clip.save(folder / f"{stem}{suffix}")

            return save

        return {
            "GLB": write(".glb"),
            "USD": write(".usdc"),
            "Page (html)": write(".html"),
            "Motion (npz)": write(".npz"),
        }
