"""Lighting: a sun and a sky that every browser can draw fast; shadows for those who want them."""

from __future__ import annotations

from typing import Any

_SKY, _GROUND = (255, 255, 255), (150, 148, 145)


class Lighting:
    """The light of a page.

    viser's own light costs four fifths of the time a frame takes without a graphics card: three
    shadow maps, each of which draws the whole scene once more, and a photographed surrounding.

    Args:
        scene: viser's.
    """

    def __init__(self, scene: Any) -> None:
        self._scene = scene
        scene.configure_environment_map(None)

    def add(self, *, shadows: bool = False) -> None:
        """Light the scene, again after it was reset."""
        self._scene.add_light_hemisphere(
            "/sky", sky_color=_SKY, ground_color=_GROUND, intensity=2.0
        )
        self.set_shadows(shadows)

    def set_shadows(self, on: bool) -> None:
        """Whether the sun throws shadows."""
        self._scene.configure_default_lights(cast_shadow=on)
