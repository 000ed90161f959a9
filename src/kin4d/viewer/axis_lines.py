"""AxisLines: the axes of a body's joints, drawn where they are."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch

from kin4d.bodies.body import Body
from kin4d.bodies.capabilities import Correctable
from kin4d.geometry.transforms import matrix_to_quaternion

_REVOLUTE, _PRISMATIC = (217, 72, 15), (25, 113, 194)
_LENGTH = 0.25  # of the bounding box's diagonal


class AxisLines:
    """One arrow a predicted joint: orange turns, blue slides. None for other bodies.

    Args:
        scene: viser's.
        path: In the scene tree.
        body: Whose joints.
    """

    def __init__(self, scene: Any, path: str, body: Body) -> None:
        self._frames: list[tuple[int, Any]] = []
        if not isinstance(body, Correctable):
            return
        reach = _LENGTH * body.rest.bbox_diagonal
        for number, spec in enumerate(body.joint_specs):
            own = body.rest.vertices[body.part == number + 1]
            centre = own.mean(0) if len(own) else np.asarray(spec.point)
            start = np.asarray(spec.point) if spec.kind == "revolute" else centre
            if spec.kind == "revolute":
                # The point of the axis that is nearest to the part.
                start = start + spec.axis * ((centre - start) @ spec.axis)
            ends = np.stack([start - 0.5 * reach * spec.axis, start + 0.5 * reach * spec.axis])
            frame = scene.add_frame(f"{path}/{number}", show_axes=False)
            scene.add_arrows(
                f"{path}/{number}/arrow",
                ends[None].astype(np.float32),
                _REVOLUTE if spec.kind == "revolute" else _PRISMATIC,
                shaft_radius=0.008 * reach,
                head_radius=0.03 * reach,
                head_length=0.08 * reach,
            )
            self._frames.append((number + 1, frame))

    def show(self, transforms: np.ndarray) -> None:
        """Move with the parts: [J, 4, 4] motions of the skin's joints."""
        for joint, frame in self._frames:
            turn = torch.from_numpy(transforms[joint, :3, :3])
            frame.wxyz = matrix_to_quaternion(turn).numpy()
            frame.position = transforms[joint, :3, 3]
