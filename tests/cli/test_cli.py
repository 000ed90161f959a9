"""The command line: results for people and machines, messages instead of tracebacks."""

from __future__ import annotations

import errno
import json
import os
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from kin4d.cli import COMMANDS, main
from kin4d.errors import InputError
from kin4d.geometry.clip import Clip
from kin4d.geometry.io.mesh_file import save_mesh
from kin4d.geometry.mesh import Mesh
from kin4d.geometry.mesh_ops import concatenate_meshes
from kin4d.geometry.pointmap import PointmapVideo
from kin4d.geometry.primitives import box
from kin4d.objects.procedural.categories import make_object


def run(capsys: pytest.CaptureFixture[str], *arguments: object) -> tuple[int, str, str]:
    """Exit code, standard output and standard error of ``kin4d ARGUMENTS``."""
    try:
        code = main([str(argument) for argument in arguments])
    except SystemExit as stop:  # the parser's own way out
        code = int(stop.code or 0)
    out, err = capsys.readouterr()
    return code, out, err


@pytest.fixture
def mesh_file(tmp_path: Path) -> Path:
    path = tmp_path / "box.obj"
    save_mesh(box((0.1, 0.2, 0.3)), path)
    return path


def test_help_lists_every_command(capsys) -> None:
    code, out, _ = run(capsys, "--help")
    assert code == 0
    assert [name for name in COMMANDS if name not in out] == []


def test_inspect_json(capsys, mesh_file: Path) -> None:
    code, out, _ = run(capsys, "inspect", mesh_file, "--json")
    found = json.loads(out)
    assert code == 0
    assert found["faces"] == 12
    assert found["verdict"] == "good"


def test_a_scene_is_split_and_articulate_says_so(capsys, tmp_path: Path) -> None:
    one = box((1.0, 1.0, 1.0))
    far = replace(one, vertices=one.vertices + np.array([3.0, 0.0, 0.0]))
    scene = concatenate_meshes([one, far]).save(tmp_path / "scene.obj")
    code, out, _ = run(capsys, "inspect", scene, "--split", tmp_path / "objects", "--json")
    assert code == 0
    files = json.loads(out)["objects"]
    assert [len(Mesh.load(file).faces) for file in files] == [12, 12]
    code, _, err = run(capsys, "articulate", scene, "-o", tmp_path / "scene.urdf")
    assert code == 0
    assert "2 parts with a gap" in err
    assert "--split" in err


def test_articulate_prints_and_draws_other_joints(capsys, tmp_path: Path) -> None:
    mesh = save_mesh(make_object("cabinet", 2).body().rest, tmp_path / "cabinet.obj")
    target = tmp_path / "cabinet.urdf"
    code, out, _ = run(capsys, "articulate", mesh, "-o", target, "--alternatives", "--json")
    assert code == 0
    parts = json.loads(out)["parts"]
    assert parts
    for joints in parts:
        assert 1 <= len(joints) <= 4
        assert all(0 <= joint["probability"] <= 1 for joint in joints)
    code, out, _ = run(capsys, "articulate", mesh, "-o", target, "--sample", 5, "--alternatives")
    assert code == 0
    assert "or " in out
    assert target.exists()


def test_inspect_repair_says_what_it_did(capsys, tmp_path: Path) -> None:
    broken, repaired = tmp_path / "broken.obj", tmp_path / "repaired.obj"
    broken.write_text("v 0 0 0\nv 1 0 0\nv 0 1 0\nv nan 0 0\nf 1 2 3\nf 1 2 4\nf 1 1 2\n")
    code, out, err = run(capsys, "inspect", broken, "--repair", repaired)
    assert code == 0, err
    assert "NaN" in out
    assert run(capsys, "inspect", repaired, "--json")[0] == 0


@pytest.mark.parametrize("suffix", [".glb", ".npz", ".gif", ".pc2", ""])
def test_animate_writes_what_the_suffix_says(capsys, tmp_path: Path, suffix: str) -> None:
    target = tmp_path / f"door{suffix}"
    code, out, err = run(capsys, "animate", "hinge", "-o", target, "--frames", "4", "--json")
    assert code == 0, err
    assert json.loads(out)["frames"] == 4
    assert target.exists()


def test_export_converts_a_saved_clip(capsys, tmp_path: Path, mesh_file: Path) -> None:
    run(capsys, "animate", "slider_chain", "-o", tmp_path / "clip.npz", "--frames", "3")
    assert len(Clip.load(tmp_path / "clip.npz")) == 9
    for source in (tmp_path / "clip.npz", mesh_file):
        code, _, err = run(capsys, "export", source, "-o", tmp_path / "out.glb")
        assert code == 0, err
        assert (tmp_path / "out.glb").read_bytes()[:4] == b"glTF"


def test_robot_from_actions_to_pointmaps(capsys, tmp_path: Path) -> None:
    inspected = json.loads(run(capsys, "robot", "kin4d_arm", "--inspect", "--json")[1])
    actions = tmp_path / "actions.csv"
    first = inspected["coordinates"][0]["name"]
    actions.write_text(f"time,{first}\n0,0\n0.1,0.2\n0.2,0.4\n")
    code, out, err = run(
        capsys, "robot", "kin4d_arm", "--actions", actions, "-o", tmp_path / "out",
        "--frames", "5", "--size", "96", "64", "--robo4d", "--json",
    )  # fmt: skip
    assert code == 0, err
    assert json.loads(out)["visible"] > 0.01
    video = PointmapVideo.load(tmp_path / "out" / "pointmap.npz")
    assert len(video) == 5
    assert np.isfinite(video.xyz[video.mask > 0]).all()
    joints = np.load(tmp_path / "out" / "joints.npz")
    np.testing.assert_allclose(joints["joint"][-1, 0], 0.4, atol=1e-9)
    assert (tmp_path / "out" / "robo4d" / "videos" / "0.mp4").exists()


def test_robot_out_of_view_is_said(capsys, tmp_path: Path) -> None:
    from kin4d.geometry.camera import Camera

    actions, camera = tmp_path / "actions.npz", tmp_path / "camera.json"
    np.savez(actions, joint=np.zeros((2, 6)), fps=10.0)
    Camera.look_at((0, -3, 1), (0, -9, 1), width=48, height=32).save(camera)
    code, out, err = run(
        capsys, "robot", "kin4d_arm", "--actions", actions, "--camera", camera,
        "-o", tmp_path / "out", "--frames", "2", "--json",
    )  # fmt: skip
    assert code == 0, err
    assert json.loads(out)["visible"] == 0
    assert "never in view" in err


def test_joints_without_limits_are_valid_json(capsys, tmp_path: Path) -> None:
    wheel = tmp_path / "wheel.urdf"
    shape = '<visual><geometry><box size="1 1 1"/></geometry></visual>'
    wheel.write_text(
        f'<robot name="w"><link name="a">{shape}</link><link name="b">{shape}</link>'
        '<joint name="spin" type="continuous"><parent link="a"/><child link="b"/></joint></robot>'
    )
    code, out, err = run(capsys, "robot", wheel, "--inspect", "--json")
    assert code == 0, err
    assert "Infinity" not in out
    assert json.loads(out)["coordinates"][0]["upper"] is None


def test_joints_beyond_their_limits_are_said(capsys, tmp_path: Path) -> None:
    actions = tmp_path / "actions.npz"
    np.savez(actions, joint=np.full((2, 6), 2.95), fps=10.0)
    code, out, err = run(
        capsys, "robot", "kin4d_arm", "--actions", actions, "-o", tmp_path / "out",
        "--frames", "1", "--size", "48", "32", "--json",
    )  # fmt: skip
    assert code == 0, err
    assert "wrist_turn" not in json.loads(out)["joints_beyond_limits"]
    assert "beyond their limits: shoulder_pan" in err


def test_info_json(capsys) -> None:
    code, out, _ = run(capsys, "info", "--json")
    assert code == 0
    assert set(json.loads(out)) == {"versions", "machine", "extras"}


def test_bench_lists_names(capsys) -> None:
    from kin4d.benchmarks import BENCHMARKS

    assert run(capsys, "bench", "--list")[1].split() == [*BENCHMARKS]


BAD = {
    "missing": (["inspect", "nowhere.obj"], "does not exist"),
    "folder": (["inspect", "."], "is a folder"),
    "suffix": (["export", "{mesh}", "-o", "x.fbx"], "Allowed"),
    "bench": (["bench", "nothing"], "no such benchmark"),
    "robot": (["robot", "no_such_robot", "--inspect"], "no robot called"),
    "no actions": (["robot", "kin4d_arm"], "--actions FILE"),
    "frames": (["animate", "hinge", "-o", "x.glb", "--frames", "1"], "frames >= 2"),
    "endless": (["animate", "hinge", "-o", "x.glb", "--frames", "9" * 12], "GB of memory"),
    "endless robot": (
        ["robot", "kin4d_arm", "--actions", "{actions}", "-o", "x", "--frames", "9" * 12],
        "GB of memory",
    ),
    "huge": (["export", "{mesh}", "-o", "x.gif", "--width", "9" * 9], "GB of memory"),
    "clip": (["export", "{text}.npz", "-o", "x.glb"], "clip"),
    "camera": (
        ["robot", "kin4d_arm", "--actions", "{actions}", "--camera", "{mesh}", "-o", "x"],
        "not a readable JSON file",
    ),
}


@pytest.mark.parametrize("name", BAD)
def test_bad_input_is_a_message(capsys, tmp_path: Path, mesh_file: Path, name: str) -> None:
    arguments, expected = BAD[name]
    text, actions = tmp_path / "text", tmp_path / "actions.npz"
    (tmp_path / "text.npz").write_text("not a clip")
    np.savez(actions, joint=np.zeros((2, 6)), fps=10.0)
    arguments = [part.format(mesh=mesh_file, text=text, actions=actions) for part in arguments]
    code, _, err = run(capsys, *arguments)
    assert code == 2
    assert expected in err
    assert "Traceback" not in err


def test_debug_shows_the_traceback() -> None:
    with pytest.raises(InputError):
        main(["inspect", "nowhere.obj", "--debug"])


@pytest.mark.skipif(os.geteuid() == 0 and not Path("/proc/version").exists(), reason="no /proc")
def test_unwritable_output_is_a_message(capsys) -> None:
    code, _, err = run(capsys, "animate", "hinge", "-o", "/proc/version/door.glb", "--frames", "2")
    assert code == 2
    assert "cannot write" in err


def test_running_out_of_memory_is_a_message(capsys, monkeypatch) -> None:
    import kin4d.cli.info as module

    def exhausted(*_, **__) -> None:
        raise MemoryError("Unable to allocate 9 TiB")

    monkeypatch.setattr(module, "print_result", exhausted)
    code, _, err = run(capsys, "info")
    assert code == 2
    assert "more memory than there is" in err


def test_a_full_disk_is_a_message(capsys, monkeypatch) -> None:
    import kin4d.cli.info as module

    def full(*_, **__) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), "somewhere/log")

    monkeypatch.setattr(module, "print_result", full)
    code, _, err = run(capsys, "info")
    assert code == 2
    assert "cannot read or write somewhere/log: No space left" in err
    assert "bug" not in err


def test_a_bug_is_named_as_one(capsys, monkeypatch) -> None:
    import kin4d.cli.info as module

    monkeypatch.setattr(module, "print_result", lambda *_, **__: 1 / 0)
    code, _, err = run(capsys, "info")
    assert code == 1
    assert "bug in kin4d" in err
    assert "--debug" in err
