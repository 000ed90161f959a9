"""Mesh: one that exists is valid, whatever its scale."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kin4d.errors import InputError
from kin4d.geometry.material import SurfaceMaterial, hex_color, linear_to_srgb, srgb_to_linear
from kin4d.geometry.mesh import Mesh, face_normals, vertex_normals
from kin4d.geometry.mesh_ops import connected_components, merge_vertices
from kin4d.geometry.primitives import box, capsule, cylinder, sphere

TRIANGLE = np.array([[0.0, 0, 0], [1, 0, 0], [0, 1, 0]])


class TestBadInput:
    @pytest.mark.parametrize(
        ("vertices", "faces", "message"),
        [
            (np.empty((0, 3)), np.empty((0, 3), int), "is empty"),
            (TRIANGLE, np.empty((0, 3), int), "is empty"),
            (TRIANGLE[:, :2], [[0, 1, 2]], "vertices has the wrong shape"),
            (TRIANGLE, [[0, 1, 2, 0]], "faces has the wrong shape"),
            (TRIANGLE * [1, 0, 0], [[0, 1, 2]], "has no area"),
            (np.zeros((3, 3)), [[0, 1, 2]], "has no area"),
            (TRIANGLE, [[0, 1, 1]], "has no area"),
            (np.where(TRIANGLE == 1, np.nan, 0), [[0, 1, 2]], "2 vertices with NaN .* vertex 1"),
            (np.where(TRIANGLE == 1, -np.inf, 0), [[0, 1, 2]], "NaN or infinite"),
            (TRIANGLE, [[0, 1, 2], [0, 1, 3]], r"1 faces that name .*got 3.*0 to 2"),
            (TRIANGLE, [[0, 1, 2], [0, -1, 2]], r"got -1"),
            (TRIANGLE, [[0.5, 1, 2]], "faces must be whole numbers"),
            (TRIANGLE, [[np.nan, 1, 2]], "faces must be whole numbers"),
        ],
    )
    def test_says_what_is_wrong(self, vertices, faces, message):
        with pytest.raises(InputError, match=message):
            Mesh(vertices=vertices, faces=faces)

    @pytest.mark.parametrize(
        ("field", "value", "message"),
        [
            ("uv", np.zeros((2, 2)), "uv has the wrong shape"),
            ("colors", np.full((3, 4), 0.5), "colors must be whole numbers"),
            ("colors", np.full((3, 4), 300), "0 to 255"),
            ("face_material", [1], "face_material holds an index out of range"),
            ("face_group", [-1], "face_group holds an index out of range"),
            ("source_index", [0], "source_index has the wrong shape"),
        ],
    )
    def test_attributes(self, field, value, message):
        with pytest.raises(InputError, match=message):
            Mesh(vertices=TRIANGLE, faces=[[0, 1, 2]], **{field: value})

    def test_replacement_vertices(self):
        with pytest.raises(InputError, match="another shape"):
            box((1, 1, 1)).replace_vertices(np.zeros((7, 3)))


@pytest.mark.parametrize("scale", [1e-300, 1e-9, 1.0, 1e9, 1e150])
def test_any_scale_is_fine(scale):
    mesh = Mesh(vertices=TRIANGLE * scale, faces=[[0, 1, 2]])
    assert mesh.bbox_diagonal == pytest.approx(scale * 2**0.5)


def test_a_small_triangle_with_a_far_stray_vertex_has_area():
    Mesh(vertices=[*TRIANGLE, [1e9, 0, 0]], faces=[[0, 1, 2]])


def test_arrays_are_private_and_read_only():
    vertices = TRIANGLE.copy()
    mesh = Mesh(vertices=vertices, faces=[[0, 1, 2]])
    vertices[:] = 0
    assert mesh.vertices.max() == 1
    with pytest.raises(ValueError, match="read-only"):
        mesh.vertices[0] = 1


def test_derived_quantities():
    cube = box((1, 2, 3))
    assert cube.face_areas.sum() == pytest.approx(22)
    assert cube.bounds.tolist() == [[-0.5, -1, -1.5], [0.5, 1, 1.5]]
    np.testing.assert_allclose(
        vertex_normals(sphere(2).vertices, sphere(2).faces), sphere(2).vertices / 2, atol=0.02
    )
    batch = np.stack([cube.vertices, 2 * cube.vertices])
    np.testing.assert_allclose(
        face_normals(batch, cube.faces)[1], 4 * face_normals(cube.vertices, cube.faces)
    )
    assert vertex_normals(batch, cube.faces).shape == batch.shape


@pytest.mark.parametrize("scale", [(1, 1, 1), (2, 1, 1), (-1, 1, 1), (-2, -1, 3), (-1, -1, -1)])
def test_transformed_keeps_faces_and_normals_outward(scale):
    ball = sphere(1.0)
    ball = Mesh(vertices=ball.vertices, faces=ball.faces, normals=ball.vertices)
    matrix = np.diag([*scale, 1.0])
    matrix[:3, 3] = [1, 2, 3]
    moved = ball.transformed(matrix)
    facing = face_normals(moved.vertices, moved.faces)
    centres = moved.vertices[moved.faces].mean(1) - [1, 2, 3]
    assert (np.einsum("fi,fi->f", facing, centres) > 0).all()
    np.testing.assert_allclose(moved.normals, vertex_normals(moved.vertices, moved.faces), atol=0.1)


def test_flattening_transform_is_no_crash():
    moved = Mesh(vertices=TRIANGLE, faces=[[0, 1, 2]], normals=TRIANGLE + 1).transformed(
        np.diag([1, 1, 0, 1])
    )
    np.testing.assert_allclose(np.abs(moved.normals), [[0, 0, 1]] * 3)


def test_concatenate_fills_and_shares():
    look = SurfaceMaterial(name="shared")
    one = Mesh(vertices=TRIANGLE, faces=[[0, 1, 2]], uv=np.ones((3, 2)), materials=(look,))
    two = Mesh(
        vertices=TRIANGLE + 5,
        faces=[[2, 1, 0]],
        colors=np.zeros((3, 4)),
        materials=(SurfaceMaterial(name="own"), look),
        face_material=[1],
        groups=("p", "q"),
        face_group=[1],
    )
    both = Mesh.concatenate([one, two], name="both")
    assert both.faces.tolist() == [[0, 1, 2], [5, 4, 3]]
    assert [m.name for m in both.materials] == ["shared", "own"]
    assert both.face_material.tolist() == [0, 0]
    assert both.groups == ("mesh", "p", "q")
    assert both.face_group.tolist() == [0, 2]
    assert both.uv[3:].max() == 0
    assert both.colors[:3].min() == 255
    assert both.source_index.tolist() == list(range(6))
    with pytest.raises(InputError, match="no mesh"):
        Mesh.concatenate([])


@settings(deadline=None, max_examples=50)
@given(seed=st.integers(0, 10**6))
def test_weld_and_components(seed):
    rng = np.random.default_rng(seed)
    grid = rng.integers(-1, 2, (30, 3)).astype(float) * rng.choice([1.0, -1.0], (30, 3))
    first, index = merge_vertices(grid)
    np.testing.assert_array_equal(grid, grid[first][index])
    assert (np.diff(first) > 0).all()
    assert len(first) == len(np.unique(grid + 0.0, axis=0))
    faces = rng.integers(0, 30, (5, 3))
    labels = connected_components(grid, faces)
    assert (labels[faces] == labels[faces][:, :1]).all()
    new = np.flatnonzero(np.diff(np.maximum.accumulate(labels), prepend=-1))
    assert labels[new].tolist() == list(range(labels.max() + 1))


def test_seams_do_not_tear_components():
    cube = box((1, 1, 1))
    corners = cube.vertices[cube.faces].reshape(-1, 3)
    soup = Mesh(vertices=corners, faces=np.arange(36).reshape(-1, 3))
    assert soup.components.max() == 0
    pair = Mesh.concatenate([soup, soup.replace_vertices(soup.vertices + 3)])
    assert pair.components.tolist() == [0] * 36 + [1] * 36


@pytest.mark.parametrize(
    ("solid", "volume"),
    [
        (box((1, 2, 3)), 6.0),
        (cylinder(1, 2, sections=256), 2 * np.pi),
        (sphere(1, subdivisions=5), 4 / 3 * np.pi),
        (capsule(1, 2, sections=256), 2 * np.pi + 4 / 3 * np.pi),
    ],
)
def test_primitives_are_closed_centred_and_of_the_right_size(solid, volume):
    from kin4d.geometry.mesh_report import inspect_mesh

    assert inspect_mesh(solid).verdict == "good"
    a, b, c = solid.vertices[solid.faces].transpose(1, 0, 2)
    assert np.einsum("fi,fi->", a, np.cross(b, c)) / 6 == pytest.approx(volume, rel=5e-3)
    np.testing.assert_allclose(solid.bounds.sum(0), 0, atol=1e-9)


@pytest.mark.parametrize("bad", [0, -1, np.nan, np.inf])
def test_primitives_refuse_sizes(bad):
    for make in (lambda: box((1, bad, 1)), lambda: sphere(bad), lambda: cylinder(1, bad)):
        with pytest.raises(InputError, match="must be positive"):
            make()


def test_colours():
    assert hex_color("#ff0000") == (1, 0, 0, 1)
    assert hex_color("#bcbcbc")[0] == pytest.approx(0.503, abs=1e-3)
    for wrong in ("ff0000", "#ff00", "#gg0000", "red", "#ff00000"):
        with pytest.raises(InputError, match="#rrggbb"):
            hex_color(wrong)
    for value in np.linspace(0, 1, 50):
        assert linear_to_srgb(srgb_to_linear(value)) == pytest.approx(value, abs=1e-7)
