"""Our mechanics in the doors benchmark: the gripper's way with a cabinet's true or learned body."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from kin4d.benchmarks.doors.cases import FPS, SECONDS, DoorCase, gripper_mesh
from kin4d.bodies.articulated import ArticulatedBody
from kin4d.bodies.floating import FloatingBase
from kin4d.bodies.rigid import RigidBody
from kin4d.bodies.segmented import SegmentedBody
from kin4d.dynamics.forces import Damping
from kin4d.dynamics.motion import PrescribedMotion
from kin4d.dynamics.scene import Actor, Scene
from kin4d.dynamics.simulate import simulate
from kin4d.dynamics.simulation import DivergedError
from kin4d.errors import InputError

_OWN = 0.1  # of the door's area: a link with less of it is not what the gripper pulls
_CELL = 0.008  # m of the distance fields: doors are a centimetre thick


@dataclass(frozen=True, eq=False, kw_only=True)
class OurDoor:
    """What our mechanics found.

    Attributes:
        angles: [T] rad that the door has turned since the start; the last one known is kept if the
            run failed.
        vertices: [V, 3] m of the mesh at the end.
        refused: Why it did not run to the end; empty if it did.
    """

    angles: np.ndarray
    vertices: np.ndarray
    refused: str = ""


def run_ours(case: DoorCase, body: ArticulatedBody, q: np.ndarray) -> OurDoor:
    """The body, at coordinates `q` in the case's start, pulled by the gripper.

    Links that hold a tenth of the door at least can be touched. A door that no link holds stays
    where it is.
    """
    links = [name for name, share in door_links(case, body).items() if share >= _OWN]
    if not links:
        return _unmoved(case, "the door does not move")
    cabinet = Actor(
        body,
        name="cabinet",
        q=q,
        forces=[Damping(0.0, viscosity=case.damping)],
        mass=float(case.body.mass.sum()),
        contacts=2000,
        contact_links=links,
        contact_cells=max(40, round(case.mesh.bbox_diagonal / _CELL)),
    )
    hand = FloatingBase(RigidBody(gripper_mesh().transformed(case.gripper[0])))
    rows = (len(case.gripper) - 1) / SECONDS
    motion = PrescribedMotion(case.gripper_coordinates, fps=rows)
    gripper = Actor(hand, name="gripper", motion=motion, contacts=512)
    try:
        run = simulate(Scene([cabinet, gripper], gravity=False), seconds=SECONDS, fps=FPS, order=2)
        vertices, refused = run["cabinet"].vertices, ""
    except DivergedError as error:
        vertices, refused = error.simulation["cabinet"].vertices, "diverged"
    except InputError as error:
        return _unmoved(case, str(error))
    angles = np.array([case.angle(frame) for frame in vertices])
    angles = np.pad(angles, (0, round(SECONDS * FPS) + 1 - len(angles)), "edge")
    return OurDoor(angles=angles, vertices=vertices[-1], refused=refused)


def _unmoved(case: DoorCase, refused: str) -> OurDoor:
    angles = np.zeros(round(SECONDS * FPS) + 1)
    return OurDoor(angles=angles, vertices=case.mesh.vertices, refused=refused)


def door_links(case: DoorCase, body: ArticulatedBody) -> dict[str, float]:
    """Share of the door's area on every link that moves."""
    assert body.skin is not None
    areas = case.mesh.face_areas * case.door_faces
    of_face = body.skin.joints[case.mesh.faces[:, 0], 0]
    shares = np.bincount(of_face, areas, minlength=len(body.skin.names)) / areas.sum()
    moving = {joint.child for joint in body.joints if joint.kind != "fixed"}
    return {n: float(s) for n, s in zip(body.skin.names, shares, strict=True) if n in moving}


@dataclass(frozen=True, kw_only=True)
class FoundHinge:
    """The joint that a predicted body gives the door, against the true one.

    Attributes:
        share: Of the door's area on the link that has most of it.
        kind: Of its joint; "none" if it does not move.
        axis: Degrees between the axes.
        distance: m between the true axis line and the predicted one.
    """

    share: float
    kind: str
    axis: float = 90.0
    distance: float = np.inf

    def fault(self, width: float) -> str:
        """What is wrong with it, for a door of `width` m; empty if nothing is.

        Right is a hinge that carries most of the door, within 10 degrees of the true axis and
        within a tenth of the width of where it is.
        """
        if self.share <= 0.5:
            return "part"
        if self.kind != "revolute":
            return "slides"
        if self.axis > 10.0:
            return "axis"
        return "" if self.distance <= 0.1 * width else "place"


def found_hinge(case: DoorCase, body: SegmentedBody) -> FoundHinge:
    """The joint of the part that holds most of the door."""
    shares = door_links(case, body)
    name = max(shares, key=lambda one: shares[one], default="")
    if shares.get(name, 0.0) < _OWN:
        return FoundHinge(share=shares.get(name, 0.0), kind="none")
    spec = next(one for one in body.joint_specs if one.name == name)
    axis = spec.axis / np.linalg.norm(spec.axis)
    degrees = float(np.degrees(np.arccos(min(abs(axis @ case.axis), 1.0))))
    return FoundHinge(
        share=shares[name],
        kind=spec.kind,
        axis=degrees,
        distance=float(np.linalg.norm(np.cross(spec.point - case.point, case.axis))),
    )
