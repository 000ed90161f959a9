"""Shapes that docstrings of public classes state are those of what they hold."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import kin4d

_LINE = re.compile(r"^\s*(\w+): \[([\w ,]+)\]", re.MULTILINE)


def stated_shapes(kind: type) -> dict[str, list[str]]:
    """The dimensions of every attribute whose docstring line begins with a shape."""
    text = inspect.getdoc(kind) or ""
    return {name: dims.replace(" ", "").split(",") for name, dims in _LINE.findall(text)}


def check(what: Any) -> int:
    """Compare; a letter is the same number everywhere. How many attributes were compared."""
    sizes: dict[str, int] = {}
    compared = 0
    for name, dims in stated_shapes(type(what)).items():
        value = getattr(what, name)
        if value is None:
            continue
        shape = np.shape(value)
        assert len(shape) == len(dims), f"{type(what).__name__}.{name}: {shape}, stated {dims}"
        for size, dim in zip(shape, dims, strict=True):
            expected = int(dim) if dim.isdigit() else sizes.setdefault(dim, size)
            assert size == expected, f"{type(what).__name__}.{name}: {shape}, stated {dims}"
        compared += 1
    return compared


def clip() -> kin4d.Clip:
    arm = kin4d.load("kin4d_arm")
    return kin4d.bake(arm, kin4d.sweep_joints(arm)[:5])


def video() -> kin4d.PointmapVideo:
    arm = kin4d.load("kin4d_arm")
    camera = kin4d.Camera.look_at((1.2, -1.2, 0.8), (0, 0, 0.3), width=24, height=16)
    return kin4d.render_bodies([arm], [kin4d.sweep_joints(arm)[:3]], camera)


def fitted() -> Any:
    body = kin4d.load("kin4d_arm")
    q = body.q0 + 0.2
    return kin4d.fit(body, body.vertices(q).numpy())


MADE: dict[str, Callable[[], Any]] = {
    "Mesh": lambda: kin4d.load("bottle").rest,
    "Clip": clip,
    "PointmapVideo": video,
    "Camera": lambda: video().camera,
    "RobotBody": lambda: kin4d.load("kin4d_arm"),
    "Fit": fitted,
}


@pytest.mark.parametrize("name", MADE)
def test_stated_shapes_hold(name: str) -> None:
    what = MADE[name]()
    least = {"Mesh": 2, "Clip": 1, "PointmapVideo": 3}.get(name, 0)
    assert check(what) >= least


def test_a_wrong_shape_is_noticed() -> None:
    class Wrong:
        """Two arrays.

        Attributes:
            a: [N, 3] m.
            b: [N] kg.
        """

        a, b = np.zeros((4, 3)), np.zeros(5)

    with pytest.raises(AssertionError, match=r"Wrong\.b"):
        check(Wrong())


def test_every_public_name_and_member_is_documented() -> None:
    missing = []
    for name in set(kin4d.__all__) - {"__version__"}:
        value = getattr(kin4d, name)
        members = vars(value).items() if inspect.isclass(value) else ()
        missing += [name] * (not inspect.getdoc(value))
        missing += [
            f"{name}.{member}"
            for member, one in members
            if not member.startswith("_")
            and (inspect.isfunction(one) or isinstance(one, property | classmethod | staticmethod))
            and not inspect.getdoc(getattr(value, member))
        ]
    assert missing == []
