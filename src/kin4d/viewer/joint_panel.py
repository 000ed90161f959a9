"""JointPanel: a slider for every coordinate of a body, with its name, type and probability."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from kin4d.bodies.body import Body
from kin4d.bodies.capabilities import FloatingRoot, KinematicTree, PredictedJoints, fixed_base
from kin4d.viewer.page import Page, plain


@dataclass(frozen=True)
class CoordinateInfo:
    """How a coordinate is shown.

    Attributes:
        name: Its name.
        type: "revolute", "prismatic", "continuous", or what kind of coordinate it is.
        probability: Of the joint, where a network predicted it.
        scale: Shown number per unit of the coordinate: angles are shown in degrees.
        unit: Of the shown number.
        low: Least shown.
        high: Greatest shown.
    """

    name: str
    type: str
    probability: float | None
    scale: float
    unit: str
    low: float
    high: float

    @property
    def label(self) -> str:
        """Of its slider."""
        return f"{self.name} [{self.unit}]" if self.unit else self.name

    @property
    def text(self) -> str:
        """All about it."""
        sure = "" if self.probability is None else f", probability {self.probability:.2f}"
        return f"{self.name}: {self.type}{sure}"


def coordinate_infos(body: Body) -> list[CoordinateInfo]:
    """Of every coordinate of a body, a floating root's six left out."""
    inner = fixed_base(body)
    kinds: dict[str, str] = {}
    if isinstance(inner, KinematicTree):
        kinds = {joint.name: joint.kind for joint in inner.joints}
    sure: dict[str, float | None] = {}
    if isinstance(inner, PredictedJoints):
        sure = {spec.name: spec.probability for spec in inner.joint_specs}
    out = []
    for name, (low, high) in zip(inner.coordinates, inner.limits.tolist(), strict=True):
        kind = kinds.get(name, "mode")
        turns = kind == "revolute"
        if turns and not np.isfinite([low, high]).all():
            kind = "continuous"
        scale = 180 / np.pi if turns else 1.0
        reach = np.pi if turns else 1.0
        out.append(
            CoordinateInfo(
                name=name,
                type=kind,
                probability=sure.get(name),
                scale=scale,
                unit={"mode": "", "prismatic": "m"}.get(kind, "deg"),
                low=round(scale * (low if np.isfinite(low) else -reach), 3),
                high=round(scale * (high if np.isfinite(high) else reach), 3),
            )
        )
    return out


class JointPanel:
    """Sliders.

    Args:
        page: Where.
        body: Any body.
        changed: Called with all coordinates [k] when a slider is moved.
        held: Called with the coordinates to hold, where joints can be held.
    """

    def __init__(
        self,
        page: Page,
        body: Body,
        changed: Callable[[np.ndarray], None],
        held: Callable[[list[int]], None],
    ) -> None:
        self.infos = coordinate_infos(body)
        self._first = 6 if isinstance(body, FloatingRoot) else 0
        self._q, self._changed, self._held = body.q0.numpy().copy(), changed, held
        self._limits = body.limits.numpy()
        self.sliders: list[Any] = []
        self.holds: list[Any] = []
        joints = isinstance(fixed_base(body), KinematicTree)
        with page.gui.add_folder("Joints" if joints else "Modes", order=1):
            for info in self.infos:
                self._add(page, info, joints=joints and len(self.infos) <= 12)
            if not self.infos:
                page.gui.add_markdown("Nothing moves.")

    def show(self, q: np.ndarray) -> None:
        """Set the sliders to coordinates [k]."""
        self._q = q.copy()
        for slider, info, value in zip(self.sliders, self.infos, q[self._first :], strict=True):
            shown = float(np.clip(info.scale * value, info.low, info.high))
            if abs(slider.value - shown) > 1e-3 * (info.high - info.low):
                slider.value = shown

    def _add(self, page: Page, info: CoordinateInfo, *, joints: bool) -> None:
        if joints:
            page.gui.add_markdown(plain(info.text))
        low, high = info.low, max(info.high, info.low + 1e-9)
        rest = info.scale * float(self._q[self._first + len(self.sliders)])
        slider = page.gui.add_slider(
            info.label,
            min=low,
            max=high,
            step=(high - low) / 500,
            initial_value=float(np.clip(rest, low, high)),
            hint=info.text,
        )
        index = self._first + len(self.sliders)
        self.sliders.append(slider)
        page.on_change(slider, lambda: self._moved(index, slider, info))
        if joints:
            hold = page.gui.add_checkbox("pin", initial_value=False, hint="stays where it is")
            self.holds.append(hold)
            page.on_change(hold, self._pinned)

    def _moved(self, index: int, slider: Any, info: CoordinateInfo) -> None:
        # Shown limits are rounded.
        self._q[index] = np.clip(slider.value / info.scale, *self._limits[index])
        self._changed(self._q.copy())

    def _pinned(self) -> None:
        self._held([self._first + i for i, hold in enumerate(self.holds) if hold.value])
