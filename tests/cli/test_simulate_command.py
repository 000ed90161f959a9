"""`kin4d simulate`: what it moves, what it says, and how it refuses."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from kin4d.bodies import hinge
from kin4d.cli import main
from kin4d.cli.body_loader import read_push
from kin4d.errors import InputError
from kin4d.geometry.clip import Clip
from kin4d.geometry.io.mesh_file import save_mesh
from kin4d.geometry.primitives import box
from kin4d.loading import load, side_vertices


def run(capsys: pytest.CaptureFixture[str], *arguments: object) -> tuple[int, str, str]:
    code = main([str(argument) for argument in arguments])
    out, err = capsys.readouterr()
    return code, out, err


@pytest.fixture
def brick(tmp_path: Path) -> Path:
    path = tmp_path / "brick.obj"
    save_mesh(box((0.2, 0.1, 0.3)), path)
    return path


def test_a_brick_falls_on_the_ground_and_stays(capsys, tmp_path: Path, brick: Path) -> None:
    clip_file, plot = tmp_path / "brick.npz", tmp_path / "energy.png"
    options = [
        "--gravity",
        "--ground",
        "--height",
        0.2,
        "--material",
        "wood",
        "--body-type",
        "rigid",
    ]
    code, out, err = run(
        capsys, "simulate", brick, *options, "--seconds", 1.5, "-o", clip_file, "--plot", plot,
        "--json",
    )  # fmt: skip
    assert code == 0, err
    printed = json.loads(out)
    clip = Clip.load(clip_file)
    # It stands 0.3 m high, and falls until its lower side is 0.2 m lower.
    assert np.ptp(clip.vertices[0, :, 2]) == pytest.approx(0.3, abs=1e-6)
    assert clip.vertices[-1, :, 2].min() == pytest.approx(-0.35, abs=0.003)
    assert printed["mass_kg"] == pytest.approx(0.006 * 600, rel=1e-6)
    assert printed["energy_j"][1] < printed["energy_j"][0]
    assert set(clip.diagnostics) >= {"kinetic", "potential", "contacts", "penetration"}
    assert clip.q is not None
    assert clip.q.shape == (46, 6)
    assert plot.stat().st_size > 1000


def test_a_pushed_door_opens(capsys, tmp_path: Path) -> None:
    target = tmp_path / "door.npz"
    code, _, err = run(
        capsys, "simulate", "hinge", "--push", "door, 0 20 0, 0.2", "--seconds", 0.5, "-o", target
    )
    assert code == 0, err
    q = Clip.load(target).q
    assert q is not None
    assert q[-1, 0] > 0.05


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--push", "9 9 9, 1 0 0, 0.1"], "misses"),
        (["--push", "door, nan 0 0, 0.1"], "three numbers"),
        (["--push", "1 0 0"], "a point, a force and a time"),
        (["--push", "nowhere, 1 0 0, 0.1"], "door"),
        (["--material", "cheese"], "rubber"),
        (["--gravity", "--dt", 0], "--dt is out of range"),
        (["--init-q", "door=9"], "outside its limits"),
        (["--init-q", "window=0.1"], "door"),
        (["--body-type", "solid"], "mesh files"),
    ],
)
def test_what_is_wrong_is_said(capsys, tmp_path: Path, options: list, said: str) -> None:
    code, _, err = run(capsys, "simulate", "hinge", *options, "-o", tmp_path / "x.npz")
    assert code == 2
    assert said in err
    assert not (tmp_path / "x.npz").exists()


def test_names_that_do_not_exist_list_those_that_do() -> None:
    with pytest.raises(InputError, match="drawer_unit"):
        load("unicorn")


def test_pushes_are_read_in_three_ways() -> None:
    door = hinge()
    numbers = read_push("0.7 0 1, 0 20 0, 0.5 0.2", door)
    assert numbers.attachment == (0.7, 0.0, 1.0)
    assert (numbers.start, numbers.end) == (0.5, 0.7)
    assert read_push("0.7,0,1,0,20,0,0.2", door).end == pytest.approx(0.2)
    link = read_push("door, 0 20 0, 0.2", door)
    assert link.attachment[0] > 0.6  # far from the hinge, where it turns best
    top = read_push("top, 0 0 -1, 0.1", door)
    assert top.attachment[2] == pytest.approx(door.rest.bounds[1, 2])


def test_sides() -> None:
    vertices = box((1, 2, 3)).vertices
    assert side_vertices(vertices, "top").sum() == 4
    with pytest.raises(InputError, match="bottom"):
        side_vertices(vertices, "inside")
