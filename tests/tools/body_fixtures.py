"""Bodies the tests share."""

from __future__ import annotations

import numpy as np
import pytest

from kin4d.bodies import ArticulatedBody, Inertial, Joint, Link, Mimic, RobotBody, load_robot
from kin4d.geometry.primitives import box

REVOLUTE, PRISMATIC = "revolute", "prismatic"


@pytest.fixture(scope="session")
def kin4d_arm() -> RobotBody:
    """The arm that ships."""
    return load_robot("kin4d_arm")


@pytest.fixture(scope="session")
def branched() -> ArticulatedBody:
    """A tree with every kind of joint, odd axes, branches, and two ways of following."""
    rng = np.random.default_rng(3)
    solid = box((0.1, 0.2, 0.3))
    links = [Link(f"l{i}", solid, Inertial.of_mesh(solid)) for i in range(7)]

    def origin() -> np.ndarray:
        from scipy.spatial.transform import Rotation

        out = np.eye(4)
        out[:3, :3] = Rotation.random(rng=rng).as_matrix()
        out[:3, 3] = rng.normal(size=3)
        return out

    def joint(name: str, kind: str, parent: int, child: int, **options) -> Joint:
        ends = {"parent": f"l{parent}", "child": f"l{child}"}
        return Joint(
            name=name, kind=kind, origin=origin(), axis=rng.normal(size=3), **ends, **options
        )

    return ArticulatedBody(
        links,
        [
            joint("a", REVOLUTE, 0, 1, limits=(-1.0, 2.0)),
            joint("b", PRISMATIC, 1, 2),
            joint("c", "fixed", 2, 3),
            joint("d", REVOLUTE, 3, 4, mimic=Mimic.linear("a", -0.5, 0.2)),
            joint("e", REVOLUTE, 1, 5),
            joint("f", PRISMATIC, 5, 6, mimic=Mimic("e", [0.1, 0.4, 0.2, -0.1], (-2.0, 2.0))),
        ],
        root=origin(),
        name="branched",
    )
