"""The z-buffer against ray casting, and the properties that make it one."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kin4d.bodies import hinge
from kin4d.geometry.camera import Camera
from kin4d.render.rasterizer import rasterize


def camera(width=96, height=64, focal=80.0):
    K = [[focal, 0, (width - 1) / 2], [0, focal, (height - 1) / 2], [0, 0, 1]]
    return Camera(np.array(K), np.eye(4), width, height)


def soup(seed, count=60):
    """Random triangles in front of, around and behind an identity camera."""
    rng = np.random.default_rng(seed)
    centres = rng.uniform([-1, -1, -0.5], [1, 1, 3], (count, 1, 3))
    corners = centres + rng.normal(0, 0.4, (count, 3, 3))
    return corners.reshape(-1, 3), np.arange(3 * count).reshape(-1, 3)


def cast(vertices, faces, camera, near):
    """The same pixels by ray casting: face (-1 for none) and depth, nearest beyond `near`."""
    pytest.importorskip("embreex")
    from embreex.mesh_construction import TriangleMesh
    from embreex.rtcore_scene import EmbreeScene

    scene = EmbreeScene()
    TriangleMesh(scene, vertices[faces].astype(np.float32))
    rays = (camera.rays() @ camera.pose[:3, :3].T).reshape(-1, 3)
    origins = camera.pose[:3, 3] + near * rays
    hit = scene.run(origins.astype(np.float32), rays.astype(np.float32), output=1)
    size = (camera.height, camera.width)
    return hit["primID"].reshape(size), hit["tfar"].reshape(size) + near


@pytest.mark.parametrize("seed", range(5))
def test_soup_agrees_with_ray_casting(seed):
    vertices, faces = soup(seed)
    near = 0.05
    face, depth = cast(vertices, faces, camera(), near)
    drawn = rasterize(vertices, faces, camera(), near=near)
    assert (drawn.face >= 0).any()
    # Single precision rays may fall on the other side of an edge: a pixel or two in 6,144.
    same = drawn.face == face
    assert (~same).sum() <= 3
    seen = same & (face >= 0)
    np.testing.assert_allclose(drawn.xyz[..., 2][seen], depth[seen], atol=1e-4)


def test_hinge_agrees_with_ray_casting():
    body = hinge()
    vertices = body.vertices(body.q0 + 0.7).numpy()
    view = Camera.framing(body.rest.bounds, width=360, height=240)
    face, depth = cast(vertices, body.rest.faces, view, 1e-3)
    drawn = rasterize(vertices, body.rest.faces, view)
    mask, expected = drawn.face >= 0, face >= 0
    assert (mask & expected).sum() / (mask | expected).sum() >= 0.999
    both = mask & expected
    error = abs(drawn.xyz[..., 2] - depth)[both]
    assert np.quantile(error, 0.999) <= 1e-4


def test_triangle_through_the_near_plane_is_clipped_not_dropped():
    """A floor from far behind the camera to far ahead: every pixel below the horizon sees it."""
    view, near = camera(), 0.5
    vertices = np.array([[-1e3, 1, -10.0], [1e3, 1, -10], [0, 1, 1e4]])
    drawn = rasterize(vertices, np.array([[0, 1, 2]]), view, near=near)
    rays = view.rays()
    with np.errstate(divide="ignore"):
        depth = 1 / rays[..., 1]
    expected = (depth >= near) & (depth < 100)
    assert expected.sum() > 1000
    assert (drawn.face[expected] == 0).all()
    assert (drawn.face[(depth < near)] == -1).all()
    np.testing.assert_allclose(drawn.xyz[expected], (rays * depth[..., None])[expected], rtol=1e-5)


def test_nothing_behind_the_camera_is_drawn():
    vertices, faces = soup(0)
    vertices[:, 2] = -abs(vertices[:, 2]) - 0.01
    drawn = rasterize(vertices, faces, camera())
    assert (drawn.face == -1).all()
    assert np.isnan(drawn.xyz).all()


@settings(max_examples=40, deadline=None)
@given(
    st.lists(st.tuples(st.integers(-8, 40), st.integers(-8, 40)), min_size=4, max_size=4),
    st.floats(0.5, 3),
)
def test_a_shared_edge_is_covered_exactly_once(corners, depth):
    """Corners on pixel centres put whole edges exactly on the sample points."""
    (ax, ay), (bx, by), (cx, cy), (dx, dy) = corners
    side_c = (bx - ax) * (cy - ay) - (by - ay) * (cx - ax)
    side_d = (bx - ax) * (dy - ay) - (by - ay) * (dx - ax)
    if side_c * side_d >= 0:
        return
    view = Camera(np.array([[1.0, 0, 0], [0, 1, 0], [0, 0, 1]]), np.eye(4), 32, 32)
    scale = np.array([depth, 1.7, 0.9, depth])[:, None]
    vertices = np.column_stack([np.array(corners, float), np.ones(4)]) * scale
    one = rasterize(vertices, np.array([[0, 1, 2]]), view).face >= 0
    two = rasterize(vertices, np.array([[1, 0, 3]]), view).face >= 0
    assert not (one & two).any()
    v, u = np.mgrid[:32, :32]

    def edge(p, q):
        return (q[0] - p[0]) * (v - p[1]) - (q[1] - p[1]) * (u - p[0])

    def inside(p, q, r, sign):
        return (np.stack([edge(p, q), edge(q, r), edge(r, p)]) * sign > 0).all(0)

    a, b, c, d = corners
    strictly = inside(a, b, c, np.sign(side_c)) | inside(a, b, d, np.sign(side_d))
    between = (edge(a, b) == 0) & (np.minimum(ax, bx) < u) & (u < np.maximum(ax, bx))
    covered = one | two
    assert covered[strictly].all()
    if (edge(a, b) == 0).any() and side_c:
        # Pixels on the shared edge, away from its ends, belong to one of the two.
        assert covered[between].all()


def test_fan_covers_each_pixel_once():
    """Many triangles around one point: together they fill the square without gap or overlap."""
    rng = np.random.default_rng(0)
    angles = np.sort(rng.uniform(0, 2 * np.pi, 40))
    rim = np.column_stack([200 * np.cos(angles), 200 * np.sin(angles), np.ones(40)])
    vertices = np.vstack([[[3, 2, 1.0]], rim])
    faces = np.array([[0, i + 1, (i + 1) % 40 + 1] for i in range(40)])
    view = Camera(np.array([[1.0, 0, 16], [0, 1, 16], [0, 0, 1]]), np.eye(4), 32, 32)
    counts = sum((rasterize(vertices, face[None], view).face >= 0).astype(int) for face in faces)
    assert (counts == 1).all()


def test_points_project_back_to_their_pixel_centres():
    vertices, faces = soup(1)
    view = Camera.look_at((2, -1, 0.5), (0, 0, 1), width=96, height=64)
    drawn = rasterize(vertices, faces, view)
    seen = drawn.face >= 0
    pixels, _ = view.project(view.to_world(drawn.xyz.astype(np.float64)))
    centres = np.stack(np.meshgrid(np.arange(96), np.arange(64)), -1)
    np.testing.assert_allclose(pixels[seen], centres[seen], atol=1e-3)


def test_weights_reproduce_the_points():
    vertices, faces = soup(2)
    drawn = rasterize(vertices, faces, camera())
    seen = drawn.face >= 0
    corners = vertices[faces[drawn.face[seen]]]
    points = np.einsum("nk,nki->ni", drawn.weights[seen], corners)
    np.testing.assert_allclose(points, drawn.xyz[seen], atol=2e-5)


def test_culling_leaves_out_what_is_seen_from_behind():
    """Outward is counter-clockwise: -z here, towards the camera, for the first triangle."""
    vertices = np.array([[-1, -1, 2.0], [1, -1, 2], [0, 1, 2]])
    towards, away = np.array([[0, 2, 1]]), np.array([[0, 1, 2]])
    for near in (1e-3, 1.5):
        assert (rasterize(vertices, towards, camera(), near=near, cull=True).face == 0).any()
        assert (rasterize(vertices, away, camera(), near=near, cull=True).face == -1).all()
    crossing = vertices - [[0, 0, 0], [0, 0, 2.5], [0, 0, 0]]
    drawn = [rasterize(crossing, face, camera(), cull=True).face.max() for face in (towards, away)]
    assert sorted(drawn) == [-1, 0]


def test_closed_bodies_look_the_same_culled():
    body = hinge()
    view = Camera.framing(body.rest.bounds, width=180, height=120)
    both, front = (
        rasterize(body.rest.vertices, body.rest.faces, view, cull=cull) for cull in (False, True)
    )
    np.testing.assert_array_equal(both.face >= 0, front.face >= 0)
    np.testing.assert_allclose(both.xyz, front.xyz, atol=1e-6)


def test_result_does_not_depend_on_threads():
    vertices, faces = soup(3, 300)
    one, many = (rasterize(vertices, faces, camera(), threads=n) for n in (1, 5))
    for name in ("face", "weights", "xyz"):
        np.testing.assert_array_equal(getattr(one, name), getattr(many, name))


def test_more_threads_than_rows():
    vertices, faces = soup(3)
    small = Camera(np.array([[3.0, 0, 1], [0, 3, 1], [0, 0, 1]]), np.eye(4), 3, 2)
    assert rasterize(vertices, faces, small, threads=7).face.shape == (2, 3)


@pytest.mark.parametrize("scale", [1e-9, 1e9])
def test_any_scale(scale):
    vertices, faces = soup(4)
    plain = rasterize(vertices, faces, camera(), near=1e-2)
    scaled = rasterize(vertices * scale, faces, camera(), near=1e-2 * scale)
    assert (plain.face == scaled.face).mean() > 0.999
