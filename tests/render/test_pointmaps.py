"""Videos of bodies and clips: who is seen, where, and in what colour."""

import numpy as np
import pytest
import torch
from PIL import Image

from kin4d.bodies import FloatingBase, RigidBody, bake, hinge, slider_chain
from kin4d.errors import InputError
from kin4d.geometry.camera import Camera
from kin4d.geometry.clip import Clip
from kin4d.geometry.material import SurfaceMaterial
from kin4d.geometry.mesh import Mesh
from kin4d.geometry.primitives import box, sphere
from kin4d.render import FloorPlane, framing_camera, render_bodies, render_clip, unseen_bodies
from kin4d.render.pointmaps import MeshInstance, rasterize_instances
from kin4d.render.render_scene import RenderScene, smoothing_groups
from kin4d.render.renderer import Renderer


def at(mesh, x, y, z):
    matrix = np.eye(4)
    matrix[:3, 3] = x, y, z
    return mesh.transformed(matrix)


def front(width=60, height=40):
    """From -y, looking along +y."""
    return Camera.look_at((0, -3, 0), (0, 0, 0), width=width, height=height)


def still(body):
    return torch.zeros(1, len(body.coordinates), dtype=torch.float64)


def test_the_nearer_body_wins_whatever_the_order():
    near = RigidBody(at(box((0.4, 0.4, 0.4)), 0, -1, 0))
    far = RigidBody(at(box((2.0, 0.4, 2.0)), 0, 1, 0))
    for bodies, front_id in (({"near": near, "far": far}, 1), ({"far": far, "near": near}, 2)):
        video = render_bodies(bodies, [still(near), still(far)], front())
        assert video.names == tuple(bodies)
        assert video.mask[0, 20, 30] == front_id
        assert set(np.unique(video.mask)) == {0, 1, 2}
        np.testing.assert_allclose(video.xyz[0, 20, 30, 2], 3 - 1.2, atol=1e-6)
        assert np.isnan(video.xyz[video.mask == 0]).all()
        assert np.isfinite(video.xyz[video.mask > 0]).all()


def test_skin_and_vertices_draw_the_same():
    """The joint path (static vertices, moving matrices) against drawing moved vertices."""
    body = slider_chain()
    q = body.limits[:, 1][None] * torch.tensor([[0.2], [0.5], [0.9]], dtype=torch.float64)
    camera = Camera.framing(bake(body, q).bounds, width=90, height=60)
    video = render_bodies([body], [q], camera)
    assert len(video) == 3
    clip = bake(body, q)
    loose = render_clip(
        Clip(mesh=clip.mesh, vertices=clip.vertices, fps=24), camera, floor=False, antialias=1
    )
    assert (video.mask == loose.mask).mean() > 0.9999
    both = (video.mask > 0) & (loose.mask > 0)
    error = np.linalg.norm(video.xyz - loose.xyz, axis=-1)[both]
    assert np.quantile(error, 0.999) < 1e-5
    shade = abs(video.rgb.astype(int) - loose.rgb.astype(int)).max(-1)[both]
    assert np.quantile(shade, 0.99) <= 1


def test_out_of_view_is_empty_and_is_reported():
    body = FloatingBase(hinge())
    q = torch.zeros(2, 7, dtype=torch.float64)
    behind = Camera.look_at((0, -5, 1), (0, -9, 1), width=30, height=20)
    video = render_bodies({"door": body}, [q], behind)
    assert not video.mask.any()
    assert np.isnan(video.xyz).all()
    assert unseen_bodies(video) == ("door",)
    q[1, 1] = -8
    assert unseen_bodies(render_bodies({"door": body}, [q], behind)) == ()


def test_camera_inside_a_body_sees_it_from_inside():
    body = RigidBody(box((2.0, 2.0, 2.0)))
    video = render_bodies(
        [body], [still(body)], Camera.look_at((0, 0, 0), (1, 0, 0), width=9, height=9)
    )
    assert (video.mask == 1).all()
    np.testing.assert_allclose(video.xyz[..., 2], 1.0, atol=1e-6)


def test_texture_has_its_first_row_at_the_top():
    """uv (0, 0) is the lower left; images start at the upper left."""
    pixels = np.array([[[255, 0, 0], [0, 255, 0]], [[0, 0, 255], [255, 255, 0]]], np.uint8)
    material = SurfaceMaterial(
        base_color=(1, 1, 1, 1), textures={"base_color": Image.fromarray(pixels)}
    )
    quad = Mesh(
        vertices=np.array([[-1, 0, -1], [1, 0, -1], [1, 0, 1], [-1, 0, 1.0]]),
        faces=np.array([[0, 1, 2], [0, 2, 3]]),
        uv=np.array([[0, 0], [1, 0], [1, 1], [0, 1]]),
        materials=(material,),
    )
    body = RigidBody(quad)
    rgb = render_bodies([body], [still(body)], front(60, 60), background=(0, 0, 0)).rgb[0]
    for row, column, brightest in ((20, 20, {0}), (20, 40, {1}), (40, 20, {2}), (40, 40, {0, 1})):
        pixel = rgb[row, column].astype(int)
        assert {c for c in range(3) if pixel[c] > 120} == brightest, (row, column, pixel)


def test_vertex_colours_and_material_colours():
    mesh = box((1.0, 1.0, 1.0))
    green = np.tile(np.array([0, 255, 0, 255], np.uint8), (len(mesh.vertices), 1))
    white = SurfaceMaterial(base_color=(1, 1, 1, 1))
    tinted = Mesh(vertices=mesh.vertices, faces=mesh.faces, colors=green, materials=(white,))
    plain = at(box((1.0, 1.0, 1.0), color="#ff0000"), 1.2, 0, 0)
    bodies = [RigidBody(tinted), RigidBody(plain)]
    video = render_bodies(bodies, [still(b) for b in bodies], front(90, 60))
    for body, channel in ((1, 1), (2, 0)):
        pixels = video.rgb[video.mask == body]
        assert (pixels[:, channel] > 80).all()
        assert (np.delete(pixels, channel, 1) < 60).all()


def test_normals_face_the_camera_and_are_exact_on_a_box():
    body = RigidBody(box((1.0, 1.0, 1.0)))
    actor = MeshInstance.of_body(body, still(body))
    camera = front()
    frame = rasterize_instances(
        Renderer(RenderScene.of([actor.mesh], [actor.skin]), camera), [actor], 0
    )
    seen = frame.mask > 0
    np.testing.assert_allclose(
        frame.normals[seen], np.broadcast_to([0, 0, -1], (seen.sum(), 3)), atol=1e-6
    )
    assert np.isnan(frame.normals[~seen]).all()


def test_creases_split_boxes_and_not_spheres():
    cube, ball = box((1.0, 1.0, 1.0)), sphere(1.0)
    assert smoothing_groups(cube.vertices, cube.faces).max() + 1 == 24
    assert smoothing_groups(ball.vertices, ball.faces).max() + 1 == len(ball.vertices)


def test_smooth_normals_of_a_sphere():
    body = RigidBody(sphere(1.0, subdivisions=4))
    actor = MeshInstance.of_body(body, still(body))
    camera = front(120, 120)
    frame = rasterize_instances(
        Renderer(RenderScene.of([actor.mesh], [actor.skin]), camera), [actor], 0
    )
    seen = frame.mask > 0
    outward = camera.to_world(frame.xyz[seen].astype(np.float64))
    normals = frame.normals[seen] @ camera.pose[:3, :3].T
    cosine = (outward * normals).sum(-1) / np.linalg.norm(outward, axis=-1)
    assert np.degrees(np.arccos(cosine.clip(-1, 1))).max() < 2


def test_result_does_not_depend_on_threads():
    body = hinge()
    q = torch.linspace(0, 1.5, 4, dtype=torch.float64)[:, None]
    camera = Camera.framing(body.rest.bounds, width=60, height=40)
    floor = FloorPlane.under(body.rest.bounds, up=np.array([0, 0, 1.0]))
    one, two, many = (render_bodies([body], [q], camera, floor=floor, threads=n) for n in (1, 2, 9))
    for other in (two, many):
        for name in ("rgb", "xyz", "mask"):
            np.testing.assert_array_equal(getattr(one, name), getattr(other, name))


def test_antialiasing_changes_colours_only():
    body = hinge()
    camera = Camera.framing(body.rest.bounds, width=60, height=40)
    rough, fine = (render_bodies([body], [body.q0[None]], camera, antialias=n) for n in (1, 3))
    np.testing.assert_array_equal(rough.xyz, fine.xyz)
    np.testing.assert_array_equal(rough.mask, fine.mask)
    assert len(np.unique(fine.rgb[0], axis=0)) > 0
    assert (rough.rgb != fine.rgb).any()


def test_photograph_behind_stays_as_it_is():
    body = RigidBody(box((0.2, 0.2, 0.2)))
    photo = np.random.default_rng(0).integers(0, 256, (40, 60, 3), dtype=np.uint8)
    video = render_bodies([body], [still(body)], front(), background=photo)
    empty = video.mask[0] == 0
    np.testing.assert_array_equal(video.rgb[0][empty], photo[empty])


@pytest.mark.parametrize("scale", [1e-9, 1.0, 1e9])
def test_preview_frames_things_of_any_size(scale):
    body = hinge()
    clip = bake(body, torch.tensor([[0.0], [1.0]], dtype=torch.float64))
    clip = Clip(
        mesh=clip.mesh.transformed(np.diag([scale, scale, scale, 1])),
        vertices=clip.vertices * np.float32(scale),
        fps=10,
    )
    video = render_clip(clip, width=60, height=40, checker=True)
    assert len(video) == 2
    assert video.fps == 10
    assert 0.03 < (video.mask > 0).mean() < 0.6
    border = np.ones((40, 60), bool)
    border[1:-1, 1:-1] = False
    assert not video.mask[:, border].any()


def test_shadow_darkens_the_floor_only():
    clip = bake(hinge(), torch.tensor([[0.5]], dtype=torch.float64))
    camera = framing_camera(clip.bounds, width=90, height=60)
    bare = render_clip(clip, camera, floor=False, antialias=1)
    floor = render_clip(clip, camera, antialias=1)
    seen = bare.mask > 0
    np.testing.assert_array_equal(bare.rgb[seen], floor.rgb[seen])
    empty = floor.rgb[~seen].astype(int)
    assert empty.min() < empty.max() - 30


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"background": "sky"}, "background"),
        ({"background": np.zeros((3, 3, 3), np.uint8)}, "background image"),
        ({"near": 0.0}, "near"),
        ({"threads": 0}, "threads"),
        ({"antialias": 0}, "antialias"),
    ],
)
def test_bad_options_say_so(options, message):
    body = hinge()
    with pytest.raises(InputError, match=message):
        render_bodies([body], [body.q0[None]], front(), **options)


def test_bad_motions_say_so():
    body = hinge()
    with pytest.raises(InputError, match="needs its coordinates"):
        render_bodies([body], [], front())
    with pytest.raises(InputError, match="same length"):
        render_bodies([body, body], [torch.zeros(1, 1), torch.zeros(2, 1)], front())
    with pytest.raises(InputError, match="NaN"):
        render_bodies([body], [torch.tensor([[torch.nan]])], front())
