"""glTF files with animations of their own are played."""

from __future__ import annotations

import numpy as np
import pytest

from kin4d.bodies import bake, hinge, sweep_joints
from kin4d.errors import InputError
from kin4d.viewer.animation_view import AnimationView, animation_clip, clip_names
from kin4d.viewer.body_view import BodyView
from kin4d.viewer.clip_view import ClipView
from kin4d.viewer.open_file import FileOpener, ViewOptions, motion_of
from kin4d.viewer.page import Page

pytest.importorskip("viser")


@pytest.fixture(scope="module")
def swing():
    return bake(hinge(), sweep_joints(hinge(), frames=30), fps=30.0)


@pytest.fixture
def animated(swing, tmp_path):
    return swing.save(tmp_path / "swing.glb")


@pytest.fixture
def page():
    page = Page(port=0)
    yield page
    page.close()


def test_the_animation_of_a_file_is_its_motion(swing, animated):
    (name,) = clip_names(animated)
    clip = animation_clip(animated, name)
    assert clip.mesh.name == "swing"
    assert abs(len(clip) - len(swing)) <= 1
    np.testing.assert_allclose(clip.bounds, swing.bounds, atol=1e-4)
    assert len(motion_of(str(animated), ViewOptions())) == len(clip)


def test_it_plays_and_joints_can_be_found_instead(animated, page):
    meshes = []
    view = AnimationView(page, animated, clip_names(animated), lambda: meshes.append(animated))
    assert page.view is view.view
    assert view.view.timeline.count > 1
    assert view.view.timeline.play.value
    assert view.still.label == "Find joints"


def test_files_with_animations_are_played_unless_a_body_is_asked_for(animated, page):
    FileOpener(page).open(str(animated))
    assert isinstance(page.view, ClipView)


def test_a_body_type_makes_a_body_of_them(animated, page):
    FileOpener(page, ViewOptions(body_type="rigid")).open(str(animated))
    assert isinstance(page.view, BodyView)


def test_still_files_are_meshes(tmp_path):
    hinge().rest.save(tmp_path / "door.glb")
    hinge().rest.save(tmp_path / "door.obj")
    assert clip_names(tmp_path / "door.glb") == clip_names(tmp_path / "door.obj") == ()
    (tmp_path / "poem.glb").write_text("this is not a mesh")
    with pytest.raises(InputError, match="poem"):
        clip_names(tmp_path / "poem.glb")
