"""Fewer triangles while something moves, in browsers without a graphics card."""

from __future__ import annotations

import threading
import time
from functools import partial
from importlib.resources import files

import numpy as np
import pytest
import trimesh
from browser import complaints, wait_until

from kin4d.benchmarks.dense_mesh import dense_mesh
from kin4d.bodies.segmented import JointSpec, SegmentedBody
from kin4d.geometry.mesh import Mesh
from kin4d.geometry.primitives import box
from kin4d.viewer.body_view import BodyView
from kin4d.viewer.page import Page

pytest.importorskip("viser")

SCRIPT = files("kin4d").joinpath("assets", "page", "level_of_detail.js").read_text("utf-8")


@pytest.fixture
def coarser(tab):
    """Calls the page's function: a mesh with fewer triangles over the same vertices."""
    tab.goto("about:blank")
    tab.add_script_tag(content=SCRIPT)

    def call(mesh: trimesh.Trimesh, cell: float) -> trimesh.Trimesh:
        arrays = [mesh.vertices.ravel().tolist(), mesh.vertex_normals.ravel().tolist()]
        index = tab.evaluate(
            "([p, n, i, cell]) => [...kin4dCoarserIndex(p, n, i, cell)]",
            [*arrays, mesh.faces.ravel().tolist(), cell],
        )
        return trimesh.Trimesh(mesh.vertices, np.reshape(index, (-1, 3)), process=False)

    return call


def dense_box() -> trimesh.Trimesh:
    return trimesh.creation.box((1.0, 0.6, 0.05)).subdivide().subdivide().subdivide().subdivide()


def test_a_box_stays_a_box(coarser) -> None:
    """Its corners, volume and fronts stay, and its thin sides do not merge."""
    mesh = dense_box()
    fewer = coarser(mesh, 0.3)
    assert len(fewer.faces) < 0.2 * len(mesh.faces)
    np.testing.assert_allclose(fewer.bounds, mesh.bounds)
    assert fewer.volume == pytest.approx(mesh.volume, rel=1e-6)


def test_vertices_that_were_split_do_not_gape(coarser) -> None:
    """Every face with vertices of its own, as files with sharp edges have them."""
    mesh = dense_box()
    split = trimesh.Trimesh(
        mesh.triangles.reshape(-1, 3), np.arange(3 * len(mesh.faces)).reshape(-1, 3), process=False
    )
    fewer = coarser(split, 0.3)
    fewer.merge_vertices()
    assert fewer.volume == pytest.approx(mesh.volume, rel=1e-6)
    # The vertex that stands for another has its normal: flat sides stay flat.
    own = split.vertex_normals[coarser(split, 0.3).faces]
    assert (np.einsum("fi,fi->f", own[:, 0], own[:, 1]) > 0.99).mean() > 0.9


def test_a_ball_stays_round(coarser) -> None:
    mesh = trimesh.creation.icosphere(subdivisions=5)
    fewer = coarser(mesh, 0.15)
    assert len(fewer.faces) < 0.3 * len(mesh.faces)
    assert fewer.volume == pytest.approx(mesh.volume, rel=0.03)
    outwards = np.einsum("fi,fi->f", fewer.face_normals, fewer.triangles_center)
    assert outwards.min() > 0
    assert np.average(outwards, weights=fewer.area_faces) > 0.98


def test_open_borders_and_pieces_stay(coarser) -> None:
    """Two sheets that almost touch: each keeps its outline."""
    grid = np.stack(np.meshgrid(np.linspace(0, 1, 21), np.linspace(0, 1, 21), [0.0]), -1)
    points = grid.reshape(-1, 3)
    a = np.arange(20)[:, None] * 21 + np.arange(20)[None]
    faces = np.stack([a, a + 1, a + 22, a, a + 22, a + 21], -1).reshape(-1, 3)
    sheets = trimesh.util.concatenate(
        [trimesh.Trimesh(points + np.array([0, 0, z]), faces, process=False) for z in (0.0, 0.01)]
    )
    fewer = coarser(sheets, 0.2)
    assert len(fewer.faces) < 0.3 * len(sheets.faces)
    np.testing.assert_allclose(fewer.bounds, sheets.bounds)
    assert fewer.area == pytest.approx(2.0, rel=0.03)
    assert np.unique(fewer.triangles_center[:, 2].round(6)).tolist() == [0.0, 0.01]


@pytest.fixture
def dense_door() -> SegmentedBody:
    """Two boxes of many triangles, one of which turns."""
    lid = box((0.4, 0.4, 0.05))
    lid = lid.replace_vertices(lid.vertices + np.array([0.0, 0.0, 0.3]))
    mesh = dense_mesh(Mesh.concatenate([box((0.5, 0.5, 0.3)), lid]), vertices=10_000)
    spec = JointSpec(
        name="lid",
        parent=0,
        kind="revolute",
        point=np.zeros(3),
        axis=np.array([0.0, 0.0, 1.0]),
        limits=(0.0, 1.0),
        probability=0.9,
    )
    return SegmentedBody(mesh, (mesh.vertices[:, 2] > 0.2).astype(np.int64), [spec], mass=20.0)


def test_what_moves_is_coarser_and_what_is_still_is_whole(tab, dense_door) -> None:
    page, stop, views = Page(port=0), threading.Event(), []
    threading.Thread(target=page.run, daemon=True).start()
    page.loop.post(lambda: views.append(BodyView(page, dense_door)))
    try:
        tab.goto(page.url)
        wait_until(tab, "!!window.__viserMutable?.scene")
        tab.wait_for_timeout(1000)
        if not tab.evaluate("!!(window.detail = __viserMutable.scene.userData.kin4d)"):
            pytest.skip("this browser has a graphics card")
        whole = len(dense_door.rest.faces)
        wait_until(tab, f"detail.drawn === {whole} && !detail.moving")
        tab.evaluate("Kin4dLevelOfDetail.slow = 0")  # as if every frame took too long

        def sweep() -> None:
            while not stop.wait(1 / 30):
                q = np.array([0.5 - 0.5 * np.cos(time.monotonic())])
                page.loop.post(partial(views[0].show, q), key="sweep")

        threading.Thread(target=sweep, daemon=True).start()
        wait_until(tab, f"detail.moving && detail.drawn < 0.7 * {whole}")
        assert "triangles are drawn while something moves" in tab.inner_text("#kin4d-drawing")
        stop.set()
        wait_until(tab, f"!detail.moving && detail.drawn === {whole}")
        assert complaints(tab) == []
    finally:
        stop.set()
        page.close()
