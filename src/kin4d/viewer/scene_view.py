"""SceneView: several bodies and what stands around them, simulated while one looks and pulls."""

from __future__ import annotations

import numpy as np
import torch

from kin4d.dynamics.scene import Scene
from kin4d.viewer.drag import on_drag
from kin4d.viewer.mechanics_panel import MechanicsPanel, start_coordinates
from kin4d.viewer.page import Page
from kin4d.viewer.picking import grab_point
from kin4d.viewer.robot_tools import CameraViews
from kin4d.viewer.save_panel import Writer, add_save_panel, file_stem
from kin4d.viewer.surface import Surface


class SceneView:
    """A page that runs a scene.

    Args:
        page: Where; whatever it showed before is closed.
        scene: What takes part.
        name: For people.
    """

    def __init__(self, page: Page, scene: Scene, *, name: str) -> None:
        page.clear()
        self.scene, self._page, self._name = scene, page, name
        self._bodies = [actor.body for actor in scene.named_actors]
        self.q = start_coordinates(scene)
        meshes = [body.rest for body in self._bodies] + list(scene.obstacles)
        low = np.min([mesh.bounds[0] for mesh in meshes], axis=0)
        high = np.max([mesh.bounds[1] for mesh in meshes], axis=0)
        if scene.ground is not None:
            low[2] = scene.ground
        page.floor(np.stack([low, high]))
        self.surfaces = []
        for number, (actor, body) in enumerate(zip(scene.named_actors, self._bodies, strict=True)):
            surface = Surface(page.scene, page.path("actor"), body.rest, body.skin)
            self.surfaces.append(surface)
            if actor.motion is None:
                on_drag(page, surface.handles, _ActorDrag(self, number))
        self._obstacles = [
            Surface(page.scene, page.path("obstacle"), mesh, None) for mesh in scene.obstacles
        ]
        page.gui.set_panel_label(name[:40])
        page.gui.add_markdown(
            f"{len(self._bodies)} bodies, {len(self._obstacles)} obstacles", order=0
        )
        self.mechanics = MechanicsPanel(page, lambda: scene, self.show)
        self.views = None
        if scene.cameras:
            bodies = {
                actor.name: body
                for actor, body in zip(scene.named_actors, self._bodies, strict=True)
            }
            self.views = CameraViews(page, scene.cameras, bodies)
        self.buttons = add_save_panel(page, name, self._writers())
        page.show(self)
        self.show(self.q)

    def show(self, q: tuple[np.ndarray, ...]) -> None:
        """Show every body at its coordinates."""
        self.q = tuple(one.copy() for one in q)
        with torch.no_grad(), self._page.viser.atomic():
            for body, surface, one in zip(self._bodies, self.surfaces, q, strict=True):
                at = torch.from_numpy(np.asarray(one, np.float64))
                if body.skin is not None:
                    surface.set_transforms(body.skin_transforms(at).numpy())
                else:
                    surface.set_vertices(body.vertices(at).numpy())
            if self.views is not None:
                self.views.show([*self.q])

    def tick(self) -> float | None:
        """See `View`."""
        return self.mechanics.tick()

    def _writers(self) -> dict[str, Writer]:
        stem = file_stem(self._name)

        def motion(suffix: str) -> Writer:
            def write(folder) -> None:
                clip = self.mechanics.clip()
                if clip is None:
                    self.mechanics.go()
                    self.mechanics.stop()
                    assert self.mechanics.simulation is not None
                    clip = self.mechanics.simulation.clip()
                clip.save(folder / f"{stem}{suffix}")

            return write

        return {
            "GLB": motion(".glb"),
            "USD": motion(".usdc"),
            "Page (html)": motion(".html"),
            "Motion (npz)": motion(".npz"),
        }


class _ActorDrag:
    """Pulls at one actor, while the mechanics run."""

    def __init__(self, view: SceneView, actor: int) -> None:
        self._view, self._actor = view, actor

    def grab(self, point: np.ndarray) -> None:
        body = self._view.scene.named_actors[self._actor].body
        grabbed = grab_point(body, self._view.q[self._actor], point)
        self._view.mechanics.grab(self._actor, grabbed)

    def drag(self, target: np.ndarray) -> None:
        self._view.mechanics.pull(self._actor, target)

    def drop(self) -> None:
        self._view.mechanics.release()
