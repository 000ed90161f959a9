"""BodyView: one body: sliders, dragging, mechanics, corrections, saving."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, get_args

import numpy as np
import torch

from kin4d.bodies.body import Body
from kin4d.bodies.capabilities import (
    Correctable,
    EndEffector,
    KinematicTree,
    Predicted,
    body_name,
    fixed_base,
)
from kin4d.bodies.corrections import write_corrections
from kin4d.dynamics.materials import material
from kin4d.dynamics.scene import Scene
from kin4d.export.articulated import write_articulated
from kin4d.geometry.camera import Camera
from kin4d.geometry.clip import Clip
from kin4d.loading import BodyType
from kin4d.viewer.axis_lines import AxisLines
from kin4d.viewer.body_motion import own_motion
from kin4d.viewer.correction_panel import CorrectionPanel
from kin4d.viewer.drag import on_drag
from kin4d.viewer.joint_panel import JointPanel
from kin4d.viewer.live_simulation import body_scene
from kin4d.viewer.mechanics_panel import MechanicsPanel, material_names
from kin4d.viewer.page import Page
from kin4d.viewer.picking import face_under_ray, grab_point
from kin4d.viewer.pose_fit import PointFit
from kin4d.viewer.robot_tools import RobotTools
from kin4d.viewer.save_panel import Writer, add_save_panel, file_stem
from kin4d.viewer.surface import Surface

Reload = Callable[[BodyType, str], Body]
"""The body of the open mesh file, of another body type and with a pinned side ("" for none)."""

BODY_TYPES = tuple(name for name in get_args(BodyType) if name != "auto")
SIDES = ("(none)", "bottom", "top", "left", "right", "front", "back")


class BodyView:
    """A page that shows a body.

    Args:
        page: Where; whatever it showed before is closed.
        body: Any body.
        reload: Makes the body anew as another type, where it comes from a mesh.
        body_type: That it has now.
        camera: Of a robot: a view to draw from.

    Attributes:
        body: As it is now, after corrections.
        q: [k] as it is shown.
    """

    def __init__(
        self,
        page: Page,
        body: Body,
        *,
        reload: Reload | None = None,
        body_type: str = "",
        camera: Camera | None = None,
    ) -> None:
        self._page, self._reload, self._camera = page, reload, camera
        self._type, self._side = body_type, SIDES[0]
        self._before: list[Body] = []
        self.set_body(body)

    def set_body(self, body: Body) -> None:
        """Show another body, with inputs of its own."""
        page = self._page
        page.clear()
        self.body, self.q = body, body.q0.numpy().copy()
        self._fit: PointFit | None = None
        page.gui.set_panel_label(body_name(body)[:40])
        page.floor(body.rest.bounds)
        self.surface = Surface(page.scene, page.path("body"), body.rest, body.skin)
        self._describe()
        self.joints = JointPanel(page, body, self._posed, self._held)
        self.mechanics: MechanicsPanel | None = None
        if body.coordinates:
            self._add_mechanics()
        self._axes = AxisLines(page.scene, page.path("axes"), body)
        self.corrections: CorrectionPanel | None = None
        if isinstance(body, Correctable):
            self._add_corrections(body)
        robot = fixed_base(body)
        self.robot: RobotTools | None = None
        if isinstance(robot, EndEffector) and isinstance(robot, KinematicTree):
            self.robot = RobotTools(page, robot, self._posed, camera=self._camera)
        self.buttons = add_save_panel(page, body_name(body), self._writers())
        on_drag(page, self.surface.handles, self)
        page.show(self)
        self.show(self.q)

    def show(self, q: np.ndarray, *, sliders: bool = True) -> None:
        """Show the body at coordinates q [k]."""
        self.q = q.copy()
        at = torch.from_numpy(q)
        with torch.no_grad(), self._page.viser.atomic():
            if self.body.skin is not None:
                transforms = self.body.skin_transforms(at).numpy()
                self.surface.set_transforms(transforms)
                self._axes.show(transforms)
            else:
                self.surface.set_vertices(self.body.vertices(at).numpy())
            if sliders:
                self.joints.show(q)
            if self.robot is not None:
                self.robot.show(q)

    def tick(self) -> float | None:
        """See `View`."""
        return None if self.mechanics is None else self.mechanics.tick()

    def grab(self, point: np.ndarray) -> None:
        """See `Draggable`: pulled while the mechanics run, else posed."""
        if not self.body.coordinates:
            return
        grabbed = grab_point(self.body, self.q, point)
        if self.mechanics is not None and self.mechanics.running:
            self.mechanics.grab(0, grabbed)
        else:
            self._fit = PointFit(self.body, grabbed)

    def drag(self, target: np.ndarray) -> None:
        """See `Draggable`."""
        if self._fit is not None:
            self._posed(self._fit.solve(self.q, target), sliders=True)
        elif self.mechanics is not None:
            self.mechanics.pull(0, target)

    def drop(self) -> None:
        """See `Draggable`."""
        self._fit = None
        if self.mechanics is not None:
            self.mechanics.release()

    def _posed(self, q: np.ndarray, sliders: bool = False) -> None:
        if self.mechanics is not None:
            if self.mechanics.running:
                self.mechanics.stop()
            self.mechanics.forget()
        self.show(q, sliders=sliders)

    def _held(self, held: list[int]) -> None:
        if self.mechanics is not None:
            self.mechanics.hold(0, held)

    def _describe(self) -> None:
        mesh, display = self.body.rest, self.surface.display
        text = f"{len(mesh.vertices):,} vertices, {len(mesh.faces):,} triangles"
        if not display.whole:
            text += f"; **a preview of {len(display.faces):,} triangles is shown**"
        sure = self.body.confidence if isinstance(self.body, Predicted) else None
        if self._type and sure is not None:
            text += f"; network's confidence {sure:.2f}"
        self._page.gui.add_markdown(text, order=0)
        if self._reload is not None:
            choice = self._page.gui.add_dropdown(
                "body type", BODY_TYPES, initial_value=self._type or BODY_TYPES[0], order=0
            )
            side = self._page.gui.add_dropdown(
                "pinned side", SIDES, initial_value=self._side, order=0,
                disabled=self._type not in ("solid", "sheet"),
            )  # fmt: skip
            self._page.on_change(choice, lambda: self._reloaded(choice.value, side.value))
            self._page.on_change(side, lambda: self._reloaded(choice.value, side.value))

    def _reloaded(self, body_type: BodyType, side: str) -> None:
        assert self._reload is not None
        if body_type not in ("solid", "sheet"):
            side = SIDES[0]
        self._page.settle()
        body = self._reload(body_type, "" if side == SIDES[0] else side)
        self._type, self._side = body_type, side
        self.set_body(body)

    def _add_mechanics(self) -> None:
        panel = MechanicsPanel(self._page, self._scene, lambda every: self.show(every[0]))
        self.mechanics = panel
        with panel.folder:
            self.gravity = self._page.gui.add_checkbox("gravity", initial_value=False)
            self.material = self._page.gui.add_dropdown("material", material_names())
        self._page.on_change(self.gravity, panel.change)
        self._page.on_change(self.material, panel.change)

    def _scene(self) -> Scene:
        chosen = self.material.value if self.material.value in material_names()[1:] else None
        mass = None if chosen is None else material(chosen).mass_of(self.body.rest)
        return body_scene(
            self.body, material=chosen, mass=mass, gravity=self.gravity.value, q=self.q
        )

    def _add_corrections(self, body: Correctable) -> None:
        panel = CorrectionPanel(self._page, body, self._corrected)
        self.corrections = panel
        undo = self._page.gui.add_button("Undo the last correction", order=4)
        undo.disabled = not self._before
        self._page.on_click(undo, lambda _: self.set_body(self._before.pop()))

        def picked(origin: np.ndarray, direction: np.ndarray) -> None:
            face = face_under_ray(body, self.q, origin, direction)
            if face is not None:
                panel.pick(int(body.rest.faces[face, 0]))

        for handle in self.surface.handles:

            @handle.on_click
            async def _(event: Any) -> None:
                ray = np.array(event.ray_origin), np.array(event.ray_direction)
                self._page.loop.post(lambda: picked(*ray))

    def _corrected(self, body: Correctable) -> None:
        self._before.append(self.body)
        self.set_body(body)
        self._page.notice("corrected", f"{len(body.joint_specs)} joints now")

    def _clip(self) -> Clip:
        """What was simulated, else each coordinate in turn, else the body as it is."""
        recorded = None if self.mechanics is None else self.mechanics.clip()
        if recorded is not None:
            return recorded
        return own_motion(self.body)

    def _writers(self) -> dict[str, Writer]:
        stem, body = file_stem(body_name(self.body)), self.body

        def motion(suffix: str) -> Writer:
            return lambda folder: _write(self._clip(), folder / f"{stem}{suffix}")

        writers = {
            "GLB": motion(".glb"),
            "USD": motion(".usdc"),
            "Page (html)": motion(".html"),
            "Motion (npz)": motion(".npz"),
        }
        inner = fixed_base(body)
        if isinstance(inner, KinematicTree) and body.coordinates:
            writers["URDF + MJCF"] = lambda folder: _write_urdf(inner, folder / f"{stem}.urdf")
        if isinstance(body, Correctable):
            writers["Joints (json)"] = lambda folder: _write_joints(body, folder / f"{stem}.json")
        return writers


def _write(clip: Clip, path: Path) -> None:
    clip.save(path)


def _write_urdf(body: KinematicTree, path: Path) -> None:
    write_articulated(body, path)


def _write_joints(body: Correctable, path: Path) -> None:
    write_corrections(body, path)
