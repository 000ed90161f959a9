"""Episodes in the viewer: truth, composite, imagination and futures; stores from a browser."""

from __future__ import annotations

import io
import zipfile
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from kin4d import load, write_articulated
from kin4d.episodes.store import EpisodeStore, shipped_episodes
from kin4d.errors import InputError
from kin4d.viewer.archive import unpack_archive
from kin4d.viewer.body_view import BodyView
from kin4d.viewer.disagreement import disagreement, disagreement_video
from kin4d.viewer.episode_view import EpisodeView
from kin4d.viewer.open_file import FileOpener, ViewOptions
from kin4d.viewer.page import Page
from kin4d.viewer.write_view import write_view

pytest.importorskip("viser")

STORE = shipped_episodes().path


@pytest.fixture(scope="module")
def page():
    page = Page(port=0)
    yield page
    page.close()


@pytest.fixture(scope="module")
def opener(page):
    return FileOpener(page)


def zipped(folder: Path, *, under: str = "") -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        for file in sorted(folder.rglob("*")):
            if file.is_file():
                archive.write(file, under + file.relative_to(folder).as_posix())
    return buffer.getvalue()


def test_truth_composite_imagination_and_futures(opener, page) -> None:
    opener.open(str(STORE))
    view = page.view
    assert isinstance(view, EpisodeView)
    assert list(view.videos) == ["truth", "composite"]
    view._futures = 2
    view.imagine()
    assert list(view.videos) == ["truth", "composite", "imagination", "disagreement"]
    assert len(view.samples) == 3
    assert "3 futures" in view._status.content
    # Every frame is shown of all, and a future can be chosen.
    view.row.show(20)
    view.future.value = 2
    view._chosen()
    assert view.row.videos["imagination"] is view.samples[2]
    # Clouds are beside each other, and can be hidden.
    middles = [np.median(view.row._clouds[name].points, axis=0) for name in view.videos]
    steps = np.linalg.norm(np.diff(middles, axis=0), axis=1)
    assert (steps > 0.3).all()
    view.open(1)
    assert list(view.videos) == ["truth", "composite"]
    assert view.episode.task == "pick_and_place"


def test_disagreement_is_the_standard_deviation() -> None:
    video = shipped_episodes().episode(0).video
    other = replace(video, rgb=np.where(np.arange(96)[:, None] < 48, video.rgb, 255 - video.rgb))
    level = disagreement([video, other])
    np.testing.assert_array_equal(level[:, :, :48], 0)
    expected = np.abs(video.rgb.astype(float) - 127.5).mean(-1)
    np.testing.assert_allclose(level[:, :, 48:], expected[:, :, 48:], atol=1e-2)
    heat = disagreement_video([video, other])
    assert heat.rgb[:, :, 48:].mean() > 2 * heat.rgb[:, :, :48].mean()
    np.testing.assert_array_equal(heat.xyz, video.xyz)


def test_a_page_of_an_episode(tmp_path) -> None:
    frames, page = write_view(str(STORE), tmp_path / "episode.html", ViewOptions(episode=1))
    assert frames == 25
    text = page.read_text()
    assert "truth · composite · imagination" in text
    assert len(text) < 1e6
    with pytest.raises(InputError, match="0 to 3"):
        write_view(str(STORE), tmp_path / "none.html", ViewOptions(episode=4))


def test_a_zipped_store_is_received(opener, page) -> None:
    opener._receive("episodes.zip", zipped(STORE, under="my/episodes/"))
    assert isinstance(page.view, EpisodeView)
    page.view.open(3)
    assert page.view.episode.task == "open_drawer"


def test_a_zipped_robot_is_received_with_its_meshes(opener, page, tmp_path) -> None:
    write_articulated(load("hinge"), tmp_path / "robot" / "door.urdf")
    (tmp_path / "robot" / "door.xml").unlink()
    opener._receive("door.zip", zipped(tmp_path / "robot"))
    assert isinstance(page.view, BodyView)
    assert page.view.body.coordinates == load("hinge").coordinates
    assert len(page.view.body.rest.vertices) > 8


def test_an_empty_store_is_refused(opener, tmp_path) -> None:
    EpisodeStore.write(tmp_path / "none", [])
    with pytest.raises(InputError, match="no episodes"):
        opener.open(str(tmp_path / "none"))


def test_archives_that_hold_nothing_to_show_are_refused(tmp_path) -> None:
    archive, folder = tmp_path / "a.zip", tmp_path / "unpacked"

    def refused(content: bytes, why: str, most: int = 2**20) -> None:
        archive.write_bytes(content)
        with pytest.raises(InputError, match=why):
            unpack_archive(archive, folder, most=most)
        assert not folder.exists()

    refused(b"no archive", "a.zip")
    (tmp_path / "plain").mkdir()
    (tmp_path / "plain" / "poem.txt").write_text("la la")
    refused(zipped(tmp_path / "plain"), "nothing that can be opened")
    refused(zipped(STORE), "too large", most=1000)
    escaping = io.BytesIO()
    with zipfile.ZipFile(escaping, "w") as made:
        made.writestr("store.json", "{}")
        made.writestr("../outside.txt", "here")
    refused(escaping.getvalue(), "out of its folder")
