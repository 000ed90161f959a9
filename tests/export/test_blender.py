"""Blender shows our files as they are meant: GLB with a skin, USD, PC2; and back again.

Slow, and only where Blender's module can be imported: KIN4D_BLENDER_PYTHON names a Python that has
it (`pip install bpy`), by default the one that runs the tests.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from scipy.spatial import cKDTree

from kin4d.bodies import bake, hinge, sweep_joints
from kin4d.geometry.clip import Clip
from kin4d.geometry.primitives import box
from kin4d.loading import load
from kin4d.objects.animated import load_animation

pytestmark = pytest.mark.slow
PYTHON = os.environ.get("KIN4D_BLENDER_PYTHON", sys.executable)
SCRIPT = Path(__file__).parents[1] / "tools" / "blender_frames.py"
TOY = Path(__file__).parents[2] / "examples" / "scenes" / "toy.obj"


@pytest.fixture(scope="module", autouse=True)
def blender() -> None:
    command = [PYTHON, "-c", "import bpy"]
    if subprocess.run(command, capture_output=True, check=False).returncode:
        pytest.skip("needs Blender: pip install bpy, or KIN4D_BLENDER_PYTHON")


@pytest.fixture(scope="module")
def clips() -> dict[str, Clip]:
    """Rigid parts, a blended skin, and a surface that deforms freely."""
    toy = load(str(TOY), body_type="skeleton")
    cube = load(box((1.0, 0.6, 0.4)), body_type="solid")
    return {
        "door": bake(hinge(), sweep_joints(hinge(), frames=8), fps=24),
        "toy": bake(toy, sweep_joints(toy, frames=8)[:8], fps=24),
        "cube": bake(cube, sweep_joints(cube, frames=8)[:8], fps=24),
    }


def shown(file: Path, count: int, back: Path | None = None):
    """What Blender shows."""
    output = file.with_suffix(".shown.npz")
    command = [PYTHON, str(SCRIPT), str(file), str(count), str(output)]
    done = subprocess.run(
        command + ([] if back is None else [str(back)]), capture_output=True, text=True, check=False
    )
    assert output.is_file(), done.stdout[-2000:] + done.stderr[-2000:]
    return np.load(output)


def apart(a: np.ndarray, b: np.ndarray) -> float:
    """Greatest distance of a point of one set from the other set, m."""
    return max(cKDTree(a).query(b)[0].max(), cKDTree(b).query(a)[0].max())


@pytest.mark.parametrize("name", ["door", "toy", "cube"])
@pytest.mark.parametrize("suffix", [".glb", ".usdc", ".pc2"])
def test_blender_shows_every_frame(clips, tmp_path, name: str, suffix: str) -> None:
    if suffix == ".usdc":
        pytest.importorskip("pxr")
    clip = clips[name]
    clip.save(tmp_path / f"{name}{suffix}")
    seen = shown(tmp_path / f"{name}{suffix}", len(clip))
    assert bool(seen["skinned"]) == (suffix == ".glb" and clip.skin is not None)
    errors = [apart(a, b) for a, b in zip(seen["points"], clip.vertices, strict=True)]
    moves = np.abs(clip.vertices - clip.vertices[0]).max()
    assert max(errors) < 1e-4 * clip.mesh.bbox_diagonal
    assert moves > 100 * max(errors)


@pytest.mark.parametrize("name", ["door", "toy"])
def test_a_skin_comes_back_from_blender(clips, tmp_path, name: str) -> None:
    clip = clips[name]
    clip.save(tmp_path / f"{name}.glb")
    shown(tmp_path / f"{name}.glb", len(clip), tmp_path / "back.glb")
    again = load_animation(tmp_path / "back.glb", fps=clip.fps, licence="CC0-1.0")
    assert abs(len(again.vertices) - len(clip)) <= 1  # whether the last instant counts
    errors = [apart(a, b) for a, b in zip(again.vertices, clip.vertices, strict=False)]
    assert max(errors) < 1e-3 * clip.mesh.bbox_diagonal
