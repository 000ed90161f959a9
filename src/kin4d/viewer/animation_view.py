"""AnimationView: a glTF file with animations of its own: choose one, play, pause, scrub, save."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from kin4d.errors import InputError
from kin4d.geometry.clip import Clip
from kin4d.geometry.mesh import Mesh
from kin4d.objects.animated import animation_names, load_animation
from kin4d.viewer.clip_view import ClipView
from kin4d.viewer.page import Page


def clip_names(what: str | Path) -> tuple[str, ...]:
    """Names of a file's animations that deform it; empty if there are none, or it is no glTF file.

    Animations are read until one deforms: of the others it is only known when they are chosen.
    """
    if Path(what).suffix.lower() not in (".glb", ".gltf"):
        return ()
    names = animation_names(what)
    for number, name in enumerate(names):
        try:
            animation_clip(what, name, fps=4.0)
        except InputError:
            continue
        return names[number:]
    return ()


def animation_clip(what: str | Path, name: str, *, fps: float = 30.0) -> Clip:
    """One animation of a glTF file, with the look of the file."""
    # Terms of use matter to those who train on it, not to those who look at it.
    sequence = load_animation(what, name, fps=fps, licence="unknown")
    clip = sequence.clip(mesh=Mesh.load(what))
    return replace(clip, mesh=replace(clip.mesh, name=Path(what).stem))


class AnimationView:
    """A page that plays the animations of a file.

    Args:
        page: Where; whatever it showed before is closed.
        what: A .glb or .gltf file.
        names: Its animations; see `clip_names`.
        as_mesh: Shows the file's mesh instead, as a body.
    """

    def __init__(
        self, page: Page, what: str | Path, names: tuple[str, ...], as_mesh: Callable[[], None]
    ) -> None:
        self._page, self._what, self._names, self._as_mesh = page, what, names, as_mesh
        self.open(names[0])

    def open(self, name: str) -> None:
        """Play one of them."""
        clip = animation_clip(self._what, name)
        self._page.settle()
        self.view = ClipView(self._page, clip)
        gui = self._page.gui
        self.choice = gui.add_dropdown("animation", self._names, initial_value=name, order=0.5)
        self.still = gui.add_button(
            "Find joints",
            hint="forget the animation, and predict how the mesh moves",
            order=0.7,
        )
        self._page.on_change(self.choice, lambda: self.open(self.choice.value))
        self._page.on_click(self.still, lambda _: self._as_mesh())
