"""Attachment: hinges where parts touch keep them there, others tear them off."""

from __future__ import annotations

import numpy as np

from kin4d.geometry.mesh import Mesh
from kin4d.geometry.primitives import box
from kin4d.neurok.attachment import joints_that_detach
from kin4d.neurok.joint_decoding import JointHypothesis, PartHypotheses
from kin4d.neurok.mesh_pieces import PieceConfig, cut_mesh


def lid_on_a_box() -> Mesh:
    """1 x 1 x 0.5 m with a lid of 0.02 m that touches it."""
    low, high = box((1.0, 1.0, 0.5)), box((1.0, 1.0, 0.02))
    return Mesh(
        vertices=np.concatenate([low.vertices, high.vertices + np.array([0, 0, 0.26])]),
        faces=np.concatenate([low.faces, high.faces + len(low.vertices)]),
    )


def joint(kind: str, pivot: tuple, axis: tuple, limits: tuple[float, float]) -> JointHypothesis:
    return JointHypothesis(
        kind=kind,
        endless=False,
        pivot=np.array(pivot),
        axis=np.array(axis, np.float64),
        limits=limits,
        probability=0.5,
        range_probability=0.5,
    )


def test_a_lid_stays_on_its_hinge_and_comes_off_sideways_and_upwards() -> None:
    mesh = lid_on_a_box()
    cut = cut_mesh(mesh, PieceConfig(max_components_to_split=0))
    own = int(cut.face_piece[-1])
    joints = (
        joint("revolute", (-0.5, 0, 0.25), (0, -1, 0), (0.0, 1.5)),  # at its edge
        joint("revolute", (0, 0, 0.25), (0, 0, 1), (-np.pi, np.pi)),  # turning on top
        joint("revolute", (-1.5, 0, 0.25), (0, -1, 0), (0.0, 1.0)),  # an edge elsewhere
        joint("prismatic", (0, 0, 0), (0, 0, 1), (0.0, 0.3)),  # lifted
        joint("prismatic", (0, 0, 0), (1, 0, 0), (-0.4, 0.0)),  # pushed aside
        joint("prismatic", (0, 0, 0), (0, 0, 1), (-0.3, 0.0)),  # down into the box
    )
    part = PartHypotheses(pieces=np.array([own]), parent=-1, moves=1.0, together=1.0, joints=joints)
    (found,) = joints_that_detach(mesh, cut, [part])
    assert found == (False, False, True, True, False, False)


def test_what_is_on_nothing_cannot_come_off() -> None:
    mesh = lid_on_a_box()
    cut = cut_mesh(mesh, PieceConfig(max_components_to_split=0))
    lifted = joint("prismatic", (0, 0, 0), (0, 0, 1), (0.0, 0.3))
    part = PartHypotheses(
        pieces=np.arange(len(cut.pieces)), parent=-1, moves=1.0, together=1.0, joints=(lifted,)
    )
    assert joints_that_detach(mesh, cut, [part]) == ((False,),)
