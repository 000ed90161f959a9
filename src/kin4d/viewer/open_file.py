"""FileOpener: what a file holds decides what the page shows; files may also come from a browser."""

from __future__ import annotations

import tempfile
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from kin4d.bodies.body import Body
from kin4d.errors import InputError
from kin4d.geometry.camera import Camera
from kin4d.geometry.clip import Clip
from kin4d.geometry.io.mesh_file import READS
from kin4d.geometry.up_axis import UpAxis
from kin4d.loading import BodyType, load
from kin4d.viewer.animation_view import AnimationView, animation_clip, clip_names
from kin4d.viewer.archive import unpack_archive
from kin4d.viewer.body_motion import own_motion
from kin4d.viewer.body_view import BodyView
from kin4d.viewer.clip_view import ClipView
from kin4d.viewer.page import Page, plain
from kin4d.viewer.pointmap_files import is_store, is_video, load_videos
from kin4d.viewer.pointmap_view import PointmapView
from kin4d.viewer.save_panel import file_stem
from kin4d.viewer.upload_limit import limit_uploads

LARGEST_FILE = 2**30
"""Bytes; larger files are refused before they are read."""

LARGEST_UPLOAD = 2**28
"""Bytes of a file from a browser, which is kept in memory while it comes."""

SCENES = (".yaml", ".yml", ".json")
ROBOTS = (".urdf", ".xml")


@dataclass(frozen=True, kw_only=True)
class ViewOptions:
    """How files are opened; see `kin4d.load`.

    Attributes:
        body_type: What a mesh becomes; None: articulated, and animated files are played.
        weights: Of the network that predicts how it moves.
        up: The axis that points up in a mesh file.
        size: m, of the diagonal of its bounding box.
        seed: Of an object category.
        camera: Of a robot.
        episode: Which one of a store.
        world_weights: Of the world model that imagines episodes.
    """

    body_type: BodyType | None = None
    weights: str = "small"
    up: UpAxis | None = None
    size: float | None = None
    seed: int = 0
    camera: Camera | None = None
    episode: int = 0
    world_weights: str = "tiny"

    @property
    def plays_animations(self) -> bool:
        """Whether files with animations of their own are played, unless it is said how to take
        them as a still mesh."""
        return self.body_type is None and self.up is None and self.size is None


def check_file(what: str) -> None:
    """Refuse what cannot be shown, before a page is made for it."""
    path, suffix = Path(what), Path(what).suffix.lower()
    known = (*READS, ".npz", *ROBOTS, *SCENES)
    if not suffix and not path.exists():
        return  # a name
    if path.is_dir() and (is_store(path) or is_video(path)):
        return
    if not path.is_file():
        raise InputError(
            f"there is no file {path}",
            allowed=", ".join(known) + ", a folder of pointmap videos, a store of episodes, "
            "or a robot or object by name",
        )
    if suffix not in known:
        raise InputError(f"{path} cannot be shown", value=suffix, allowed=", ".join(known))
    size = path.stat().st_size
    if size > LARGEST_FILE:
        raise InputError(
            f"{path} is too large to be shown",
            value=f"{size / 2**30:.2g} GiB",
            allowed=f"{LARGEST_FILE / 2**30:g} GiB",
            hint="make it smaller, or take a part of it",
        )


def motion_of(what: str, options: ViewOptions) -> Clip:
    """What a page would show of a file, as one motion: a clip or the first animation of a file as
    it is, a scene as it runs, of everything else each coordinate in turn."""
    suffix = Path(what).suffix.lower()
    if suffix == ".npz":
        return Clip.load(what)
    if options.plays_animations and (names := clip_names(what)):
        return animation_clip(what, names[0])
    if suffix in SCENES:
        from kin4d.scenes.read import load_scene

        return load_scene(what).run().clip
    if suffix in READS:
        body = load(
            what,
            body_type=options.body_type or "articulated",
            weights=options.weights,
            up=options.up,
            size=options.size,
        )
    else:
        body = load(what, seed=options.seed)
    return own_motion(body)


class FileOpener:
    """Opens files in a page.

    Args:
        page: Where.
        options: How.
    """

    def __init__(self, page: Page, options: ViewOptions | None = None) -> None:
        self._page, self._options = page, options or ViewOptions()
        self._received: Any = None
        limit_uploads(page, LARGEST_UPLOAD)
        page.header = self._add_upload
        page.clear()

    def open(self, what: str) -> None:
        """Show a file, or a robot or object by name."""
        check_file(what)
        self._page.settle()
        suffix = Path(what).suffix.lower()
        with _reported(self._page):
            if is_store(what):
                self._open_store(what)
            elif is_video(what):
                PointmapView(self._page, load_videos(what))
            elif suffix == ".npz":
                ClipView(self._page, Clip.load(what))
            elif suffix in SCENES:
                from kin4d.scenes.read import load_scene
                from kin4d.viewer.scene_view import SceneView

                SceneView(self._page, load_scene(what).scene, name=Path(what).stem)
            elif suffix in READS:
                names = clip_names(what) if self._options.plays_animations else ()
                if names:
                    AnimationView(self._page, what, names, lambda: self._open_mesh(what))
                else:
                    self._open_mesh(what)
            else:
                body = load(what, seed=self._options.seed)
                BodyView(self._page, body, camera=self._options.camera)

    def _open_store(self, what: str) -> None:
        from kin4d.viewer.episode_view import EpisodeView, open_for_viewing

        options = self._options
        EpisodeView(
            self._page,
            open_for_viewing(what),
            index=options.episode,
            weights=options.world_weights,
        )

    def _open_mesh(self, what: str) -> None:
        from kin4d.geometry.mesh import Mesh

        options = self._options
        mesh = Mesh.load(what, up=options.up)

        def reload(body_type: BodyType, side: str) -> Body:
            with _reported(self._page):
                return load(
                    mesh,
                    body_type=body_type,
                    weights=options.weights,
                    size=options.size,
                    pin=[side] if side else (),
                )

        chosen = options.body_type or "articulated"
        chosen = "articulated" if chosen == "auto" else chosen
        # The surface is there at once; what the network predicts follows.
        ClipView(self._page, Clip.still(mesh))
        BodyView(self._page, reload(chosen, ""), reload=reload, body_type=chosen)

    def _add_upload(self) -> None:
        button = self._page.gui.add_upload_button("Open a file", order=-5)

        @button.on_upload
        async def _(event: Any) -> None:
            file = event.target.value
            self._page.loop.post(lambda: self._receive(file.name, file.content))

    def _receive(self, name: str, content: bytes) -> None:
        path = Path(name.replace("\\", "/").rpartition("/")[2])
        folder = tempfile.TemporaryDirectory(prefix="kin4d-")
        file = Path(folder.name) / (file_stem(path.stem) + path.suffix.lower())
        file.write_bytes(content)
        try:
            if file.suffix == ".zip":
                file = unpack_archive(file, Path(folder.name) / "sent", most=LARGEST_FILE)
            self.open(str(file))
        except InputError as error:
            # Where it was kept for a moment does not matter to the sender.
            text = str(error).replace(f"{folder.name}/", "")
            raise InputError(f"cannot open {plain(name)}: {text}") from None
        self._received = folder  # episodes are read from it while they are shown


class _reported(warnings.catch_warnings):
    """Warnings inside are shown in the page."""

    def __init__(self, page: Page) -> None:
        super().__init__(record=True)
        self._shown: Callable[[str], None] = page.warn
        self._caught: Any = None

    def __enter__(self) -> Any:
        self._caught = super().__enter__()
        warnings.simplefilter("default")
        return self._caught

    def __exit__(self, *exc: Any) -> None:
        super().__exit__(*exc)
        for warning in self._caught:
            if warning.category.__module__.startswith("kin4d"):
                self._shown(str(warning.message))
