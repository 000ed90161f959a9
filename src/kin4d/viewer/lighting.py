"""Lighting: a sun and a sky that every browser can draw fast; shadows for those who want them."""

from __future__ import annotations

from typing import Any

_SKY, _GROUND = (255, 255, 255), (96, 92, 88)
_SUN_FROM = (-0.4, -0.7, 1.0)


class Lighting:
    """The light of a page.

    viser's own light costs four fifths of the time that a frame takes without a graphics card:
    three shadow maps, each of which draws the whole scene once more, a second sun, and a
    photographed surrounding.

    Args:
        scene: viser's.
    """

    def __init__(self, scene: Any) -> None:
        self._scene = scene
        self._sun: Any = None
        scene.configure_environment_map(None)

    def add(self, *, shadows: bool = False) -> None:
        """Light the scene, again after it was reset."""
        self._scene.add_light_hemisphere(
            "/sky", sky_color=_SKY, ground_color=_GROUND, intensity=1.8, position=(0.0, 0.0, 1.0)
        )
        self._sun = self._scene.add_light_directional("/sun", intensity=1.9, position=_SUN_FROM)
        self.set_shadows(shadows)

    def set_shadows(self, on: bool) -> None:
        """Whether the sun throws shadows: then it is viser's."""
        self._scene.configure_default_lights(enabled=on, cast_shadow=on)
        self._sun.visible = not on
