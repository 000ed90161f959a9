"""CorrectionPanel: changes a wrong joint or part in the page; see `kin4d.bodies.corrections`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from kin4d.bodies.capabilities import Correctable
from kin4d.bodies.corrections import TYPES, to_corrections
from kin4d.bodies.segmented import ROOT
from kin4d.errors import InputError
from kin4d.viewer.page import Page, plain

_NONE = "(no joint)"
_AXES = {"x": (1.0, 0.0, 0.0), "y": (0.0, 1.0, 0.0), "z": (0.0, 0.0, 1.0)}
NEW = "(new part)"


class CorrectionPanel:
    """Inputs for one joint at a time, and for the piece that was clicked last.

    Args:
        page: Where.
        body: Whose joints.
        corrected: Called with the body after a change.

    Attributes:
        piece: The connected component that was clicked last, or None.
    """

    def __init__(
        self, page: Page, body: Correctable, corrected: Callable[[Correctable], None]
    ) -> None:
        self._page, self._body, self._corrected = page, body, corrected
        self.piece: int | None = None
        names = [spec.name for spec in body.joint_specs]
        with page.gui.add_folder("Correct a joint", order=3, expand_by_default=bool(names)):
            self.joint = page.gui.add_dropdown("joint", names or [_NONE])
            self.type = page.gui.add_dropdown("type", TYPES)
            self.along = page.gui.add_button_group("axis along", tuple(_AXES))
            self.axis = page.gui.add_vector3("axis", (0.0, 0.0, 1.0), step=0.01)
            self.pivot = page.gui.add_vector3("pivot [m]", (0.0, 0.0, 0.0), step=0.001)
            self.limits = page.gui.add_vector2("limits", (0.0, 1.0), step=0.01)
            self.apply = page.gui.add_button("Apply", disabled=not names)
        with page.gui.add_folder("Give a piece to a part", order=4, expand_by_default=not names):
            self.picked = page.gui.add_markdown("Click a piece of the object.")
            self.part = page.gui.add_dropdown("part", [ROOT, *names, NEW])
            self.give = page.gui.add_button("Give", disabled=True)
        page.on_change(self.joint, self._load)
        page.on_change(self.type, self._retyped)
        page.on_click(self.along, lambda _: self._point_along())
        page.on_click(self.apply, lambda _: self._apply())
        page.on_click(self.give, lambda _: self._give())
        if names:
            self._load()

    def pick(self, vertex: int) -> None:
        """Somebody clicked the piece that this vertex belongs to."""
        self.piece = int(self._body.rest.components[vertex])
        part = [ROOT, *(spec.name for spec in self._body.joint_specs)][self._body.part[vertex]]
        self.picked.content = plain(f"Piece {self.piece}, of part {part}.")
        self.give.disabled = False
        if part in self.joint.options:
            self.joint.value = part
            self._load()

    def _load(self) -> None:
        spec = to_corrections(self._body).get(self.joint.value)
        if spec is None:
            return
        self.type.value = spec["type"]
        self.axis.value, self.pivot.value = tuple(spec["axis"]), tuple(spec["pivot"])
        low, high = (0.0 if bound is None else bound for bound in spec["limits"])
        self._set_limits(low, high)

    @property
    def _turns(self) -> bool:
        return self.type.value in ("revolute", "continuous")

    def _set_limits(self, low: float, high: float) -> None:
        scale = 180 / np.pi if self._turns else 1.0
        self.limits.value = (scale * low, scale * high)
        self.limits.label = "limits [deg]" if self._turns else "limits [m]"

    def _retyped(self) -> None:
        """Limits that make sense after a change between turning and sliding."""
        size = self._body.rest.bbox_diagonal
        self._set_limits(0.0, 0.5 * np.pi if self._turns else 0.25 * size)

    def _point_along(self) -> None:
        self.axis.value = _AXES[self.along.value]

    def _apply(self) -> None:
        change: dict[str, Any] = {"type": self.type.value}
        if self.type.value != "fixed":
            change["axis"] = list(self.axis.value)
            if self._turns:
                change["pivot"] = list(self.pivot.value)
            if self.type.value != "continuous":
                scale = np.pi / 180 if self._turns else 1.0
                change["limits"] = [scale * bound for bound in self.limits.value]
        self._corrected(self._body.corrected({self.joint.value: change}))

    def _give(self) -> None:
        if self.piece is None:
            raise InputError("no piece is chosen", hint="click one in the picture")
        name, change = self.part.value, {"pieces": [self.piece]}
        if name == NEW:
            name, change = self._new_part(change)
        self._corrected(self._body.corrected({name: change}))

    def _new_part(self, change: dict[str, Any]) -> tuple[str, dict[str, Any]]:
        """A hinge upright through the middle of the piece, to be corrected from there."""
        taken = {spec.name for spec in self._body.joint_specs}
        number = 1
        while f"part{number}" in taken:
            number += 1
        own = self._body.rest.vertices[self._body.rest.components == self.piece]
        middle = 0.5 * (own.min(0) + own.max(0))
        new = {"new": True, "type": "revolute", "axis": [0.0, 0.0, 1.0], "limits": [0.0, np.pi / 2]}
        return f"part{number}", {**change, **new, "pivot": middle.tolist()}
