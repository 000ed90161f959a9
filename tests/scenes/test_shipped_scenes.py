"""The scenes that ship do what they say."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from kin4d import Clip, load_scene, simulate
from kin4d.cli import main

SCENES = Path(__file__).parents[2] / "examples" / "scenes"


def test_a_hand_drags_a_lamp_by_the_command(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    output, scene = tmp_path / "lamp.npz", str(SCENES / "drag_lamp.yaml")
    assert main(["simulate", scene, "-o", str(output), "--fps", "10", "--json"]) == 0
    lamp = json.loads(capsys.readouterr().out)["bodies"]["lamp"]
    # The head has gone round by most of a right angle, without the hand going into it.
    assert lamp["q_end"][0] < 0.4
    assert lamp["frames_in_contact"] > 5
    assert lamp["deepest_penetration_m"] < 1e-3
    assert len(Clip.load(output)) == 31


def test_the_command_takes_a_camera_and_refuses_what_the_file_says(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "scene.yaml").write_text(
        "bodies: [{load: hinge}]\n"
        "cameras: [{name: top, eye: [0, 0, 4], target: [0, 0, 0], width: 64, height: 48}]"
    )
    scene, movie = str(tmp_path / "scene.yaml"), tmp_path / "scene.gif"
    options = ["--seconds", "0.2", "--fps", "10", "--camera", "top"]
    assert main(["simulate", scene, "-o", str(movie), *options]) == 0
    assert Image.open(movie).size == (64, 48)
    assert main(["simulate", scene, "-o", str(movie), "--camera", "left"]) == 2
    assert "no such camera" in capsys.readouterr().err
    assert main(["simulate", scene, "-o", str(movie), "--gravity", "--material", "wood"]) == 2
    assert "--gravity, --material" in capsys.readouterr().err


@pytest.mark.slow
@pytest.mark.parametrize("name", ["open_cabinet", "open_learned_cabinet"])
def test_a_gripper_opens_a_cabinet(name: str) -> None:
    run = load_scene(SCENES / f"{name}.yaml").run()
    q = run["cabinet"].q
    assert q is not None
    # The gripper goes round the hinge by 45 degrees.
    assert q[-1, 0] == pytest.approx(np.radians(45), abs=0.08)
    assert run["cabinet"].diagnostics["penetration"].max() < 2e-3


@pytest.mark.slow
def test_a_hand_lifts_a_soft_toy() -> None:
    loaded = load_scene(SCENES / "lift_toy.yaml")
    run = simulate(loaded.scene, seconds=loaded.seconds, fps=10)
    toy = run["toy"].vertices
    assert toy[-1, :, 2].min() > 0.1
    assert np.abs(toy[-1].mean(0)[:2] - [0.42, 0.0]).max() < 0.03


@pytest.mark.slow
def test_a_cloth_stays_on_the_arm() -> None:
    loaded = load_scene(SCENES / "drop_cloth.yaml")
    run = simulate(loaded.scene, seconds=loaded.seconds, fps=10)
    cloth = run["cloth"]
    assert cloth.vertices[-1, :, 2].mean() > 0.25  # on the ground it would be at 0
    assert cloth.diagnostics["contacts"][-1] > 3
    assert np.ptp(cloth.vertices[-1, :, 2]) > 0.05  # it is bent
