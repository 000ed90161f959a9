"""`kin4d.load`: every kind of input gives a body, and bad input says what to do next."""

import warnings
from pathlib import Path

import numpy as np
import pytest

import kin4d
from kin4d.bodies.body import bake, sweep_joints
from kin4d.errors import InputError
from kin4d.geometry.primitives import box
from kin4d.loading import LowConfidenceWarning


@pytest.fixture
def mesh_file(tmp_path: Path) -> Path:
    file = tmp_path / "box.obj"
    box((1.0, 2.0, 3.0)).save(file)
    return file


def test_files_and_names_give_bodies(tmp_path: Path, mesh_file: Path) -> None:
    hinge = kin4d.load("hinge")
    clip = tmp_path / "hinge.npz"
    bake(hinge, sweep_joints(hinge, frames=3)).save(clip)
    sphere = '<geometry><sphere radius="0.1"/></geometry>'
    urdf = tmp_path / "one.urdf"
    urdf.write_text(f'<robot name="one"><link name="base"><visual>{sphere}</visual></link></robot>')
    mjcf = tmp_path / "one.xml"
    geom = '<geom type="sphere" size="0.1"/>'
    mjcf.write_text(f"<mujoco><worldbody><body>{geom}</body></worldbody></mujoco>")
    for what in (clip, urdf, mjcf, "kin4d_arm", "drawer_unit"):
        body = kin4d.load(what)
        assert body.limits.shape == (len(body.coordinates), 2)
    assert len(kin4d.load(mesh_file, body_type="rigid").coordinates) == 6


@pytest.mark.parametrize(
    ("what", "message"),
    [
        ("missing.obj", "does not exist"),
        ("missing.urdf", "does not exist"),
        ("thing.fbx", r"nothing called 'thing.fbx'.*\.obj"),
        ("kin4d_am", "did you mean kin4d_arm"),
        ("drawr_unit", "did you mean drawer_unit"),
        ("sketch", "called kin4d_arm now"),
        (3, r"got 3.*a path, a name or a Mesh"),
    ],
)
def test_what_cannot_be_loaded_is_named(what: str, message: str) -> None:
    with pytest.raises(InputError, match=message):
        kin4d.load(what)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"body_type": "rigd"}, "got 'rigd'.*rigid"),
        ({"body_type": "solid", "pin": ["lft"]}, "got 'lft'.*left"),
        ({"body_type": "rigid", "pin": "left"}, "cannot be pinned"),
        ({"dof": 2}, "learned"),
        ({"dof": 0, "body_type": "learned"}, ">= 1"),
        ({"size": -1.0}, "positive"),
        ({"up": "q"}, "got 'q'"),
    ],
)
def test_options_are_checked(mesh_file: Path, options: dict, message: str) -> None:
    with pytest.raises(InputError, match=message):
        kin4d.load(mesh_file, **options)


def test_options_of_meshes_are_refused_for_names() -> None:
    with pytest.raises(InputError, match="got 'size, body type'"):
        kin4d.load("drawer_unit", size=1.0, body_type="rigid")


@pytest.mark.parametrize("suffix", [".obj", ".glb", ".npz", ".urdf", ".xml"])
def test_empty_files_are_refused(tmp_path: Path, suffix: str) -> None:
    file = tmp_path / f"empty{suffix}"
    file.touch()
    with pytest.raises(InputError, match="empty"):
        kin4d.load(file)


@pytest.mark.parametrize(
    ("what", "options"),
    [
        ("kin4d_arm", {}),
        ("faucet", {"seed": 2}),
        ("lamp", {"seed": 0, "bare_mesh": True, "body_type": "articulated"}),
        ("mesh", {"body_type": "rigid"}),
        ("mesh", {"body_type": "solid", "pin": "bottom"}),
    ],
)
def test_a_pose_moves_the_whole_body(mesh_file: Path, what: str, options: dict) -> None:
    name = mesh_file if what == "mesh" else what
    pose = np.eye(4)
    pose[:2, :2] = [[0.6, -0.8], [0.8, 0.6]]
    pose[:3, 3] = 1.0, -2.0, 0.5
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", LowConfidenceWarning)
        before, after = kin4d.load(name, **options), kin4d.load(name, pose=pose, **options)
    assert type(after) is type(before)
    assert after.coordinates == before.coordinates
    # A soft body's modes follow from samples, which are not the same elsewhere.
    soft = options.get("body_type") == "solid"
    q = before.q0 + (0.0 if soft else 0.05)
    there = before.vertices(q).numpy() @ pose[:3, :3].T + pose[:3, 3]
    if options.get("body_type") == "rigid":  # its root moves about the world's origin
        q = after.q0
        there = before.rest.vertices @ pose[:3, :3].T + pose[:3, 3]
    assert np.allclose(after.vertices(q).numpy(), there, atol=1e-9)
    assert float(after.mass.sum()) == pytest.approx(float(before.mass.sum()))


def test_a_pose_is_rigid_and_a_bare_mesh_takes_the_options_of_meshes() -> None:
    with pytest.raises(InputError, match="no rigid transform"):
        kin4d.load("hinge", pose=np.diag([2.0, 1, 1, 1]))
    bare = kin4d.load("drawer_unit", bare_mesh=True, body_type="rigid", size=0.5)
    assert bare.rest.bbox_diagonal == pytest.approx(0.5)
    assert len(bare.coordinates) == 6
