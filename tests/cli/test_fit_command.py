"""`kin4d fit`: the way from a mesh to a target, in whatever coordinates it was found."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from kin4d.cli import main
from kin4d.geometry.clip import Clip
from kin4d.geometry.io.mesh_file import save_mesh
from kin4d.geometry.mesh import Mesh
from kin4d.geometry.primitives import box


@pytest.mark.parametrize("lift", [(0.0, 0.0, 0.0), (0.0, 0.0, 0.3)])
def test_a_lid_is_lifted(capsys, tmp_path: Path, lift: tuple[float, float, float]) -> None:
    lid = box((0.6, 0.5, 0.06))
    lid = lid.replace_vertices(lid.vertices + np.array([0, 0, 0.24]))
    chest = Mesh.concatenate([box((0.6, 0.5, 0.4)), lid])
    top = chest.vertices[:, 2] > 0.205
    goal = chest.vertices + np.where(top[:, None], lift, 0.0)
    save_mesh(chest, tmp_path / "chest.obj")
    save_mesh(chest.replace_vertices(goal), tmp_path / "open.obj")
    way = tmp_path / "way.npz"
    files = [tmp_path / "chest.obj", "--target", tmp_path / "open.obj", "-o", way]
    code = main(["fit", *map(str, files), "--json"])
    out, err = capsys.readouterr()
    assert code == 0, err
    printed, clip = json.loads(out), Clip.load(way)
    assert clip.q is not None
    assert clip.q.shape[1] == len(printed["q"])
    np.testing.assert_allclose(clip.q[-1], printed["q"])
    first, last = clip.vertices[0], clip.vertices[-1]
    assert last[:, 2].max() == pytest.approx(0.27 + lift[2], abs=0.03)
    low = first[:, 2] < 0.205
    np.testing.assert_allclose(last[low], first[low], atol=1e-6)


@pytest.mark.parametrize(
    "points", [np.zeros(3), np.zeros((0, 3)), np.zeros((4, 2)), np.full((4, 3), np.nan)]
)
def test_points_that_are_none_are_refused(capsys, tmp_path: Path, points: np.ndarray) -> None:
    np.save(tmp_path / "p.npy", points)
    target = tmp_path / "p.npy"
    assert main(["fit", "hinge", "--target", str(target), "-o", str(tmp_path / "f.npz")]) == 2
    assert "not a readable file of points" in capsys.readouterr().err
