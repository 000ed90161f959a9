"""`kin4d articulate`: from a mesh file to URDF and MJCF, with corrections and pictures."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from kin4d.bodies import RobotBody
from kin4d.cli import main
from kin4d.geometry.io.mesh_file import save_mesh
from kin4d.geometry.mesh import Mesh
from kin4d.geometry.primitives import box


@pytest.fixture
def chest(tmp_path: Path) -> Path:
    lid = box((0.6, 0.5, 0.06))
    lid = lid.replace_vertices(lid.vertices + np.array([0, 0, 0.24]))
    return save_mesh(Mesh.concatenate([box((0.6, 0.5, 0.4)), lid]), tmp_path / "chest.obj")


def _run(capsys, *arguments: object) -> tuple[int, str, str]:
    code = main(["articulate", *map(str, arguments)])
    return code, *capsys.readouterr()


def test_a_chest_becomes_files_that_are_corrected(capsys, tmp_path: Path, chest: Path) -> None:
    out, joints = tmp_path / "chest.urdf", tmp_path / "joints.json"
    arguments = (chest, "-o", out, "--save-joints", joints, "--json")
    code, printed, errors = _run(capsys, *arguments)
    assert code == 0, errors
    found = json.loads(printed)
    saved = json.loads(joints.read_text())["parts"]
    assert [joint["name"] for joint in found["joints"]] == [n for n in saved if n != "still"]
    assert out.is_file()
    assert out.with_suffix(".xml").is_file()
    # Whatever the weights predict, the user has the last word.
    fixed = {name: {"type": "fixed"} for name in saved if name != "still"}
    lid = {"new": True, "type": "revolute", "axis": [1, 0, 0], "pivot": [0, 0.25, 0.21]}
    lid |= {"limits": [-1.2, 0], "pieces": [1]}
    joints.write_text(json.dumps({"parts": {**fixed, "lid": lid, "still": {"pieces": [0]}}}))
    pictures = tmp_path / "pictures"
    code, printed, errors = _run(
        capsys, chest, "-o", out, "--corrections", joints, "--pictures", pictures
    )
    assert code == 0, errors
    assert "lid  revolute    axis (1.00, 0.00, 0.00)  -68.8 to 0 deg" in printed
    assert sorted(path.name for path in pictures.iterdir()) == ["lid.png", "pieces.png"]
    body = RobotBody.from_urdf(out)
    assert body.coordinates == ("lid",)
    np.testing.assert_allclose(body.limits, [[-1.2, 0]])


def test_mistakes_are_explained(capsys, tmp_path: Path, chest: Path) -> None:
    fix = tmp_path / "fix.json"
    fix.write_text('{"parts": {"still": {"piece": [0]}}}')
    code, _, errors = _run(capsys, chest, "-o", tmp_path / "a.urdf", "--corrections", fix)
    assert code == 2
    assert "did you mean 'pieces'" in errors
    code, _, errors = _run(capsys, chest, "-o", tmp_path / "a.glb")
    assert code == 2
    assert ".urdf, .xml" in errors
    code, _, errors = _run(capsys, "drawer_unit", "-o", tmp_path / "a.urdf")
    assert code == 2
    assert "not a mesh file" in errors


def test_the_least_probable_joint_comes_last(
    capsys, tmp_path: Path, chest: Path, monkeypatch
) -> None:
    from kin4d.bodies.segmented import JointSpec, SegmentedBody

    joints = [
        JointSpec(
            name=name,
            parent=0,
            kind="prismatic",
            point=np.zeros(3),
            axis=np.array([0.0, 0.0, 1.0]),
            limits=(0.0, 0.1),
            probability=probability,
        )
        for name, probability in (("unknown", None), ("unlikely", 0.2), ("likely", 0.9))
    ]
    mesh = Mesh.load(chest)
    body = SegmentedBody(mesh, mesh.components, joints)
    monkeypatch.setattr("kin4d.cli.articulate.load", lambda *_, **__: body)
    code, printed, errors = _run(capsys, chest, "-o", tmp_path / "chest.urdf")
    assert code == 0, errors
    lines = [line.split() for line in printed.splitlines()[1:4]]
    assert [line[0] for line in lines] == ["likely", "unlikely", "unknown"]
    assert [line[-1] for line in lines] == ["0.90", "0.20", "m"]
