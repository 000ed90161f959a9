"""The page in a real browser: open, slide, drag, push, correct, save. Skipped without Chromium."""

from __future__ import annotations

import os
import threading
import time
import zipfile
from pathlib import Path

import numpy as np
import pytest
import torch
import trimesh
from browser import colours, complaints, keep, pixel
from glb_validator import VALIDATOR, validate_glb

from kin4d.bodies import hinge
from kin4d.bodies.segmented import JointSpec, SegmentedBody
from kin4d.loading import load
from kin4d.viewer.body_view import BodyView
from kin4d.viewer.open_file import FileOpener
from kin4d.viewer.page import Page

pytest.importorskip("viser")

SHOTS = Path(os.environ["KIN4D_SCREENSHOTS"]) if "KIN4D_SCREENSHOTS" in os.environ else None
PATIENCE = 120.0


@pytest.fixture
def page():
    page = Page(port=0)
    threading.Thread(target=page.run, daemon=True).start()
    yield page
    page.close()


@pytest.fixture
def door() -> SegmentedBody:
    """A door in its frame whose joint is wrong: it slides upwards."""
    body = hinge()
    part = (body.skin.joints[:, 0] == body.skin.names.index("door")).astype(np.int64)
    wrong = JointSpec(
        name="door",
        parent=0,
        kind="prismatic",
        point=np.zeros(3),
        axis=np.array([0.0, 0.0, 1.0]),
        limits=(0.0, 0.5),
        probability=0.6,
    )
    return SegmentedBody(body.rest, part, [wrong], mass=20.0)


def until(condition, what: str) -> None:
    deadline = time.monotonic() + PATIENCE
    while not condition():
        assert time.monotonic() < deadline, f"waited for: {what}"
        time.sleep(0.05)


def insist(action, condition, what: str) -> None:
    """Do something until it has its effect: a busy browser may miss a click or a key."""
    deadline = time.monotonic() + PATIENCE
    while not condition():
        assert time.monotonic() < deadline, f"waited for: {what}"
        action()
        soon = time.monotonic() + 5
        while not condition() and time.monotonic() < soon:
            time.sleep(0.05)


def in_page(page: Page, work) -> None:
    """Do something in the page's own thread, and wait for it."""
    done = threading.Event()
    page.loop.post(lambda: (work(), done.set()))
    assert done.wait(PATIENCE)


def opened(page: Page, tab) -> None:
    tab.goto(page.url)
    tab.wait_for_selector("canvas")
    until(lambda: page.viser.get_clients(), "the browser to connect")
    tab.wait_for_timeout(1500)


def part_pixel(page: Page, view: BodyView, part: int) -> tuple[float, float]:
    """Where the browser shows the vertex of a part that is nearest to the part's middle."""
    vertices = view.body.vertices(torch.from_numpy(view.q)).numpy()
    own = vertices[view.body.skin.joints[:, 0] == part]
    (client,) = page.viser.get_clients().values()
    face = own[np.linalg.norm(own - own.mean(0), axis=1).argmin()]
    return pixel(client.camera, 0.5 * (face + own.mean(0)))


def drag(tab, start: tuple[float, float], by: tuple[float, float]) -> None:
    tab.mouse.move(*start)
    tab.mouse.down()
    for step in np.linspace(0.1, 1.0, 10):
        tab.mouse.move(start[0] + step * by[0], start[1] + step * by[1])
        tab.wait_for_timeout(40)


def choose(tab, label: str, option: str) -> None:
    tab.get_by_label(label, exact=True).last.click()
    tab.get_by_role("option", name=option, exact=True).last.click()


def test_a_wrong_joint_is_seen_corrected_and_saved(page, door, tab, tmp_path) -> None:
    in_page(page, lambda: setattr(page, "shown", BodyView(page, door)))
    view: BodyView = page.shown
    opened(page, tab)
    assert colours(tab.screenshot()) > 50
    assert tab.get_by_text("door: prismatic, probability 0.60").count() == 1
    # Slide.

    def slide() -> None:
        thumb = tab.get_by_role("slider").first.bounding_box()
        drag(tab, (thumb["x"] + 0.5 * thumb["width"], thumb["y"] + 0.5 * thumb["height"]), (50, 0))
        tab.mouse.up()

    insist(slide, lambda: view.q[0] > 0.02, "the slider to move the part")
    keep(tab.screenshot(), SHOTS, "wrong_joint.png")
    # Correct.
    choose(tab, "type", "revolute")
    tab.get_by_role("button", name="z", exact=True).click()
    tab.get_by_role("button", name="Apply").click()
    until(lambda: view.body.joint_specs[0].kind == "revolute", "the correction")
    # Drag: the door follows the mouse, as far as it turns.
    tab.wait_for_timeout(1000)

    def pull() -> None:
        drag(tab, part_pixel(page, view, 1), (90.0, -40.0))
        tab.mouse.up()

    insist(pull, lambda: view.q[0] > 0.1, "the door to follow the mouse")
    keep(tab.screenshot(), SHOTS, "posed.png")
    # Save.
    with tab.expect_download(timeout=PATIENCE * 1e3) as download:
        tab.get_by_role("button", name="URDF + MJCF").click()
    download.value.save_as(tmp_path / "door.zip")
    with zipfile.ZipFile(tmp_path / "door.zip") as archive:
        archive.extractall(tmp_path)
    (urdf,) = tmp_path.glob("*.urdf")
    again = load(str(urdf))
    assert [joint.kind for joint in again.joints if joint.kind != "fixed"] == ["revolute"]
    tab.get_by_role("button", name="Undo the last correction").click()
    until(lambda: view.body.joint_specs[0].kind == "prismatic", "the correction to be undone")
    assert complaints(tab) == []


def test_mechanics_run_while_a_mouse_pulls(page, tab, tmp_path) -> None:
    in_page(page, lambda: setattr(page, "shown", BodyView(page, hinge())))
    view: BodyView = page.shown
    opened(page, tab)
    tab.get_by_role("button", name="Start").click()
    until(lambda: view.mechanics.running, "the simulation to start")
    door = view.body.skin.names.index("door")

    def pull() -> None:
        tab.mouse.up()
        drag(tab, part_pixel(page, view, door), (90.0, -40.0))

    insist(pull, lambda: view.q[0] > 0.05, "the door to be pulled open")
    keep(tab.screenshot(), SHOTS, "pulled.png")
    tab.mouse.up()
    tab.get_by_role("button", name="Stop").click()
    until(lambda: not view.mechanics.running, "the simulation to stop")

    def rewind() -> None:
        tab.get_by_role("slider", disabled=False).last.focus()
        tab.keyboard.press("Home")

    insist(rewind, lambda: abs(view.q[0]) < 0.01, "the first frame")
    with tab.expect_download(timeout=PATIENCE * 1e3) as download:
        tab.get_by_role("button", name="GLB").click()
    download.value.save_as(tmp_path / "door.glb")
    if VALIDATOR.is_dir():
        validate_glb(tmp_path / "door.glb")
    saved = trimesh.load(tmp_path / "door.glb", force="scene")
    np.testing.assert_allclose(saved.extents.max(), np.ptp(view.body.rest.bounds, axis=0).max())
    assert complaints(tab) == []


def test_two_browsers_see_the_same_and_may_leave(page, chromium, tab) -> None:
    in_page(page, lambda: setattr(page, "shown", BodyView(page, hinge())))
    view: BodyView = page.shown
    other = chromium.new_page(viewport={"width": 320, "height": 240})
    other.goto(page.url)
    opened(page, tab)
    until(lambda: len(page.viser.get_clients()) == 2, "both browsers")
    in_page(page, view.mechanics.go)
    other.get_by_role("button", name="Stop").wait_for(state="attached")
    tab.goto("about:blank")  # closed in the middle
    until(lambda: len(page.viser.get_clients()) == 1, "one browser to leave")
    before = view.mechanics.simulation.time
    until(lambda: view.mechanics.simulation.time > before, "the simulation to go on")
    other.close()
    assert page.problems == []


def drop(tab, *files: Path) -> None:
    """Drop files on the middle of the page, as a file manager does."""
    import base64

    sent = [[file.name, base64.b64encode(file.read_bytes()).decode()] for file in files]
    tab.evaluate(
        """files => {
          const data = new DataTransfer();
          for (const [name, text] of files)
            data.items.add(new File([Uint8Array.from(atob(text), c => c.charCodeAt(0))], name));
          for (const type of ["dragenter", "dragover", "drop"])
            document.querySelector("canvas").dispatchEvent(
              new DragEvent(type, { dataTransfer: data, bubbles: true, cancelable: true }));
        }""",
        sent,
    )


def test_files_are_dropped_on_the_page(page, tab, tmp_path) -> None:
    in_page(page, lambda: FileOpener(page))
    opened(page, tab)
    hinge().rest.save(tmp_path / "door.glb")
    (tmp_path / "poem.glb").write_text("this is not a mesh")
    tab.locator("input[type=file]").wait_for(state="attached")
    drop(tab, tmp_path / "poem.glb")
    until(lambda: page.problems, "the refusal")
    assert "cannot open" in page.problems[-1]
    tab.get_by_text("cannot open poem").first.wait_for()
    drop(tab, tmp_path / "poem.glb", tmp_path / "door.glb")
    assert tab.locator("#kin4d-drop").inner_text().startswith("Drop one file at a time")
    assert len(page.problems) == 1
    drop(tab, tmp_path / "door.glb")
    until(lambda: isinstance(page.view, BodyView), "the mesh to be open")
    assert len(page.view.body.rest.vertices) == len(hinge().rest.vertices)
    assert not tab.locator("#kin4d-drop").is_visible()
    assert complaints(tab) == []


def test_without_a_graphics_card_nothing_is_antialiased(page, tab) -> None:
    in_page(page, lambda: setattr(page, "shown", BodyView(page, hinge())))
    opened(page, tab)
    software = tab.evaluate(
        """(() => {
          const gl = document.createElement("canvas").getContext("webgl2");
          const info = gl.getExtension("WEBGL_debug_renderer_info");
          const name = gl.getParameter(info.UNMASKED_RENDERER_WEBGL);
          return [/swiftshader|llvmpipe/i.test(name), gl.getContextAttributes().antialias];
        })()"""
    )
    if not software[0]:
        pytest.skip("this browser has a graphics card")
    assert software[1] is False


def test_an_episode_is_imagined_beside_what_happened(page, tab) -> None:
    from kin4d.episodes.store import shipped_episodes
    from kin4d.viewer.episode_view import EpisodeView

    in_page(page, lambda: FileOpener(page).open(str(shipped_episodes().path)))
    opened(page, tab)
    tab.get_by_role("button", name="Imagine", exact=True).click()
    until(
        lambda: isinstance(page.view, EpisodeView) and len(page.view.samples) == 5,
        "the futures",
    )
    tab.get_by_text("5 futures").wait_for()
    for name in ("truth", "composite", "imagination", "disagreement"):
        assert tab.get_by_text(name, exact=True).count() >= 1
    frame = page.view.timeline.frame
    until(lambda: page.view.timeline.frame != frame, "the episode to play")
    keep(tab.screenshot(), SHOTS, "episode.png")
    assert colours(tab.screenshot()) > 100
    assert complaints(tab) == []


def test_files_are_sent_by_the_button(page, tab, tmp_path) -> None:
    in_page(page, lambda: FileOpener(page))
    opened(page, tab)
    hinge().rest.save(tmp_path / "door.glb")
    (tmp_path / "poem.glb").write_text("this is not a mesh")
    upload = tab.locator("input[type=file]")
    upload.set_input_files(tmp_path / "poem.glb")
    tab.get_by_text("poem").first.wait_for()
    until(lambda: page.problems, "the refusal")
    assert "cannot open" in page.problems[-1]
    assert str(tmp_path) not in page.problems[-1]
    tab.locator("input[type=file]").set_input_files(tmp_path / "door.glb")
    until(lambda: isinstance(page.view, BodyView), "the mesh to be open")
    assert len(page.view.body.rest.vertices) == len(hinge().rest.vertices)
    assert complaints(tab) == []
