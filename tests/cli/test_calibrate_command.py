from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from kin4d.bodies.robot.registry import load_robot
from kin4d.calibration.correspondences import Correspondence, CorrespondenceSet
from kin4d.cli.calibrate import calibrate_command
from kin4d.errors import InputError
from kin4d.export.video import write_video
from kin4d.geometry.camera import Camera
from kin4d.render.pointmaps import render_bodies

TRUTH = Camera.look_at((0.5, -0.55, 0.45), (0.1, 0, 0.25), fov=68, width=320, height=192)


@pytest.fixture(scope="module")
def recording(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """A film at 5 frames a second, joint states at 15, and clicks that are a pixel off."""
    folder = tmp_path_factory.mktemp("recording")
    robot = load_robot("kin4d_arm")
    time = np.linspace(0, 2 * np.pi, 46)[:, None]
    q = robot.q0.numpy() + 0.6 * np.sin(time + np.arange(len(robot.coordinates)))
    q[:, -1] = 0.02
    limits = robot.limits.numpy()
    q = q.clip(limits[:, 0], limits[:, 1])
    film = render_bodies([robot], [q[::3]], TRUTH, background=(0.05, 0.08, 0.1), antialias=2)
    write_video(film.rgb, folder / "film.mp4", fps=5)
    np.savez(folder / "states.npz", joint=q, names=np.array(robot.coordinates), fps=15.0)
    rng, entries = np.random.default_rng(0), []
    for frame in (0, 3, 6, 9, 12, 15):
        for link in ("shoulder", "forearm", "hand", "tcp"):
            point = CorrespondenceSet((Correspondence(frame, (0, 0), link),), 320, 192).points(
                robot, q[::3]
            )
            pixel = (TRUTH.project(point)[0][0] + rng.normal(size=2)).tolist()
            entries.append({"frame": frame, "pixel": pixel, "link": link})
    (folder / "matches.json").write_text(json.dumps({"size": [320, 192], "matches": entries}))
    return {
        "video": folder / "film.mp4",
        "actions": folder / "states.npz",
        "correspondences": folder / "matches.json",
    }


def test_from_film_and_clicks_to_a_camera(
    recording: dict[str, Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    output, picture = tmp_path / "camera.json", tmp_path / "sheet.png"
    calibrate_command("kin4d_arm", **recording, output=output, overlay=picture, json=True)
    data = json.loads(capsys.readouterr().out)
    camera = Camera.load(output)
    assert data["matches"]["rms_px"] < 2
    assert data["refinement"]["accepted"]
    assert np.linalg.norm(camera.pose[:3, 3] - TRUTH.pose[:3, 3]) < 0.03
    assert abs(camera.K[0, 0] / TRUTH.K[0, 0] - 1) < 0.05
    assert picture.stat().st_size > 0


def test_without_refining_and_in_words(
    recording: dict[str, Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    calibrate_command("kin4d_arm", **recording, output=tmp_path / "camera.json", refine=False)
    out = capsys.readouterr().out
    assert "24 matches" in out
    assert "focal length" in out


def test_refusals_write_nothing(recording: dict[str, Path], tmp_path: Path) -> None:
    output = tmp_path / "camera.json"
    data = json.loads(recording["correspondences"].read_text())
    few = tmp_path / "few.json"
    few.write_text(json.dumps({**data, "matches": data["matches"][:3]}))
    with pytest.raises(InputError, match="too few matches"):
        calibrate_command("kin4d_arm", **{**recording, "correspondences": few}, output=output)
    other = tmp_path / "other.json"
    other.write_text(json.dumps({**data, "size": [640, 384]}))
    with pytest.raises(InputError, match="another size"):
        calibrate_command("kin4d_arm", **{**recording, "correspondences": other}, output=output)
    short = tmp_path / "short.npz"
    with np.load(recording["actions"]) as states:
        np.savez(short, joint=states["joint"][:20], names=states["names"], fps=15.0)
    with pytest.raises(InputError, match="longer than the motion"):
        calibrate_command("kin4d_arm", **{**recording, "actions": short}, output=output)
    assert not output.exists()
