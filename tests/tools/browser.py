"""A real browser for tests: headless Chromium, driven by Playwright."""

from __future__ import annotations

import shutil
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

FLAGS = (
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
)
SIZE = (900, 640)
# viser's own camera controls ask for this of every wheel event that starts in a slider.
KNOWN = ("Unable to preventDefault inside passive event listener",)


@pytest.fixture(scope="session")
def chromium() -> Iterator:
    """A running Chromium; tests are skipped where there is none."""
    api = pytest.importorskip(
        "playwright.sync_api", reason="needs playwright: pip install playwright"
    )
    path = shutil.which("chromium") or shutil.which("chromium-browser")
    if path is None:
        pytest.skip("needs Chromium: apt-get install chromium")
    with api.sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=path, args=FLAGS)
        yield browser
        browser.close()


@pytest.fixture
def tab(chromium) -> Iterator:
    """An empty tab whose `errors` are what its console complained about, and `requests` what it
    loaded."""
    page = chromium.new_page(viewport={"width": SIZE[0], "height": SIZE[1]})
    page.set_default_timeout(120_000)  # drawing in software on a busy machine is slow
    page.errors, page.requests = [], []
    page.on(
        "console",
        lambda message: page.errors.append(message.text) if message.type == "error" else None,
    )
    page.on("pageerror", lambda error: page.errors.append(str(error)))
    page.on("request", lambda request: page.requests.append(request.url))
    yield page
    page.close()


def complaints(tab) -> list[str]:
    """Errors of the console that are not known to come from viser itself."""
    return [text for text in tab.errors if not text.startswith(KNOWN)]


def wait_until(tab, expression: str, *, seconds: float = 120.0) -> None:
    """Wait until a script's expression is true; unlike Playwright's own it needs no eval."""
    deadline = time.monotonic() + seconds
    while not tab.evaluate(expression):
        assert time.monotonic() < deadline, f"waited for: {expression}"
        tab.wait_for_timeout(50)


def pixel(camera, point: np.ndarray) -> tuple[float, float]:
    """Where viser's camera of a client shows a point [3] (m)."""
    import viser.transforms as tf

    x, y, z = tf.SO3(camera.wxyz).as_matrix().T @ (np.asarray(point) - camera.position)
    focal = 0.5 * SIZE[1] / np.tan(0.5 * camera.fov)
    return 0.5 * SIZE[0] + focal * x / z, 0.5 * SIZE[1] + focal * y / z


def colours(png: bytes) -> int:
    """How many different colours a screenshot has: a page that draws nothing has few."""
    import io

    from PIL import Image

    return len(
        np.unique(np.asarray(Image.open(io.BytesIO(png)).convert("RGB")).reshape(-1, 3), axis=0)
    )


def keep(png: bytes, folder: Path | None, name: str) -> None:
    """Write a screenshot, if somebody wants to see it."""
    if folder is not None:
        folder.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(png)
