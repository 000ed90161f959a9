"""Corrections of predicted joints: what is changed changes, and mistakes are explained."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
import torch

from kin4d.bodies.corrections import read_corrections, to_corrections, write_corrections
from kin4d.bodies.segmented import JointSpec, SegmentedBody
from kin4d.errors import InputError
from kin4d.geometry.mesh import Mesh
from kin4d.geometry.primitives import box


def _body() -> SegmentedBody:
    """Four boxes in a row: one still, a door, a knob on the door, and one more that is still."""
    pieces = []
    for x in range(4):
        pose = np.eye(4)
        pose[0, 3] = x
        pieces.append(box((0.5, 0.5, 0.5)).transformed(pose))
    part = np.repeat([0, 1, 2, 0], len(pieces[0].vertices))
    joints = [
        JointSpec(
            name="door",
            parent=0,
            kind="revolute",
            point=np.array([0.5, 0, 0]),
            axis=np.array([0, 0, 1.0]),
            limits=(0.0, 1.5),
            probability=0.9,
        ),
        JointSpec(
            name="knob",
            parent=1,
            kind="revolute",
            point=np.array([2.0, 0, 0]),
            axis=np.array([0, -1.0, 0]),
            limits=(-np.inf, np.inf),
        ),
    ]
    return SegmentedBody(Mesh.concatenate(pieces), part, joints, mass=3.0, confidence=0.5)


def _moved(body: SegmentedBody, coordinate: str, value: float) -> np.ndarray:
    """[4] which boxes move with a coordinate."""
    q = body.q0.clone()
    q[body.coordinates.index(coordinate)] = value
    gap = (body.vertices(q) - torch.tensor(body.rest.vertices)).norm(dim=-1)
    return gap.reshape(4, -1).max(1).values.numpy() > 1e-9


def test_what_is_written_changes_nothing_when_read(tmp_path: Path) -> None:
    body = _body()
    path = write_corrections(body, tmp_path / "joints.json")
    assert '"axis": [0.0, 0.0, 1.0]' in path.read_text()
    again = body.corrected(read_corrections(path))
    np.testing.assert_array_equal(again.part, body.part)
    q = torch.tensor([0.3, -2.0]).double()
    np.testing.assert_array_equal(again.vertices(q), body.vertices(q))
    assert to_corrections(again) == to_corrections(body)
    assert to_corrections(body)["knob"]["type"] == "continuous"
    assert (again.confidence, float(again.mass.sum())) == (0.5, float(body.mass.sum()))
    assert again.joint_specs[0].probability == 0.9


def test_axis_pivot_limits_type_and_name() -> None:
    change = {"axis": [0, 0, -2], "pivot": [1, 0, 0], "limits": [-0.2, None], "name": "flap"}
    body = _body().corrected({"door": change})
    assert body.coordinates == ("flap", "knob")
    assert body.limits[0].tolist() == [-0.2, np.inf]
    quarter = torch.tensor([np.pi / 2, 0.0]).double()
    centres = body.vertices(quarter).numpy().reshape(4, -1, 3).mean(1)
    np.testing.assert_allclose(centres[:3], [[0, 0, 0], [1, 0, 0], [1, -1, 0]], atol=1e-12)
    sliding = _body().corrected({"door": {"type": "prismatic", "limits": [0, 0.1]}})
    centres = sliding.vertices(torch.tensor([0.1, 0.0]).double()).numpy().reshape(4, -1, 3).mean(1)
    np.testing.assert_allclose(centres[1], [1, 0, 0.1], atol=1e-12)


def test_pieces_faces_and_vertices_move_to_another_part() -> None:
    body = _body()
    assert _moved(body, "door", 0.5).tolist() == [False, True, True, False]
    assert _moved(body.corrected({"door": {"pieces": [3]}}), "door", 0.5).tolist() == [0, 1, 1, 1]
    taken = body.corrected({"still": {"pieces": [2]}})
    assert _moved(taken, "door", 0.5).tolist() == [False, True, False, False]
    face_count = len(body.rest.faces) // 4
    last = list(range(3 * face_count, 4 * face_count))
    assert _moved(body.corrected({"knob": {"faces": last}}), "knob", 0.5).tolist() == [0, 0, 1, 1]
    first = np.flatnonzero(body.rest.components == 0).tolist()
    moved = body.corrected({"knob": {"vertices": first}})
    assert _moved(moved, "knob", 0.5).tolist() == [True, False, True, False]


def test_joints_are_removed_and_added() -> None:
    without = _body().corrected({"door": {"type": "fixed"}})
    assert without.coordinates == ("knob",)
    assert without.joint_specs[0].parent == 0
    assert _moved(without, "knob", 0.5).tolist() == [False, False, True, False]
    kept = _body().corrected({"knob": {"type": "fixed"}})
    assert _moved(kept, "door", 0.5).tolist() == [False, True, True, False]
    drawer = {
        "new": True,
        "type": "prismatic",
        "axis": [0, -1, 0],
        "limits": [0, 0.4],
        "pieces": [3],
    }
    more = _body().corrected({"drawer": drawer})
    assert more.coordinates == ("door", "knob", "drawer")
    assert _moved(more, "drawer", 0.4).tolist() == [False, False, False, True]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"door": {"axs": [0, 0, 1]}}, "did you mean 'axis'"),
        ({"dor": {"axis": [0, 0, 1]}}, "did you mean 'door'"),
        ({"door": {"axis": [0, 0, 0]}}, "not all zero"),
        ({"door": {"axis": [0, 1]}}, "three finite numbers"),
        ({"door": {"type": "hinge"}}, "revolute, prismatic, continuous, fixed"),
        ({"door": {"type": "prismatic"}}, "needs 'limits'"),
        ({"door": {"limits": [0.2, 0.5]}}, "lower <= 0 <= upper"),
        ({"door": {"limits": "far"}}, "lower <= 0 <= upper"),
        ({"door": {"pieces": [4]}}, "0 to 3"),
        ({"door": {"pieces": [0.5]}}, "whole numbers"),
        ({"door": {"vertices": [0, [1, 2]]}}, "whole numbers"),
        ({"door": {"pieces": [3]}, "knob": {"pieces": [3]}}, "another part"),
        ({"door": {"parent": "knob"}}, "cycle"),
        ({"door": {"parent": "dor"}}, "did you mean 'door'"),
        ({"still": {"axis": [0, 0, 1]}}, "does not move"),
        ({"door": {"new": True}}, "already"),
        ({"lid": {"new": True, "type": "revolute"}}, "needs 'axis'"),
        ({"door": 3}, "not an object"),
    ],
)
def test_mistakes_are_explained(change: dict, message: str) -> None:
    with pytest.raises(InputError, match=message):
        _body().corrected(change)


def test_a_file_of_another_kind_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "fix.json"
    for data in ([], {"joints": {}}, {"parts": {}, "part": {}}):
        path.write_text(json.dumps(data))
        with pytest.raises(InputError):
            read_corrections(path)
