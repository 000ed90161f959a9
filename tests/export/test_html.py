"""Pages that play a clip: small, exact, without a network, and played by a real browser."""

from __future__ import annotations

import base64
import json
import os
import re
import zlib
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from browser import colours, complaints, keep, wait_until

from kin4d.bodies import bake, hinge, sweep_joints
from kin4d.bodies.modal import ModalBody
from kin4d.cli import main
from kin4d.errors import InputError
from kin4d.export.html import clip_html
from kin4d.geometry.clip import Clip
from kin4d.geometry.mesh import Mesh
from kin4d.geometry.primitives import box
from kin4d.geometry.skin import SkinAnimation
from kin4d.geometry.transforms import quaternion_to_matrix

SHOTS = Path(os.environ["KIN4D_SCREENSHOTS"]) if "KIN4D_SCREENSHOTS" in os.environ else None


def decoded(page: str) -> tuple[dict, dict[str, np.ndarray]]:
    """Header and arrays, read as the page's script reads them."""
    header = json.loads(re.search(r'application/json">(.*?)</script>', page)[1])
    data = zlib.decompress(base64.b64decode(re.search(r'text/plain">(.*?)</script>', page)[1]))
    arrays, at = {}, 0
    for name, kind, count in header["arrays"]:
        dtype = np.dtype("<" + kind)
        raw = np.frombuffer(data, np.uint8, count * dtype.itemsize, at).reshape(-1, count)
        arrays[name] = np.ascontiguousarray(raw.T).view(dtype).ravel()
        at += count * dtype.itemsize
    assert at == len(data)
    arrays["faces"] = arrays["faces"].cumsum()
    return header, arrays


def played(page: str, frame: int) -> np.ndarray:
    """[F, 3, 3] corners of the triangles that the page's script draws at a frame."""
    head, data = decoded(page)
    low, high = np.array(head["restLow"]), np.array(head["restHigh"])
    rest = data["positions"].reshape(-1, 3) / 65535
    if head["modes"]:
        count = len(head["modes"])
        factors = data["amounts"].reshape(-1, count)[frame] * head["modes"]
        rest = rest + (factors @ data["basis"].reshape(count, -1)).reshape(-1, 3)
    points = low + rest * (high - low)
    turns = data["turns"].reshape(head["frames"], -1, 4)[frame].astype(np.float64)
    turns /= np.linalg.norm(turns, axis=1, keepdims=True)
    matrices = quaternion_to_matrix(torch.from_numpy(turns)).numpy()
    shifts = data["shifts"].reshape(head["frames"], -1, 3)[frame]
    carriers = data["carriers"].reshape(len(points), -1)
    weights = data["weights"].reshape(len(points), -1) / 255
    moved = np.einsum("vkij,vj->vki", matrices[carriers], points) + shifts[carriers]
    return (weights[..., None] * moved).sum(1)[data["faces"].reshape(-1, 3)]


def worst(page: str, clip: Clip) -> float:
    """Greatest error of a vertex over all frames, relative to the clip's size."""
    size = np.linalg.norm(np.ptp(clip.bounds, axis=0))
    true = clip.vertices[:, clip.mesh.faces]
    return max(abs(played(page, t) - true[t]).max() for t in range(len(clip))) / size


@pytest.fixture(scope="module")
def swing() -> Clip:
    return bake(hinge(), sweep_joints(hinge(), frames=20))


def soft_clip() -> Clip:
    body = ModalBody.solid(box((0.4, 0.1, 0.1)), young=1e5, density=1000)
    q = np.zeros((12, len(body.coordinates)))
    q[:, 0] = 0.5 * float(body.limits[0, 1]) * np.sin(np.linspace(0, 6, 12))
    return bake(body, q)


def test_rigid_parts(swing: Clip) -> None:
    assert worst(clip_html(swing), swing) < 1e-4


def test_blended_skins() -> None:
    clip = soft_clip()
    assert worst(clip_html(clip), clip) < 1e-3


@pytest.mark.parametrize("tolerance", [1e-2, 1e-3, 1e-4])
def test_surfaces_without_a_skin_keep_to_the_tolerance(swing: Clip, tolerance: float) -> None:
    free = replace(swing, skin=None)
    page = clip_html(free, tolerance=tolerance)
    assert worst(page, free) < tolerance + 5e-5


def test_a_still_mesh_has_no_modes() -> None:
    page = clip_html(Clip.still(box((1.0, 2.0, 3.0))))
    header, arrays = decoded(page)
    assert header["modes"] == []
    assert "basis" not in arrays
    assert worst(page, Clip.still(box((1.0, 2.0, 3.0)))) < 1e-4


def test_names_cannot_reach_the_script(swing: Clip) -> None:
    name = "</script><script>alert(1)</script>{{data}}"
    page = clip_html(replace(swing, mesh=replace(swing.mesh, name=name)))
    assert page.count("<script") == clip_html(swing, title="x").count("<script")
    assert "{{data}}" in page  # as a name, not filled in
    assert "default-src 'none'" in page


def test_tolerances_are_positive(swing: Clip) -> None:
    with pytest.raises(InputError, match="tolerance"):
        swing.to_html(tolerance=0.0)


def test_a_large_skinned_clip_is_small(tmp_path) -> None:
    """40k vertices and 120 frames in 3 MB."""
    side = 200
    grid = np.stack(np.meshgrid(np.arange(side), np.arange(side)), -1).reshape(-1, 2) / side
    rng = np.random.default_rng(0)
    height = 0.1 * np.sin(9 * grid[:, 0]) * np.cos(7 * grid[:, 1]) + 0.001 * rng.random(len(grid))
    index = np.arange(side * side).reshape(side, side)
    a, b, c, d = (
        x.ravel() for x in (index[:-1, :-1], index[:-1, 1:], index[1:, :-1], index[1:, 1:])
    )
    mesh = Mesh(
        vertices=np.column_stack([grid, height]),
        faces=np.concatenate([np.stack([a, b, c], 1), np.stack([b, d, c], 1)]),
        name="cloth",
    )
    count, frames = 24, 120
    centres = rng.random((count, 2))
    near = np.linalg.norm(grid[:, None] - centres, axis=-1)
    joints = np.argsort(near, axis=1)[:, :4]
    weights = np.exp(-8 * np.take_along_axis(near, joints, 1))
    transforms = np.tile(np.eye(4), (frames, count, 1, 1))
    phase = np.linspace(0, 6, frames)[:, None] + rng.random(count)
    transforms[..., 2, 3] = 0.2 * np.sin(phase)
    skin = SkinAnimation(
        joints=joints,
        weights=(weights / weights.sum(1, keepdims=True)).astype(np.float32),
        names=tuple(f"bone{i}" for i in range(count)),
        transforms=transforms,
    )
    moved = np.stack([skin.apply(one, mesh.vertices) for one in transforms])
    clip = Clip(mesh=mesh, vertices=moved, fps=30.0, skin=skin)
    path = clip.save(tmp_path / "cloth.html")
    assert len(mesh.vertices) == 40_000
    assert path.stat().st_size < 3e6


@pytest.mark.parametrize("kind", ["rigid", "free"])
def test_a_browser_plays_it(tab, tmp_path, swing: Clip, kind: str) -> None:
    clip = swing if kind == "rigid" else replace(swing, skin=None)
    path = clip.save(tmp_path / "swing.html")
    tab.goto(path.as_uri())
    wait_until(tab, "kin4d.ready && kin4d.drawn > 3")
    first = tab.evaluate("kin4d.frame")
    wait_until(tab, f"kin4d.frame != {first}")
    tab.get_by_role("button", name="play or pause").click()
    assert tab.evaluate("kin4d.playing") is False
    shots = []
    for frame in (0, 5):
        tab.evaluate(f"set({frame})")
        drawn = tab.evaluate("kin4d.drawn")
        wait_until(tab, f"kin4d.drawn > {drawn + 1}")
        shots.append(tab.screenshot())
        keep(shots[-1], SHOTS, f"page_{kind}_{frame}.png")
    assert shots[0] != shots[1]
    assert colours(shots[0]) > 20
    assert tab.requests == [path.as_uri()]
    assert tab.evaluate("kin4d.error") == ""
    assert complaints(tab) == []


def test_the_command_writes_one(tmp_path, capsys) -> None:
    assert main(["view", "hinge", "--html", str(tmp_path / "door.html")]) == 0
    assert "40 frames" in capsys.readouterr().out
    header, _ = decoded((tmp_path / "door.html").read_text())
    assert header["frames"] == 40
