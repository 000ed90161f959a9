"""Parts stop where they would pass through others."""

from __future__ import annotations

import numpy as np
import pytest

from kin4d.bodies.segmented import JointSpec
from kin4d.geometry.mesh import Mesh
from kin4d.geometry.primitives import box
from kin4d.neurok.collision_limits import PartSamples


def _at(size: tuple[float, float, float], place: tuple[float, float, float]) -> Mesh:
    pose = np.eye(4)
    pose[:3, 3] = place
    return box(size).transformed(pose)


def _samples(*meshes: Mesh) -> PartSamples:
    part = np.repeat(np.arange(len(meshes)), [len(mesh.vertices) for mesh in meshes])
    return PartSamples.of(Mesh.concatenate(list(meshes)), part)


def _joint(kind: str, place: tuple, axis: tuple, limits: tuple[float, float]) -> JointSpec:
    return JointSpec(
        name="part",
        parent=0,
        kind=kind,
        point=np.array(place, float),
        axis=np.array(axis, float),
        limits=limits,
    )


def test_a_slide_ends_at_the_wall() -> None:
    samples = _samples(_at((0.1, 1, 1), (0, 0, 0)), _at((0.2, 0.4, 0.4), (0.45, 0, 0)))
    low, high = samples.clip_limits(
        _joint("prismatic", (0, 0, 0), (1, 0, 0), (-1.0, 1.0)), samples.part == 1
    )
    assert low == pytest.approx(-0.3, abs=0.03)
    assert high == 1.0


def test_a_lid_shuts_and_does_not_sink_in() -> None:
    # Upright at the back edge of a block: it can lie down on it, and fall back.
    samples = _samples(_at((1, 1, 0.3), (0, 0, 0)), _at((1, 0.04, 1), (0, 0.5, 0.66)))
    low, high = samples.clip_limits(
        _joint("revolute", (0, 0.5, 0.16), (1, 0, 0), (-2.5, 2.5)), samples.part == 1
    )
    assert high == pytest.approx(np.pi / 2, abs=0.2)
    assert low < -1.4


def test_what_moves_along_is_no_obstacle() -> None:
    wall, drawer, knob = (
        _at((0.1, 1, 1), (0, 0, 0)),
        _at((0.2, 0.4, 0.4), (0.8, 0, 0)),
        _at((0.05, 0.3, 0.3), (0.5, 0, 0)),
    )
    samples = _samples(wall, drawer, knob)
    joint = _joint("prismatic", (0, 0, 0), (1, 0, 0), (-0.3, 0.3))
    assert samples.clip_limits(joint, samples.part >= 1) == (-0.3, 0.3)
    assert samples.clip_limits(joint, samples.part == 1)[0] > -0.3


def test_alone_nothing_is_met() -> None:
    samples = _samples(_at((1, 1, 1), (0, 0, 0)))
    joint = _joint("revolute", (0, 0, 0), (0, 0, 1), (-1.0, 1.0))
    assert samples.clip_limits(joint, samples.part == 0) == (-1.0, 1.0)


def test_an_endless_hinge_stays_endless_unless_something_is_in_the_way() -> None:
    endless = _joint("revolute", (0, 0, 0), (0, 0, 1), (-np.inf, np.inf))
    bar, post = _at((1, 0.1, 0.1), (0, 0, 0)), _at((0.2, 0.2, 1), (0, 0.45, 0))
    free = _samples(_at((0.1, 0.1, 1), (0, 0, -0.7)), bar)
    assert free.clip_limits(endless, free.part == 1) == (-np.inf, np.inf)
    blocked = _samples(post, bar)
    low, high = blocked.clip_limits(endless, blocked.part == 1)
    assert -np.pi / 2 < low < -0.5
    assert 0.5 < high < np.pi / 2
