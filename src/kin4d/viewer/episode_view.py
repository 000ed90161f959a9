"""EpisodeView: an episode of a store: truth, composite, imagination and futures, side by side."""

from __future__ import annotations

from pathlib import Path

from kin4d.benchmarks.world.regions import composited
from kin4d.episodes.episode import Episode
from kin4d.episodes.store import EpisodeStore
from kin4d.errors import InputError
from kin4d.geometry.pointmap import PointmapVideo
from kin4d.viewer.disagreement import disagreement, disagreement_video
from kin4d.viewer.page import Page, plain
from kin4d.viewer.pointmap_row import PointmapRow
from kin4d.viewer.timeline import Timeline
from kin4d.world.episode_observation import episode_observation
from kin4d.world.imagine import imagine_episode
from kin4d.world.model import load_world_model

MOST_FUTURES = 8
_MOST_LISTED = 200


class EpisodeView:
    """A page that plays episodes of a store, one at a time.

    Args:
        page: Where; whatever it showed before is closed.
        store: At least one episode.
        index: Which is shown first.
        weights: Of the world model that imagines.

    Attributes:
        episode: That is shown.
        videos: Of it, by name.
        samples: What was imagined of it.
    """

    def __init__(
        self, page: Page, store: EpisodeStore, *, index: int = 0, weights: str = "tiny"
    ) -> None:
        self._page, self._store, self._weights = page, store, weights
        self._futures, self._summary = 4, ""
        self.open(index)

    def open(self, index: int) -> None:
        """Show episode number `index`: what happened, and the composite where it can be made."""
        self.index, self.episode = index, self._store.episode(index)
        self.videos, self._summary = truth_and_composite(self.episode), ""
        self.samples: list[PointmapVideo] = []
        self._show()

    def imagine(self) -> None:
        """Add what the world model imagines: the most likely video, and further futures."""
        self._status.content = "Imagining ..."
        self.samples = imagine_samples(self.episode, weights=self._weights, count=self._futures + 1)
        self.videos["imagination"] = self.samples[0]
        self.videos.pop("disagreement", None)
        self._summary = ""
        if len(self.samples) > 1:
            self.videos["disagreement"] = disagreement_video(self.samples)
            far = float(disagreement(self.samples).mean())
            self._summary = (
                f"{len(self.samples)} futures, which differ by {far:.2g} of 255 on average"
            )
        self._show()

    def tick(self) -> float | None:
        """See `View`."""
        return self.timeline.tick()

    def _show(self) -> None:
        page, episode = self._page, self.episode
        page.clear()
        page.gui.set_panel_label((episode.task or episode.name)[:40])
        if len(self._store) > 1:
            self._add_choice()
        page.gui.add_markdown(_facts(episode))
        frames = max(len(video) for video in self.videos.values())
        self.timeline = Timeline(
            page,
            count=frames,
            fps=episode.fps,
            show=lambda frame: self.row.show(frame),
            playing=True,
        )
        with page.gui.add_folder("World model"):
            self._add_imagining()
        with page.gui.add_folder("Videos"):
            self.row = PointmapRow(page, self.videos)
        self.row.show(0)
        page.show(self)

    def _add_imagining(self) -> None:
        page = self._page
        futures = page.gui.add_slider(
            "futures", min=0, max=MOST_FUTURES, step=1, initial_value=self._futures,
            hint="samples beside the most likely video",
        )  # fmt: skip
        button = page.gui.add_button("Imagine", disabled=self.episode.joints is None)
        self._status = page.gui.add_markdown(self._summary)
        page.on_change(futures, lambda: setattr(self, "_futures", int(futures.value)))
        page.on_click(button, lambda _: self.imagine())
        if len(self.samples) > 1:
            self.future = page.gui.add_slider(
                "show future", min=0, max=len(self.samples) - 1, step=1, initial_value=0,
                hint="0 is the most likely",
            )  # fmt: skip
            page.on_change(self.future, self._chosen)

    def _chosen(self) -> None:
        self.row.replace("imagination", self.samples[int(self.future.value)])
        self.row.show(self.timeline.frame)

    def _add_choice(self) -> None:
        gui, count = self._page.gui, len(self._store)
        if count > _MOST_LISTED:
            number = gui.add_number("episode", self.index, min=0, max=count - 1, step=1)
            self._page.on_change(number, lambda: self.open(int(number.value)))
            return
        names = [f"{i}: {one.category}" for i, one in enumerate(self._store.identities)]
        choice = gui.add_dropdown("episode", names, initial_value=names[self.index])
        self._page.on_change(choice, lambda: self.open(names.index(choice.value)))


def open_for_viewing(path: str | Path) -> EpisodeStore:
    """The store at a path; one without episodes is an `InputError`."""
    store = EpisodeStore(path)
    if not len(store):
        raise InputError(f"{path} has no episodes", hint=f"make some: {EpisodeStore.COMMAND}")
    return store


def truth_and_composite(episode: Episode) -> dict[str, PointmapVideo]:
    """What happened, and where the robot's motion is known the composite: the exact robot drawn
    over the first frame."""
    videos = {"truth": episode.video}
    if episode.joints is not None:
        videos["composite"] = composited(episode_observation(episode))
    return videos


def imagine_samples(episode: Episode, *, weights: str, count: int) -> list[PointmapVideo]:
    """`count` videos that a world model imagines of an episode; the first is the most likely."""
    found = imagine_episode(episode, weights=load_world_model(weights), num_samples=count)
    return [found, *found.samples]


def _facts(episode: Episode) -> str:
    done = {True: "done", False: "not done", None: "outcome unknown"}[episode.success]
    camera = episode.video.camera
    words = f"*{plain(episode.language)}*, " if episode.language else ""
    robot = plain(Path(episode.robot).name)
    return (
        f"{words}{done}; robot {robot}; {len(episode)} frames, "
        f"{camera.width} x {camera.height} pixels"
    )
