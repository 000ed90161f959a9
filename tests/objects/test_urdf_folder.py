"""Folders of URDF objects: every object moves as its file says, and bad ones say what is wrong."""

from __future__ import annotations

import json
import os
from pathlib import Path

import numpy as np
import pytest
import torch

from kin4d.bodies.robot.robot_body import RobotBody
from kin4d.errors import InputError
from kin4d.geometry.io.mesh_file import save_mesh
from kin4d.geometry.primitives import box
from kin4d.objects.pairs import make_pairs
from kin4d.objects.stream import PairStream
from kin4d.objects.urdf_folder import load_urdf_object, urdf_source

PARTNET = Path(os.environ.get("KIN4D_DATA", "")) / "partnet_mobility"

JOINTS = """
  <joint name="stand" type="fixed">
    <parent link="base"/><child link="frame"/><origin rpy="1.5707963 0 -1.5707963" xyz="0 0 1"/>
  </joint>
  <joint name="hinge" type="{hinge}">
    <parent link="frame"/><child link="door"/><origin xyz="0.5 0 0" rpy="0 0.3 0"/>
    <axis xyz="0 1 0"/><limit lower="0" upper="1.5" effort="1" velocity="1"/>
  </joint>
  <joint name="knob" type="{knob}">
    <parent link="door"/><child link="handle"/><origin xyz="-0.8 0 0.1" rpy="0.2 0 0"/>
    <axis xyz="0 0 1"/><mimic joint="hinge" multiplier="0.5" offset="0.1"/>
    <limit lower="-9" upper="9" effort="1" velocity="1"/>
  </joint>
  <joint name="glued" type="fixed"><parent link="handle"/><child link="badge"/></joint>
  <joint name="wheel" type="{wheel}">
    <parent link="frame"/><child link="rim"/><origin xyz="0 0.6 0"/><axis xyz="1 0 0"/>
    <limit lower="0" upper="0" effort="1" velocity="1"/>
  </joint>
"""


def write_object(
    folder: Path, *, hinge: str = "revolute", knob: str = "revolute", wheel: str = "continuous"
) -> Path:
    folder.mkdir(parents=True)
    save_mesh(box((1.0, 0.6, 0.1)), folder / "part.obj")
    visual = '<visual><geometry><mesh filename="part.obj"/></geometry></visual>'
    names = ("frame", "door", "handle", "badge", "rim")
    links = "".join(f'<link name="{name}">{visual}</link>' for name in names)
    joints = JOINTS.format(hinge=hinge, knob=knob, wheel=wheel)
    text = f'<robot name="thing"><link name="base"/>{links}{joints}</robot>'
    (folder / "mobility.urdf").write_text(text)
    return folder


def test_objects_move_as_their_file_says(tmp_path: Path) -> None:
    folder = write_object(tmp_path / "Cupboard_7")
    sample = load_urdf_object(folder)
    body = RobotBody.from_urdf(folder / "mobility.urdf")
    assert [j.name for j in sample.object.free_joints] == ["hinge", "wheel"]
    assert len(sample.object.links) == 4  # base with frame, door, handle with badge, rim
    states = sample.states(np.random.default_rng(0), 4)
    columns = [body.coordinates.index(name) for name in ("hinge", "wheel")]
    q = torch.zeros(4, len(body.q0), dtype=torch.float64)
    q[:, columns] = torch.from_numpy(states)
    expected = body.vertices(q).numpy().reshape(4, -1)
    np.testing.assert_allclose(
        np.sort(sample.vertices(states).reshape(4, -1)), np.sort(expected), atol=1e-9
    )


def test_objects_can_be_reshaped(tmp_path: Path) -> None:
    sample = load_urdf_object(write_object(tmp_path / "Cupboard_7"))
    pairs = make_pairs(sample, 4, np.random.default_rng(0), points=64)
    assert np.isfinite(pairs.points1).all()


def test_who_they_are(tmp_path: Path) -> None:
    write_object(tmp_path / "set" / "TrashCan_12")
    (write_object(tmp_path / "set" / "77") / "meta.json").write_text(
        json.dumps({"model_cat": "Washing Machine"})
    )
    source = urdf_source(tmp_path / "set")
    first, second = source.identities
    assert (first.source, first.category) == ("partnet_mobility", "washing_machine")
    assert (second.source, second.category, second.licence) == ("set", "trash_can", "unknown")
    with pytest.raises(InputError, match="may not be trained on"):
        PairStream([source], split="train")
    own = urdf_source(tmp_path / "set", licence="MIT")
    assert PairStream([own], split=None, batch=2, points=16)[0].part.max() == 3
    assert len(urdf_source(tmp_path / "set" / "77").identities) == 1


def test_frozen_joints_are_said_to_be(tmp_path: Path) -> None:
    folder = write_object(tmp_path / "Door_1", hinge="fixed", knob="fixed", wheel="prismatic")
    with pytest.raises(InputError, match=r"Door_1.*nothing can move.*5 joints"):
        load_urdf_object(folder)


def test_missing_meshes_are_named(tmp_path: Path) -> None:
    folder = write_object(tmp_path / "Door_1")
    (folder / "part.obj").unlink()
    with pytest.raises(InputError, match=r"part\.obj"):
        urdf_source(tmp_path).load(0)


def test_folders_without_objects_are_refused(tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    with pytest.raises(InputError, match="holds no URDF objects"):
        urdf_source(tmp_path)
    with pytest.raises(InputError, match=r"holds no \.urdf file"):
        load_urdf_object(tmp_path / "empty")
    with pytest.raises(InputError, match="not a folder"):
        urdf_source(tmp_path / "nowhere")


@pytest.mark.skipif(not PARTNET.is_dir(), reason="KIN4D_DATA does not hold partnet_mobility")
def test_partnet_mobility() -> None:
    source = urdf_source(PARTNET)
    assert len({who.category for who in source.identities}) == 22
    for index in range(0, len(source.identities), 11):
        pairs = make_pairs(source.load(index), 2, np.random.default_rng(0), points=128)
        assert (np.linalg.norm(pairs.points1 - pairs.points0, axis=-1).max(1) > 0).all()
