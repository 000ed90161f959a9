"""Make the screenshots of docs/howto/view.md: python docs/view_pictures.py [NAME ...].

Each is a page of `kin4d view` in headless Chromium, which draws in software. Run it at the root of
the repository; it needs the extra [test] and Chromium.
"""

from __future__ import annotations

import io
import shutil
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import torch
from PIL import Image
from playwright.sync_api import sync_playwright

from kin4d import bake, sweep_joints
from kin4d.loading import load
from kin4d.viewer.body_view import BodyView
from kin4d.viewer.clip_view import ClipView
from kin4d.viewer.open_file import FileOpener
from kin4d.viewer.page import Page
from kin4d.viewer.picking import grab_point

ROOT = Path(__file__).parents[1]
FOLDER = ROOT / "docs" / "images" / "view"
WIDTH, HEIGHT = 1100, 720
PATIENCE = 300.0


def mesh(opener: FileOpener, page: Page, file: Path) -> None:
    """A mesh whose joints were predicted, one of them moved."""
    opener.open(str(file))
    view: Any = page.view
    q = view.body.q0.numpy().copy()
    low, high = view.body.limits.numpy()[0]
    q[0] = low if abs(low) > abs(high) else high
    view.show(0.6 * q)


def posed(opener: FileOpener, page: Page, file: Path) -> None:
    """A part is drawn with the mouse: the pose is fitted."""
    mesh(opener, page, file)
    view: Any = page.view
    start = view.body.vertices(torch.from_numpy(view.q)).numpy()
    moving = np.flatnonzero(view.body.part > 0)
    point = start[moving[np.linalg.norm(start[moving] - start[moving].mean(0), axis=1).argmin()]]
    view.grab(point)
    view.drag(point + np.array([0.1, -0.3, 0.0]))
    view.drop()


def pulled(opener: FileOpener, page: Page, file: Path) -> None:
    """The mechanics ran while the mouse pulled; the plot shows the energy."""
    del file
    view = BodyView(page, load("cabinet"))
    view.mechanics.go()
    face = int(np.flatnonzero(view.body.skin.joints[view.body.rest.faces[:, 0], 0] > 0)[0])
    point = view.body.rest.vertices[view.body.rest.faces[face]].mean(0)
    view.mechanics.grab(0, grab_point(view.body, view.q, point))
    for step in range(60):
        view.mechanics.pull(0, point + np.array([0.0, -0.006 * step, 0.0]))
        view.mechanics.simulation.advance(1 / 30, most=60.0)
    view.show(view.mechanics.simulation.q[0])
    view.mechanics._draw(view.mechanics.simulation)
    view.mechanics.stop()


def clip(opener: FileOpener, page: Page, file: Path) -> None:
    """A clip, with its timeline."""
    del file
    arm = load("kin4d_arm")
    view = ClipView(page, bake(arm, sweep_joints(arm, frames=24)))
    view.timeline.play.value = False
    view.timeline.slider.value = 60
    view.show(60)


def robot(opener: FileOpener, page: Page, file: Path) -> None:
    """A robot: gizmo, camera, and the pointmap that the camera measures."""
    del file
    opener.open("kin4d_arm")
    view: Any = page.view
    view.robot.gizmo.position = np.array(view.robot.gizmo.position) + np.array([0.05, 0.05, -0.1])
    view.robot._reach()
    view.robot.views.image.value = view.robot.views.pointmap.value = True
    view.robot.views._draw()


def scene(opener: FileOpener, page: Page, file: Path) -> None:
    """A gripper opens a cabinet whose hinge was predicted."""
    del file
    opener.open(str(ROOT / "examples" / "scenes" / "open_learned_cabinet.yaml"))
    view: Any = page.view
    view.mechanics.go()
    for _ in range(150):
        view.mechanics.simulation.advance(1 / 30, most=60.0)
    view.show(view.mechanics.simulation.q)
    view.mechanics._draw(view.mechanics.simulation)
    view.mechanics.stop()


def soft(opener: FileOpener, page: Page, file: Path) -> None:
    """A soft toy: its modes as sliders, pinned at the bottom."""
    del file
    opener.open(str(ROOT / "examples" / "scenes" / "toy.obj"))
    view: Any = page.view
    view._reloaded("solid", "bottom")
    view = page.view
    q = view.body.q0.numpy().copy()
    q[:2] = 0.5 * view.body.limits.numpy()[:2, 1]
    view.show(q)


def episode(opener: FileOpener, page: Page, file: Path) -> None:
    """Truth, composite, imagination and where its futures disagree."""
    del file
    opener.open(str(ROOT / "src" / "kin4d" / "assets" / "episodes"))
    view: Any = page.view
    view.open(3)
    view.imagine()
    view.timeline.play.value = False
    view.timeline.slider.value = 18
    view.row.show(18)


def refused(opener: FileOpener, page: Page, file: Path) -> None:
    """A file that is no mesh was dropped: the page says so, and what was open stays."""
    mesh(opener, page, file)
    try:
        opener._receive("poem.glb", b"roses are red")
    except Exception as error:
        page.report(error)


SHOTS: dict[str, Callable[[FileOpener, Page, Path], None]] = {
    shot.__name__: shot
    for shot in (mesh, posed, pulled, clip, robot, scene, soft, episode, refused)
}


def main(names: list[str]) -> None:
    FOLDER.mkdir(parents=True, exist_ok=True)
    file = FOLDER / "cabinet.glb"
    load("cabinet").rest.save(file)
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=shutil.which("chromium"),
            args=["--headless", "--no-sandbox", "--disable-gpu"],
        )
        for name in names or SHOTS:
            page = Page(port=0)
            threading.Thread(target=page.run, daemon=True).start()
            opener = FileOpener(page)
            tab = browser.new_page(viewport={"width": WIDTH, "height": HEIGHT})
            tab.set_default_timeout(1e3 * PATIENCE)
            tab.goto(page.url)
            done = threading.Event()
            shot = SHOTS[name]
            page.loop.post(lambda: (shot(opener, page, file), done.set()))  # noqa: B023
            deadline = time.monotonic() + PATIENCE
            while not done.is_set() and time.monotonic() < deadline:
                tab.wait_for_timeout(200)
            # viser says that the browser draws in software.
            for close in tab.locator(".mantine-Notification-closeButton").all():
                close.click()
            if name in ("pulled", "scene"):
                tab.locator(".uplot").last.scroll_into_view_if_needed()
            tab.wait_for_timeout(6000)
            image = Image.open(io.BytesIO(tab.screenshot())).convert("RGB")
            image.save(FOLDER / f"{name}.jpg", quality=80, optimize=True)
            print(name, page.problems, flush=True)
            tab.close()
            page.close()
        browser.close()
    file.unlink()


if __name__ == "__main__":
    main(sys.argv[1:])
