"""Every Python block of README and docs runs as it is written, on files as a reader might have.

The pages of `test_howto_pages` are run there.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import kin4d

ROOT = Path(__file__).parents[1]
TEXTS = {
    str(path.relative_to(ROOT)): path.read_text()
    for path in (ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md")))
}
ELSEWHERE = {f"docs/howto/{name}.md" for name in ("my_mesh", "my_robot", "my_camera", "my_data")}
NEEDS_DATA = {
    "docs/episodes.md": ("open_dataset(", "from datasets import Dataset"),
    "docs/howto/robot.md": ("2f85.xml", "register_scan("),
}
"""Blocks that read recordings, robots or scans that are not ours to write."""


def blocks(page: str, language: str = "python") -> list[str]:
    """The code blocks of a page."""
    found = re.findall(rf"^```{language}\n(.*?)^```$", TEXTS[page], re.DOTALL | re.MULTILINE)
    skipped = NEEDS_DATA.get(page, ())
    return [block for block in found if not any(text in block for text in skipped)]


def nothing() -> dict[str, Any]:
    return {}


def cabinet() -> dict[str, Any]:
    mesh = kin4d.load("cabinet").rest
    for name in ("cabinet.obj", "cabinet_open.obj", "cabinet.glb", "chair.glb"):
        mesh.save(name)
    return {}


def laptop() -> dict[str, Any]:
    Path("laptop").mkdir()
    kin4d.load("laptop").rest.save("laptop/frame_0000.obj")
    return {}


def cow() -> dict[str, Any]:
    from toy_creature import toy_creature

    toy_creature().save("cow.obj")
    return {}


def recording() -> dict[str, Any]:
    from kin4d.cli import main

    flags = "--count 1 --task push --frames 9 --size 32 32 --workers 1"
    assert not main(["data", "episodes", "-o", "episodes", *flags.split()])
    return {}


def pointmap() -> dict[str, Any]:
    Path("out").mkdir()
    arm = kin4d.load("kin4d_arm")
    camera = kin4d.Camera.look_at((1.2, -1.2, 0.8), (0, 0, 0.3), width=48, height=32)
    kin4d.render_bodies([arm], [kin4d.sweep_joints(arm)[:2]], camera).save("out/pointmap.npz")
    return {}


def scene() -> dict[str, Any]:
    from kin4d.geometry.primitives import box

    Path("scene.yaml").write_text(blocks("docs/howto/scene.md", "yaml")[0])
    block = box((0.06, 0.06, 0.06))
    block.replace_vertices(block.vertices + np.array([0.0, 0.0, 0.03])).save("block.obj")
    geom = '<geom type="box" size=".1 .1 .1"/>'
    body = f'<body pos="0 0 1"><freejoint/>{geom}</body>'
    Path("kitchen.xml").write_text(f"<mujoco><worldbody>{body}</worldbody></mujoco>")
    return {}


def flag() -> dict[str, Any]:
    from kin4d.benchmarks.dynamics.scenes import demo_sheet
    from kin4d.bodies.modal import ModalBody
    from kin4d.dynamics.forces import Membrane, Spring

    mesh = demo_sheet(width=1.0, height=0.6, columns=8, rows=5)
    pole = np.flatnonzero(mesh.vertices[:, 0] < mesh.vertices[:, 0].min() + 1e-9)
    names = {"mesh": mesh, "pole": pole, "ModalBody": ModalBody, "Wind": kin4d.Wind}
    return names | {"Spring": Spring, "Membrane": Membrane}


def first_image() -> dict[str, Any]:
    import shutil

    demo = ROOT / "src" / "kin4d" / "assets" / "demo"
    for name, new in (("first.png",) * 2, ("joints.npz", "episode.npz"), ("camera.json",) * 2):
        shutil.copy(demo / name, new)
    arm = kin4d.load("kin4d_arm")
    camera = kin4d.Camera.load("camera.json")
    image = np.zeros((camera.height, camera.width, 3), np.uint8)
    xyz = np.full(image.shape, np.nan, np.float32)
    return {
        "arm": arm,
        "q": kin4d.sweep_joints(arm)[:9],
        "camera": camera,
        "image": image,
        "xyz": xyz,
    }


PAGES: dict[str, tuple[Callable[[], dict[str, Any]], tuple[str, ...]]] = {
    "README.md": (nothing, ("falls.glb", "imagined.npz")),
    "docs/creatures.md": (cow, ("cow.glb",)),
    "docs/episodes.md": (recording, ()),
    "docs/howto/articulate.md": (laptop, ("cabinet.urdf", "arm.xml", "laptop.urdf")),
    "docs/howto/export.md": (nothing, ("door.glb",)),
    "docs/howto/inspect.md": (cabinet, ()),
    "docs/howto/objects.md": (nothing, ()),
    "docs/howto/other_viewers.md": (nothing, ("door.rrd",)),
    "docs/howto/policy.md": (nothing, ()),
    "docs/howto/robot.md": (pointmap, ()),
    "docs/howto/scene.md": (scene, ("scene.mp4", "copy.xml")),
    "docs/howto/untrusted.md": (nothing, ()),
    "docs/joints.md": (cabinet, ()),
    "docs/motion.md": (flag, ("door.glb",)),
    "docs/neurok.md": (cabinet, ()),
    "docs/start.md": (nothing, ("arm.glb",)),
    "docs/world.md": (first_image, ("pointmap.npz",)),
}
"""What a page needs, and the files that its blocks make."""
SLOW = {"README.md", "docs/episodes.md", "docs/howto/policy.md", "docs/neurok.md", "docs/world.md"}
NEEDS = {"docs/howto/other_viewers.md": "rerun", "docs/howto/policy.md": "gymnasium"}


def test_no_page_is_forgotten() -> None:
    assert {page for page in TEXTS if blocks(page)} == {*PAGES, *ELSEWHERE}


@pytest.mark.parametrize(
    "page", [pytest.param(p, marks=[pytest.mark.slow] * (p in SLOW)) for p in PAGES]
)
def test_blocks_run(page: str, tmp_path, monkeypatch) -> None:
    if page in NEEDS:
        pytest.importorskip(NEEDS[page])
    monkeypatch.chdir(tmp_path)
    if page == "README.md":  # it is read from the repository
        (tmp_path / "src").symlink_to(ROOT / "src")
    prepare, made = PAGES[page]
    names = prepare()
    for block in blocks(page):
        code = block.replace("    ...  #", "    break  #")  # a stream without an end
        if page == "docs/world.md":
            code = code.replace('"panda", "episode.npz"', '"kin4d_arm", "episode.npz"')
            code = "".join(x for x in code.splitlines(True) if "imagine_episode" not in x)
        exec(compile(code, page, "exec"), names)
    assert [name for name in made if not (tmp_path / name).is_file()] == []
