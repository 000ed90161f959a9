"""Clips in the page: rigid parts are moved, blended ones by bones, others are sent anew."""

from __future__ import annotations

import urllib.request
from dataclasses import replace

import numpy as np
import pytest

from kin4d.bodies import bake, hinge, sweep_joints
from kin4d.bodies.modal import ModalBody
from kin4d.errors import InputError
from kin4d.geometry.primitives import box
from kin4d.viewer.clip_view import ClipView
from kin4d.viewer.page import Page

pytest.importorskip("viser")


@pytest.fixture(scope="module")
def swing():
    return bake(hinge(), sweep_joints(hinge(), frames=5))


@pytest.fixture(scope="module")
def page():
    page = Page(port=0)
    yield page
    page.close()


def handles(page, kind="vertices"):
    """Handles of the scene that have an attribute, by name."""
    every = page.scene._handle_from_node_name
    return {name: handle for name, handle in every.items() if hasattr(handle, kind)}


def test_rigid_parts_are_moved(swing, page):
    view = ClipView(page, swing)
    before = {name: handle.vertices for name, handle in handles(page).items()}
    view.show(1)
    after = handles(page)
    assert all(after[name].vertices is vertices for name, vertices in before.items())
    turned = swing.skin.transforms[1, swing.skin.names.index("door"), :3, :3]
    angle = np.arccos((np.trace(turned) - 1) / 2)
    assert angle > 0.1
    (door,) = [h for name, h in handles(page, "wxyz").items() if name.endswith("/door")]
    np.testing.assert_allclose(2 * np.arccos(door.wxyz[0]), angle, atol=1e-6)


def test_blended_skins_send_bones_alone(page):
    body = ModalBody.solid(box((0.4, 0.1, 0.1)), young=1e5, density=1000)
    q = np.zeros((2, len(body.coordinates)))
    q[1, 0] = 0.5 * float(body.limits[0, 1])
    clip = bake(body, q)
    view = ClipView(page, clip)
    (surface,) = handles(page, "bones").values()
    vertices = surface.vertices
    view.show(1)
    assert surface.vertices is vertices
    positions = np.array([bone.position for bone in surface.bones])
    np.testing.assert_allclose(positions, clip.skin.transforms[1, :, :3, 3], atol=1e-6)
    assert abs(positions).max() > 1e-4


def test_deforming_surfaces_follow(swing, page):
    view = ClipView(page, replace(swing, skin=None))
    view.show(2)
    shown = np.concatenate([handle.vertices for handle in handles(page).values()])
    np.testing.assert_array_equal(np.unique(shown, axis=0), np.unique(swing.vertices[2], axis=0))
    view.show(99)  # beyond the end: the last frame


def test_it_plays_by_the_clock(swing, page, monkeypatch):
    view = ClipView(page, swing)
    now = [100.0]
    monkeypatch.setattr("kin4d.viewer.timeline.time.monotonic", lambda: now[0])
    view.timeline._started()
    now[0] += 2.5 / swing.fps
    assert view.tick() > 0
    assert view.timeline.frame == 2
    view.timeline.play.value = False
    assert view.tick() is None


def test_the_page_is_served_to_this_machine_alone(page):
    with urllib.request.urlopen(f"http://127.0.0.1:{page.port}", timeout=10) as answer:
        assert answer.status == 200
        assert b"<html" in answer.read(200)
    assert page.viser.get_host() == "127.0.0.1"


def test_a_taken_port_is_passed_over(page):
    second = Page(port=page.port)
    try:
        assert second.port != page.port
    finally:
        second.close()


def test_a_still_clip_can_be_shown(swing, page):
    still = replace(swing, vertices=swing.vertices[:1], q=swing.q[:1], skin=None)
    assert ClipView(page, still).tick() is None


@pytest.mark.parametrize("port", [-5, 70_000])
def test_ports_that_do_not_exist(port):
    with pytest.raises(InputError, match=str(port)):
        Page(port=port)
