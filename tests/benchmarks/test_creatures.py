"""The creatures benchmark: splits, truth read from files, and scores of known cases."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from toy_creature import toy_creature

from kin4d.benchmarks.creatures import run
from kin4d.benchmarks.creatures.cases import CreatureCase, case_name, case_split, find_cases
from kin4d.benchmarks.creatures.run import run_creature
from kin4d.benchmarks.creatures.scores import fit_scores, found_joints, state_scores
from kin4d.benchmarks.creatures.sheet import draw_creatures
from kin4d.benchmarks.creatures.tables import creatures_report
from kin4d.bodies import FloatingBase, bake
from kin4d.bodies.creature.build import CreatureConfig, skeletal_body
from kin4d.errors import InputError
from kin4d.geometry.primitives import box
from kin4d.objects.animated_rig import load_rig


@pytest.fixture(scope="module")
def animated(tmp_path_factory) -> Path:
    """A folder with a creature that bends all its joints at once."""
    folder = tmp_path_factory.mktemp("toys")
    body = skeletal_body(toy_creature(), config=CreatureConfig(voxels=6000))
    q = body.q0.repeat(7, 1)
    q[1:] = 0.5 * body.limits[:, 1]
    bake(body, q, fps=6).save(folder / "toy.glb")
    return folder


def test_splits_are_by_name_and_cover_everything(animated: Path) -> None:
    found = [find_cases([animated], split) for split in ("dev", "test")]
    assert sorted(map(len, found)) == [0, 1]
    file = animated / "toy.glb"
    assert case_split(file) == case_split(Path("elsewhere") / animated.name / "toy.gltf")
    assert case_name(file) == f"{animated.name}/toy"
    with pytest.raises(InputError, match="split"):
        find_cases([animated], "train")
    with pytest.raises(InputError, match="no folder"):
        find_cases([animated / "none"], "dev")


def test_joints_of_a_file_are_read(animated: Path) -> None:
    rig = load_rig(animated / "toy.glb")
    assert len(rig.names) == len(rig.positions) == len(rig.rotation) == len(rig.carried)
    assert rig.rotation.max() > 0.3
    assert rig.carried.max() == pytest.approx(1.0)  # exported joints hang on the root
    assert 0 < rig.carried.min() < 0.2
    assert 1 <= rig.visible().sum() <= len(rig.names)


def test_a_true_body_fits_its_own_frames(animated: Path) -> None:
    case = CreatureCase.of(animated / "toy.glb", frames=2, seed=0)
    assert len(case.frames) == 1  # one clip, one frame
    body = skeletal_body(case.mesh, config=CreatureConfig(voxels=6000))
    (off,) = fit_scores(FloatingBase(body), case, seed=0)
    assert off < 0.6


def test_states_are_scored() -> None:
    mesh = box((1, 1, 1))
    still = np.stack([mesh.vertices, mesh.vertices])
    scores = state_scores(mesh, still)
    assert (scores.distorted, scores.volume, scores.motion) == (0.0, 1.0, 0.0)
    flat = state_scores(mesh, mesh.vertices[None] * [1, 1, 0.5])
    assert flat.volume == 0.0
    assert flat.distorted > 0.2
    assert flat.motion == pytest.approx(0.25 / 3**0.5)


def test_joints_near_true_ones_are_found() -> None:
    true = np.array([[0.0, 0, 0], [1, 0, 0], [0, 1, 0]])
    near = np.array([[0.04, 0, 0], [0, 0.96, 0], [3, 3, 3], [0.01, 0, 0]])
    assert found_joints(true, near, 1.0) == (2, 3)
    assert found_joints(true[:0], near, 1.0) == (0, 0)


def test_a_whole_run_gives_rows_and_thresholds(animated: Path, tmp_path: Path) -> None:
    split = case_split(animated / "toy.glb")
    (animated / "broken.glb").write_bytes(b"nothing")
    try:
        one = run_creature(animated / "broken.glb", frames=1, seed=0)
        assert isinstance(one, str)
        assert "left out" in one
        result = run_creature(animated / "toy.glb", frames=1, seed=0)
        assert not isinstance(result, str)
        report = creatures_report([result], [one])
        assert [row.get("kind") for row in report.rows] == [animated.name, "all", None]
        assert report.rows[1]["files"] == 1
        assert 0 < report.rows[1]["off"] < 1
        assert report.rows[1]["edges (%)"] <= 1.0
        assert len(report.checks) == 7
        assert one in report.notes
    finally:
        (animated / "broken.glb").unlink()
    sheet = draw_creatures([animated / "toy.glb"], tmp_path / "sheet.jpg", seed=0, tile=48)
    assert sheet.stat().st_size > 0
    assert run(quick=True, seed=0, split=split).rows == []
