"""Commands on creatures: what auto decides and says, and that motion, falls and poses come out."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from toy_creature import toy_creature

from kin4d.bodies.creature.evidence import ShapeEvidence
from kin4d.cli import main
from kin4d.geometry.clip import Clip
from kin4d.geometry.io.mesh_file import save_mesh
from kin4d.geometry.mesh import Mesh
from kin4d.geometry.primitives import box, sphere


def round_creature() -> Mesh:
    """The toy creature with its edges rounded off, as animals are."""
    import trimesh

    mesh = toy_creature()
    solid = trimesh.Trimesh(mesh.vertices, mesh.faces, process=False)
    trimesh.smoothing.filter_taubin(solid, iterations=12)
    return Mesh(vertices=solid.vertices, faces=mesh.faces, name="dog")


@pytest.fixture(scope="module")
def dog(tmp_path_factory) -> Path:
    path = tmp_path_factory.mktemp("creatures") / "dog.obj"
    save_mesh(round_creature(), path)
    return path


def test_a_smooth_branched_shape_is_a_creature_and_others_are_not() -> None:
    found = ShapeEvidence.of(round_creature())
    assert found.is_creature
    assert found.branches >= 6
    assert "one shell" in str(found)
    ball = ShapeEvidence.of(sphere(0.5))
    assert ball.is_organic
    assert not ball.is_creature
    crate = ShapeEvidence.of(box((1, 1, 1)))
    assert not crate.is_organic
    assert crate.branches == 0


def test_animate_bends_every_joint_and_says_why(dog: Path, tmp_path: Path, capsys) -> None:
    out = tmp_path / "dog.npz"
    assert main(["animate", str(dog), "-o", str(out), "--frames", "4", "--random-states", "2",
                 "--up", "z", "--json"]) == 0  # fmt: skip
    printed, err = capsys.readouterr()
    names = json.loads(printed)["coordinates"]
    assert "skeleton body" in err
    assert "--body-type" in err
    assert any(name.endswith(".bend") for name in names)
    clip = Clip.load(out)
    assert len(clip) == 4 * (len(names) + 2)
    assert np.isfinite(clip.vertices).all()


def test_many_coordinates_get_few_frames_each_and_then_a_walk(
    dog: Path, tmp_path: Path, capsys
) -> None:
    out = tmp_path / "dog.npz"
    assert main(["animate", str(dog), "-o", str(out), "--json"]) == 0
    names = json.loads(capsys.readouterr().out)["coordinates"]
    clip = Clip.load(out)
    assert len(clip) < 12 * len(names) + 4 * 48 + 1
    assert clip.q is not None
    assert (np.abs(clip.q[-4 * 48 :]) > 1e-3).sum(1).max() > 0.5 * len(names)  # all at once


def test_the_choice_can_be_forced(dog: Path, tmp_path: Path, capsys) -> None:
    out = tmp_path / "dog.npz"
    command = ["animate", str(dog), "-o", str(out), "--frames", "3", "--body-type", "solid"]
    assert main(command) == 0
    assert "mode1" in capsys.readouterr().out


def test_a_creature_falls_in_a_heap(dog: Path, tmp_path: Path, capsys) -> None:
    out = tmp_path / "fall.npz"
    assert main(["simulate", str(dog), "-o", str(out), "--gravity", "--ground", "--seconds", "0.1",
                 "--up", "z", "--json"]) == 0  # fmt: skip
    printed, err = capsys.readouterr()
    data = json.loads(printed)
    assert "skeleton body" in err
    assert data["coordinates"][:3] == ["x", "y", "z"]
    assert data["frames_in_contact"] > 0
    clip = Clip.load(out)
    floor = clip.vertices[0][:, 2].min()
    assert clip.vertices[-1][:, 2].min() > floor - 0.03
    assert clip.vertices[-1][:, 2].mean() < clip.vertices[0][:, 2].mean()
    assert data["energy_j"][1] < data["energy_j"][0]


def test_a_creature_takes_the_pose_of_a_target(dog: Path, tmp_path: Path, capsys) -> None:
    mesh = Mesh.load(dog)
    goal = mesh.vertices.copy()
    tail = goal[:, 1] < -0.25
    angle, pivot = 0.6, np.array([0, -0.25, 0.15])
    bend = np.array([[1, 0, 0], [0, np.cos(angle), -np.sin(angle)],
                     [0, np.sin(angle), np.cos(angle)]])  # fmt: skip
    goal[tail] = (goal[tail] - pivot) @ bend.T + pivot
    save_mesh(mesh.replace_vertices(goal), tmp_path / "goal.obj")
    out = tmp_path / "pose.npz"
    target = str(tmp_path / "goal.obj")
    assert main(["fit", str(dog), "--target", target, "-o", str(out), "--json"]) == 0
    printed, err = capsys.readouterr()
    assert "skeleton body" in err
    assert any("joint" in name for name in json.loads(printed)["moved"])
    clip = Clip.load(out)
    gap = np.linalg.norm(clip.vertices[-1] - goal, axis=1)[tail].mean()
    assert gap < 0.5 * np.linalg.norm(mesh.vertices - goal, axis=1)[tail].mean()
