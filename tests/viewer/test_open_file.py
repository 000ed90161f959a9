"""What the page shows of a file, and what it refuses."""

from __future__ import annotations

import threading

import numpy as np
import pytest

from kin4d.bodies import bake, hinge, sweep_joints
from kin4d.bodies.floating import FloatingBase
from kin4d.bodies.rigid import RigidBody
from kin4d.bodies.segmented import SegmentedBody
from kin4d.errors import InputError
from kin4d.geometry.camera import Camera
from kin4d.geometry.primitives import box
from kin4d.render.pointmaps import render_bodies
from kin4d.viewer import open_file
from kin4d.viewer.body_motion import FRAMES, own_motion
from kin4d.viewer.body_view import BodyView
from kin4d.viewer.clip_view import ClipView
from kin4d.viewer.display_mesh import DisplayMesh
from kin4d.viewer.open_file import FileOpener, check_file
from kin4d.viewer.page import Page
from kin4d.viewer.pointmap_view import PointmapView
from kin4d.viewer.save_panel import packed
from kin4d.viewer.scene_view import SceneView

pytest.importorskip("viser")

SCENE = """
bodies:
  - {name: door, load: hinge}
static:
  - {name: block, box: [0.2, 0.2, 0.2], position: [2, 0, 0.1]}
cameras:
  - {name: front, eye: [0.5, -4, 1.5], target: [0.5, 0, 1]}
"""


@pytest.fixture(scope="module")
def page():
    page = Page(port=0)
    yield page
    page.close()


@pytest.fixture(scope="module")
def opener(page):
    return FileOpener(page)


def test_a_clip(opener, page, tmp_path) -> None:
    bake(hinge(), sweep_joints(hinge(), frames=4)).save(tmp_path / "swing.npz")
    opener.open(str(tmp_path / "swing.npz"))
    assert isinstance(page.view, ClipView)
    assert len(page.view.clip) == 4
    name, content = packed(page.view._writers()["GLB"], "swing")
    assert name.endswith(".glb")
    assert content[:4] == b"glTF"


def test_a_mesh_becomes_a_body_whose_type_can_be_changed(opener, page, tmp_path) -> None:
    mesh = hinge().rest
    mesh.save(tmp_path / "door.glb")
    opener.open(str(tmp_path / "door.glb"))
    view = page.view
    assert isinstance(view, BodyView)
    assert isinstance(view.body, SegmentedBody)
    assert view.corrections is not None
    view._reloaded("solid", "bottom")
    assert view.body.coordinates[0] == "mode1"
    assert view.joints.infos[0].type == "mode"
    view.mechanics.go()
    view.mechanics.simulation.advance(0.1, most=120.0)
    assert view.mechanics.clip().vertices.shape[1] == len(mesh.vertices)


def test_pieces_are_given_to_parts(opener, page, tmp_path) -> None:
    opener.open("hinge")
    body = hinge()
    body.rest.save(tmp_path / "door.glb")
    opener.open(str(tmp_path / "door.glb"))
    view = page.view
    before = len(view.body.joint_specs)
    view.corrections.pick(0)
    view.corrections.part.value = "(new part)"
    view.corrections._give()
    assert len(view.body.joint_specs) == before + 1
    moved = view.body.part == before + 1
    piece = view.body.rest.components
    np.testing.assert_array_equal(moved, piece == piece[0])
    view.set_body(view._before.pop())
    assert len(view.body.joint_specs) == before


def test_a_robot(opener, page) -> None:
    opener.open("kin4d_arm")
    view = page.view
    assert view.robot is not None
    assert len(view.joints.sliders) == len(view.body.coordinates)
    # The gizmo, and what a camera sees.
    where = np.array(view.robot.gizmo.position)
    view.robot.gizmo.position = where + np.array([0.0, 0.0, -0.05])
    view.robot._reach()
    assert view.robot.status.content == "reached"
    assert np.abs(view.q - view.body.q0.numpy()).max() > 1e-3
    view.robot.views.pointmap.value = True
    view.robot.views._draw()
    low, high = view.body.rest.bounds
    points = view.robot.views._cloud.points
    assert len(points) > 100
    assert (points > low - 0.3).all()
    assert (points < high + 0.3).all()
    view.robot.gizmo.position = np.array([9.0, 9.0, 9.0])
    view.robot._reach()
    assert "out of reach" in view.robot.status.content


def test_a_scene(opener, page, tmp_path) -> None:
    (tmp_path / "scene.yaml").write_text(SCENE)
    opener.open(str(tmp_path / "scene.yaml"))
    view = page.view
    assert isinstance(view, SceneView)
    assert view.views is not None
    view.mechanics.go()
    view.mechanics.simulation.advance(0.1, most=120.0)
    assert view.mechanics.clip() is not None


def test_a_free_body_moves_by_itself_and_not_as_a_whole() -> None:
    body = FloatingBase(hinge())
    clip = own_motion(body)
    assert len(clip) == FRAMES
    np.testing.assert_array_equal(clip.q[:, :6], 0)
    assert np.ptp(clip.q[:, 6]) > 1
    still = own_motion(FloatingBase(RigidBody(box((1.0, 1.0, 1.0)))))
    assert len(still) == 1


def test_pointmap_videos_side_by_side(opener, page, tmp_path) -> None:
    body = hinge()
    q = sweep_joints(body, frames=3)
    camera = Camera.look_at((0.4, -4.0, 1.4), (0.4, 0.0, 1.0), width=48, height=32)
    video = render_bodies([body], [q], camera, fps=8.0)
    for name in ("pointmap", "pointmap_1"):
        video.save(tmp_path / f"{name}.npz")
    opener.open(str(tmp_path / "pointmap.npz"))
    view = page.view
    assert isinstance(view, PointmapView)
    points, colors = view.row.points("pointmap", 1)
    assert len(points) == len(colors) == int(np.isfinite(video.xyz[1]).all(-1).sum())
    low, high = body.rest.bounds
    assert (points > low - 0.05).all()
    assert (points[:, 2] < high[2] + 0.05).all()
    opener.open(str(tmp_path))
    assert list(page.view.videos) == ["pointmap", "pointmap_1", "disagreement"]
    page.view.row.show(2)
    # Two equal videos agree everywhere.
    assert len(np.unique(page.view.videos["disagreement"].rgb.reshape(-1, 3), axis=0)) == 1


@pytest.mark.parametrize(
    ("name", "content", "why"),
    [
        ("missing.glb", None, "no file"),
        ("notes.txt", "hello", "cannot be shown"),
        ("broken.glb", "no mesh", "broken.glb"),
        ("broken.npz", "no clip", "broken.npz"),
    ],
)
def test_what_cannot_be_shown(opener, tmp_path, name, content, why) -> None:
    if content is not None:
        (tmp_path / name).write_text(content)
    with pytest.raises(InputError, match=why):
        opener.open(str(tmp_path / name))


def test_large_files_are_refused_before_they_are_read(tmp_path) -> None:
    with (tmp_path / "large.obj").open("wb") as file:
        file.truncate(2 * 2**30)
    with pytest.raises(InputError, match=r"2 GiB.*1 GiB"):
        check_file(str(tmp_path / "large.obj"))


def test_large_uploads_are_refused_by_the_size_they_announce(opener, page) -> None:
    from viser._messages import FileTransferStartUpload

    message = FileTransferStartUpload(
        source_component_uuid=next(iter(page.gui._gui_input_handle_from_uuid)),
        transfer_uuid="one",
        filename="large.glb",
        mime_type="",
        part_count=4096,
        size_bytes=2 * 2**30,
    )
    handlers = page.viser._websock_server._incoming_handlers[FileTransferStartUpload]
    assert len(handlers) == 1
    handlers[0](0, message)
    page.loop.drain()
    assert "too large" in page.problems[-1]
    assert page.gui._current_file_upload_states == {}


def test_received_files_are_opened_and_failures_are_said(opener, page, tmp_path) -> None:
    box((1.0, 1.0, 1.0)).save(tmp_path / "box.glb")
    opener._receive("../../box.glb", (tmp_path / "box.glb").read_bytes())
    assert isinstance(page.view, BodyView)
    page.loop.post(lambda: opener._receive("song.mp3", b"la la"))
    page.loop.drain()
    assert "song" in page.problems[-1]
    assert isinstance(page.view, BodyView)  # what was open stays


def test_a_huge_mesh_is_shown_coarser() -> None:
    sheet = np.stack(np.meshgrid(np.arange(300.0), np.arange(300.0)), -1).reshape(-1, 2)
    index = np.arange(90_000).reshape(300, 300)
    a, b, c, d = (
        x.ravel() for x in (index[:-1, :-1], index[:-1, 1:], index[1:, :-1], index[1:, 1:])
    )
    from kin4d.geometry.mesh import Mesh

    mesh = Mesh(
        vertices=np.column_stack([sheet, np.zeros(len(sheet))]),
        faces=np.concatenate([np.stack([a, b, c], 1), np.stack([b, d, c], 1)]),
        name="sheet",
    )
    whole = DisplayMesh.of(mesh)
    assert whole.whole
    assert len(whole.faces) == len(mesh.faces)
    preview = DisplayMesh.of(mesh, most_faces=20_000)
    assert not preview.whole
    assert 5_000 < len(preview.faces) <= 20_000
    np.testing.assert_allclose(
        np.ptp(mesh.vertices[preview.vertex], axis=0), np.ptp(mesh.vertices, axis=0), atol=5
    )


def test_the_loop_ends(page) -> None:
    other = Page(port=0)
    thread = threading.Thread(target=other.run)
    thread.start()
    other.close()
    thread.join(10)
    assert not thread.is_alive()
    assert open_file.LARGEST_UPLOAD < open_file.LARGEST_FILE
