"""Inspection and repair: every defect is counted, and repaired without touching the rest."""

from __future__ import annotations

import json
import time

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kin4d.errors import InputError
from kin4d.geometry.mesh import Mesh, RawMesh
from kin4d.geometry.mesh_ops import fields_of
from kin4d.geometry.mesh_report import inspect_mesh, repair_mesh
from kin4d.geometry.primitives import box, sphere


def raw(vertices, faces, **more) -> RawMesh:
    return RawMesh(
        vertices=np.array(vertices, float), faces=np.array(faces, int).reshape(-1, 3), **more
    )


def changed(mesh: Mesh, **changes) -> RawMesh:
    return RawMesh(**{**fields_of(mesh), **changes})


CUBE = box((1, 1, 1))


def with_face(*face: int) -> RawMesh:
    return changed(CUBE, faces=np.r_[CUBE.faces, [face]])


def with_vertex(*place: float) -> RawMesh:
    return changed(CUBE, vertices=np.r_[CUBE.vertices, [place]], source_index=None)


A, B, C = CUBE.faces[0].tolist()


def test_a_good_mesh():
    found = inspect_mesh(CUBE)
    assert (found.verdict, found.reasons) == ("good", ())
    assert (found.vertices, found.faces, found.components) == (8, 12, 1)
    assert found.watertight
    assert found.winding_consistent
    assert found.size == (1, 1, 1)
    assert json.loads(json.dumps(found.to_dict()))["verdict"] == "good"
    assert "watertight, winding consistent" in str(found)
    assert repair_mesh(CUBE)[1] == []


def test_a_soup_and_a_flipped_copy_of_a_seam_are_judged_by_place():
    soup = raw(CUBE.vertices[CUBE.faces].reshape(-1, 3), np.arange(36))
    assert inspect_mesh(soup).verdict == "good"
    assert inspect_mesh(soup).components == 1


@pytest.mark.parametrize(
    ("mesh", "field", "count", "verdict"),
    [
        (raw(np.empty((0, 3)), []), "faces", 0, "broken"),
        (raw(np.eye(3), []), "unreferenced_vertices", 3, "broken"),
        (raw(np.eye(3), [[0, 1, 2]]), "open_edges", 3, "usable"),
        (raw(np.zeros((3, 3)), [[0, 1, 2]]), "degenerate_faces", 1, "broken"),
        (raw([[0, 0, 0], [1, 1, 1], [3, 3, 3]], [[0, 1, 2]]), "degenerate_faces", 1, "broken"),
        (changed(CUBE, faces=CUBE.faces[1:]), "open_edges", 3, "usable"),
        (with_face(B, C, A), "duplicate_faces", 1, "usable"),
        (with_face(C, B, A), "duplicate_faces", 0, "usable"),
        (with_face(0, 1, 8), "faces_out_of_range", 1, "broken"),
        (with_face(0, 1, -1), "faces_out_of_range", 1, "broken"),
        (with_face(0, 1, 1), "degenerate_faces", 1, "usable"),
        (with_vertex(np.nan, 0, 0), "nonfinite_vertices", 1, "broken"),
        (with_vertex(9, 9, 9), "unreferenced_vertices", 1, "usable"),
        (changed(CUBE, faces=CUBE.faces[:, ::-1]), "inside_out", True, "usable"),
    ],
)
def test_each_defect_is_counted(mesh, field, count, verdict):
    found = inspect_mesh(mesh)
    assert getattr(found, field) == count
    assert found.verdict == verdict
    assert found.reasons
    json.dumps(found.to_dict(), allow_nan=False)
    assert verdict in str(found)


@pytest.mark.parametrize("scale", [1e-300, 1e-9, 1e9, 1e150])
def test_scale_changes_the_size_alone(scale):
    found = inspect_mesh(CUBE.replace_vertices(CUBE.vertices * scale))
    assert found.watertight
    assert not found.inside_out
    assert found.degenerate_faces == 0
    assert found.verdict == "usable"
    assert "taken as metres" in found.reasons[0]


def test_far_from_the_origin_single_precision_is_questioned():
    assert inspect_mesh(CUBE.replace_vertices(CUBE.vertices + 100)).verdict == "good"
    found = inspect_mesh(CUBE.replace_vertices(CUBE.vertices + 1e6))
    assert found.verdict == "usable"
    assert "single precision" in found.reasons[0]


@pytest.mark.parametrize(
    ("side", "unit"),
    [(0.3, "metres"), (80, "centimetres"), (900, "millimetres"), (1e-7, "unknown")],
)
def test_units_are_guessed_and_said_to_be(side, unit):
    assert unit in inspect_mesh(box((side, side, side))).units_guess


def test_repair_drops_the_bad_and_keeps_the_look():
    count = len(CUBE.vertices)
    uv = np.random.default_rng(0).random((count + 1, 2))
    broken = changed(
        CUBE,
        vertices=np.r_[[[np.inf, 0, 0]], CUBE.vertices],
        faces=np.r_[[[0, 1, 2]], CUBE.faces + 1, CUBE.faces[:1] + 1, [[1, 1, 2]], [[1, 2, 99]]],
        face_material=np.arange(16) % 3,
        face_group=np.arange(16) % 2,
        groups=("a", "b"),
        materials=CUBE.materials * 3,
        uv=uv,
        source_index=None,
    )
    mesh, done = repair_mesh(broken)
    np.testing.assert_array_equal(mesh.vertices, CUBE.vertices)
    np.testing.assert_array_equal(mesh.faces, CUBE.faces)
    np.testing.assert_array_equal(mesh.uv, uv[1:].astype(np.float32))
    np.testing.assert_array_equal(mesh.face_material, np.arange(1, 13) % 3)
    np.testing.assert_array_equal(mesh.face_group, np.arange(1, 13) % 2)
    np.testing.assert_array_equal(mesh.source_index, np.arange(1, 9))
    assert len(done) == 5
    assert inspect_mesh(mesh).verdict == "good"


def test_repair_leaves_stray_vertices_and_order_alone():
    mesh, done = repair_mesh(with_vertex(9, 9, 9))
    assert len(mesh.vertices) == 9
    assert done == []


@settings(deadline=None, max_examples=40)
@given(seed=st.integers(0, 10**6), share=st.floats(0, 1))
def test_repair_turns_faces_outward(seed, share):
    ball = sphere(1.0, subdivisions=1)
    rng = np.random.default_rng(seed)
    turned = rng.random(len(ball.faces)) < share
    faces = np.where(turned[:, None], ball.faces[:, ::-1], ball.faces)
    mesh, done = repair_mesh(changed(ball, faces=faces))
    assert inspect_mesh(mesh).verdict == "good"
    assert bool(done) == bool(turned.any())


def test_repair_keeps_a_hollow_hollow():
    inner = box((0.5, 0.5, 0.5))
    hollow = Mesh.concatenate([CUBE, inner.transformed(np.eye(4))])
    faces = hollow.faces.copy()
    faces[12:] = faces[12:, ::-1]
    assert repair_mesh(changed(hollow, faces=faces))[1] == []


def test_repair_leaves_a_moebius_strip_alone():
    n = 12
    angle = np.arange(n) * 2 * np.pi / n
    ring = np.stack([np.cos(angle), np.sin(angle), 0 * angle], 1)
    across = 0.2 * (np.cos(angle / 2)[:, None] * ring + np.sin(angle / 2)[:, None] * [0, 0, 1])
    vertices = np.r_[ring + across, ring - across]
    i = np.arange(n)
    j, a, b = (i + 1) % n, i, i + n
    c, d = np.where(i == n - 1, n, j), np.where(i == n - 1, 0, j + n)
    strip = raw(vertices, np.r_[np.stack([a, b, c], 1), np.stack([b, d, c], 1)])
    assert not inspect_mesh(strip).winding_consistent
    mesh, done = repair_mesh(strip)
    assert done == []
    np.testing.assert_array_equal(mesh.faces, strip.faces)


def test_nothing_left_is_an_error():
    with pytest.raises(InputError, match="empty"):
        repair_mesh(raw(np.full((3, 3), np.nan), [[0, 1, 2]]))
    with pytest.raises(InputError, match="empty"):
        repair_mesh(raw(np.zeros((3, 3)), [[0, 1, 2]]))


def two_million_faces() -> RawMesh:
    """A sheet of 1000 x 1000 squares, every seventh triangle turned over."""
    n = 1000
    x, y = np.meshgrid(np.linspace(0, 1, n + 1), np.linspace(0, 1, n + 1), indexing="ij")
    index = np.arange((n + 1) ** 2).reshape(n + 1, n + 1)
    a, b, c, d = (index[i : n + i, j : n + j].ravel() for i, j in ((0, 0), (1, 0), (1, 1), (0, 1)))
    faces = np.r_[np.stack([a, b, c], 1), np.stack([a, c, d], 1)]
    faces[::7] = faces[::7, ::-1]
    return raw(np.stack([x, y, 0.1 * np.sin(9 * x)], -1).reshape(-1, 3), faces)


def test_two_million_faces_are_inspected_in_seconds():
    sheet = two_million_faces()
    start = time.process_time()
    found = inspect_mesh(sheet)
    assert time.process_time() - start < 30  # a guard against the quadratic, not a benchmark
    assert (found.faces, found.open_edges) == (2_000_000, 4000)
    assert not found.winding_consistent


@pytest.mark.slow
def test_two_million_faces_are_repaired_in_seconds():
    start = time.process_time()
    mesh, done = repair_mesh(two_million_faces())
    assert time.process_time() - start < 60
    assert len(mesh.faces) == 2_000_000
    assert done == ["turned over 285715 faces to face outward with their neighbours"]
