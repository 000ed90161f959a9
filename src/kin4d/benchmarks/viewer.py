"""The viewer: from the command to an interactive page, and how often a browser draws it."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from kin4d.benchmarks.dense_mesh import dense_mesh
from kin4d.benchmarks.process_time import browser_seconds, process_seconds
from kin4d.benchmarks.report import Check, Report
from kin4d.errors import InputError
from kin4d.extras import require
from kin4d.geometry.sampling import SurfaceSamples
from kin4d.loading import load
from kin4d.viewer.body_view import BodyView
from kin4d.viewer.page import Page

LOOKS = (
    "every triangle",
    "every triangle, with shadows",
    "viser's material, light, shadows, antialiasing",
)
OBJECT = "cabinet"
VERTICES = 50_000
VIEWPORT = (1000, 700)
FLAGS = ("--headless", "--no-sandbox", "--disable-gpu", "--no-first-run")
_PATIENCE = 300.0

# Counts the frames in which anything was drawn, and the triangles of the last of them.
_COUNTER = """
window.drawn = {frames: 0, triangles: 0};
{
  let now = 0;
  const draw = WebGL2RenderingContext.prototype.drawElements;
  WebGL2RenderingContext.prototype.drawElements = function (mode, count, ...rest) {
    now += count / 3;
    return draw.call(this, mode, count, ...rest);
  };
  const tick = () => {
    if (now) { drawn.frames++; drawn.triangles = now; now = 0; }
    requestAnimationFrame(tick);
  };
  requestAnimationFrame(tick);
}
"""
# Draws every triangle while something moves.
_IN_FULL = """
Kin4dLevelOfDetail.slow = Infinity;
__viserMutable.scene.userData.kin4d.level = 0;
"""
# Hides that the browser draws in software: the page then draws as with a graphics card.
_DISGUISE = """
{
  const get = WebGL2RenderingContext.prototype.getExtension;
  WebGL2RenderingContext.prototype.getExtension = function (name) {
    return name === "WEBGL_debug_renderer_info" ? null : get.call(this, name);
  };
}
"""
_CANVAS = """(() => {
  const all = [...document.querySelectorAll("canvas")];
  const main = all.reduce((a, b) => a.width * a.height > b.width * b.height ? a : b);
  return `${main.width} x ${main.height}`;
})()"""
_RENDERER = """(() => {
  const gl = document.createElement("canvas").getContext("webgl2");
  const info = gl.getExtension("WEBGL_debug_renderer_info");
  return info ? gl.getParameter(info.UNMASKED_RENDERER_WEBGL) : "unknown";
})()"""


def run(*, quick: bool, seed: int) -> Report:
    """Serve dense meshes to headless Chromium; the seed chooses the objects' shapes."""
    report = Report()
    seconds = 3.0 if quick else 8.0
    with tempfile.TemporaryDirectory() as folder, _chromium() as browser:
        mesh = dense_mesh(load(OBJECT, seed=seed).rest, vertices=VERTICES)
        file = mesh.save(Path(folder) / f"{OBJECT}.glb")
        size = {"vertices": len(mesh.vertices), "triangles": len(mesh.faces)}
        start = {**size, **_start(browser, file)}
        rates, renderer = _rates(browser, file, seconds)
        report.rows = [start, *rates, *(_cost(browser, file, look, seconds) for look in LOOKS)]
    report.checks = [Check("command to interactive page (s)", start["wall s"], 5.0)]
    for row, bar in zip(rates, (30.0, 20.0), strict=True):
        what, free = row["what"], row["frames/s of two free cores"]
        name = f"frames a second while a {what}"
        report.checks.append(Check(name, row["frames/s"], bar, at_least=True))
        name = f"frames a second that two free cores would pay for while a {what}"
        report.checks.append(Check(name, free, bar, at_least=True))
    load_average = os.getloadavg()[0]
    report.notes = [
        f"Headless Chromium draws in software ({renderer}), viewport {VIEWPORT[0]} x {VIEWPORT[1]}"
        " pixels; viser shrinks the canvas when frames are slow. Every triangle of the mesh is "
        "sent, and drawn when nothing moves. While something moves, a browser without a graphics "
        "card draws the triangles named as drawn, a clustering of all; of closed surfaces it drops "
        "the backs, and it draws no gloss.",
        f"{os.cpu_count()} cores, load average {load_average:.1f} at the end of the measurement: "
        "above 1 the machine was shared, and wall times and frames a second are those of what was "
        "left.",
        "frames/s of two free cores: what the server leaves of two cores, divided by the processor "
        "time that all processes of the browser take for a frame. It is an upper bound of what a "
        "machine without other work would show.",
    ]
    return report


@contextmanager
def _chromium() -> Iterator[Any]:
    api = require("playwright.sync_api", extra="test", purpose="measuring in a browser")
    path = shutil.which("chromium") or shutil.which("chromium-browser")
    if path is None:
        raise InputError("there is no Chromium to measure in", hint="apt-get install chromium")
    with api.sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=path, args=FLAGS)
        yield browser
        browser.close()


def _start(browser: Any, file: Path) -> dict[str, Any]:
    """`kin4d view FILE` in a process of its own, until its joints can be moved in a page."""
    tab = _tab(browser)
    begun = time.monotonic()
    command = f"from kin4d.cli import main; main(['view', {str(file)!r}, '--port', '0'])"
    server = subprocess.Popen([sys.executable, "-c", command], stdout=subprocess.PIPE, text=True)
    try:
        assert server.stdout is not None
        url = next(line.split()[1] for line in server.stdout if line.startswith("open "))
        printed = time.monotonic() - begun
        tab.goto(url)
        tab.get_by_role("slider", disabled=False).first.wait_for()
        tab.get_by_text("Mechanics").first.wait_for()
        done = time.monotonic() - begun
        spent = process_seconds(server.pid)
    finally:
        server.terminate()
        server.wait(30)
        tab.close()
    return {"wall s": done, "address printed after s": printed, "server's processor s": spent}


def _rates(browser: Any, file: Path, seconds: float) -> tuple[list[dict[str, Any]], str]:
    """Rows for a joint that moves and a simulation that runs, and what draws."""
    stop = threading.Event()
    with _shown(browser, file) as (page, view, tab):
        sweep = threading.Thread(target=_move, args=(page, view, stop), daemon=True)
        sweep.start()
        rows = [_rate(tab, "joint moves", seconds)]
        stop.set()
        sweep.join()
        stop.clear()
        assert view.mechanics is not None
        _in_page(page, view.mechanics.go)
        puller = threading.Thread(target=_pull, args=(page, view, stop), daemon=True)
        puller.start()
        rows.append(_rate(tab, "simulation runs", seconds))
        stop.set()
        puller.join()
        return rows, tab.evaluate(_RENDERER)


def _cost(browser: Any, file: Path, look: str, seconds: float) -> dict[str, Any]:
    """What a frame costs the browser while a joint moves, drawn in one of `LOOKS`."""
    stop = threading.Event()
    with _shown(browser, file, *([_DISGUISE] if "antialiasing" in look else [])) as shown:
        page, view, tab = shown
        if "viser" in look:
            page.scene.configure_environment_map("city")
        page.scene.configure_default_lights(enabled="shadows" in look, cast_shadow=True)
        if "every" in look:
            tab.evaluate(_IN_FULL)
        sweep = threading.Thread(target=_move, args=(page, view, stop), daemon=True)
        sweep.start()
        row = _rate(tab, look, seconds, skip=10)
        stop.set()
        sweep.join()
    key = "browser's processor ms a frame"
    drawn = row["triangles drawn"]
    return {"drawn": look, key: row[key], "triangles drawn": drawn, "canvas": row["canvas"]}


@contextmanager
def _shown(browser: Any, file: Path, *scripts: str) -> Iterator[tuple[Page, BodyView, Any]]:
    """A page that shows a file in a new tab: page, view and tab."""
    page = Page(port=0)
    threading.Thread(target=page.run, daemon=True).start()
    tab = _tab(browser, *scripts)
    try:
        view: BodyView = _in_page(page, lambda: BodyView(page, load(str(file))))
        tab.goto(page.url)
        _until(page.viser.get_clients, "the browser to connect")
        _until(lambda: tab.evaluate("drawn.frames") > 0, "the first frame")
        yield page, view, tab
        if tab.errors:
            raise InputError(f"the browser complains: {tab.errors[0][:300]}")
    finally:
        page.close()
        tab.close()


def _rate(tab: Any, what: str, seconds: float, *, skip: int = 60) -> dict[str, Any]:
    """Frames that were drawn, and the processor time of the browser and of this process. In the
    first ones, which are skipped, shaders are compiled and the level of detail is chosen."""
    warm = tab.evaluate("drawn.frames") + skip
    _until(lambda: tab.evaluate("drawn.frames") >= warm, "the first frames")
    before, browser, own = tab.evaluate("drawn.frames"), browser_seconds(), time.process_time()
    begun = time.monotonic()
    tab.wait_for_timeout(1000 * seconds)
    passed = time.monotonic() - begun
    frames = max(tab.evaluate("drawn.frames") - before, 1)
    browser, own = browser_seconds() - browser, time.process_time() - own
    return {
        "what": what,
        "canvas": tab.evaluate(_CANVAS),
        "triangles drawn": round(tab.evaluate("drawn.triangles")),
        "frames/s": frames / passed,
        "browser's processor ms a frame": 1e3 * browser / frames,
        "server's share of a core": own / passed,
        "frames/s of two free cores": (2 - own / passed) * frames / browser,
    }


def _move(page: Page, view: BodyView, stop: threading.Event) -> None:
    """Sweep the first joint, 60 poses a second, as a hand at its slider does."""
    low, high = view.body.limits.numpy()[0]
    begun = time.monotonic()
    while not stop.wait(1 / 60):
        q = view.body.q0.numpy().copy()
        q[0] = low + (high - low) * (0.5 - 0.5 * np.cos(2 * (time.monotonic() - begun)))
        page.loop.post(lambda q=q: view.show(q), key="sweep")


def _pull(page: Page, view: BodyView, stop: threading.Event) -> None:
    """Pull the part of the first joint to and fro, so that the simulation has something to do."""
    mesh, skin = view.body.rest, view.body.skin
    assert skin is not None
    moving = np.flatnonzero((skin.joints[mesh.faces[:, 0], 0]) > 0)
    face = int(moving[len(moving) // 2])
    corners = mesh.faces[[face]]
    grabbed = SurfaceSamples(
        face=np.array([face]), corners=corners, barycentric=np.full((1, 3), 1 / 3)
    )
    point, reach = mesh.vertices[corners[0]].mean(0), 0.4 * mesh.bbox_diagonal
    assert view.mechanics is not None
    panel, begun = view.mechanics, time.monotonic()
    page.loop.post(lambda: panel.grab(0, grabbed))
    while not stop.wait(1 / 20):
        angle = 2 * (time.monotonic() - begun)
        target = point + reach * np.array([np.cos(angle), np.sin(angle), 0.3 * np.sin(angle)])
        page.loop.post(lambda target=target: panel.pull(0, target), key="pull")


def _tab(browser: Any, *scripts: str) -> Any:
    tab = browser.new_page(viewport={"width": VIEWPORT[0], "height": VIEWPORT[1]})
    tab.set_default_timeout(1e3 * _PATIENCE)
    tab.errors = []  # a shader that is not compiled draws nothing, and that fast
    tab.on(
        "console",
        lambda message: tab.errors.append(message.text) if message.type == "error" else None,
    )
    for script in (_COUNTER, *scripts):
        tab.add_init_script(script)
    return tab


def _in_page(page: Page, work: Any) -> Any:
    """The result of something that is done in the page's own thread."""
    done, results = threading.Event(), []

    def task() -> None:
        results.append(work())
        done.set()

    page.loop.post(task)
    _until(lambda: done.is_set() or page.problems, "the page to be ready")
    if page.problems:
        raise InputError(f"the page reports: {page.problems[-1]}")
    return results[0]


def _until(condition: Any, what: str) -> None:
    deadline = time.monotonic() + _PATIENCE
    while not condition():
        if time.monotonic() > deadline:
            raise InputError(f"waited {_PATIENCE:g} s in vain for {what}")
        time.sleep(0.02)
