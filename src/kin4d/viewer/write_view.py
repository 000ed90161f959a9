"""write_view: what a viewer would show of a file, as one page that needs no server."""

from __future__ import annotations

from pathlib import Path

from kin4d.errors import InputError
from kin4d.geometry.pointmap import PointmapVideo
from kin4d.viewer.open_file import ViewOptions, check_file, motion_of
from kin4d.viewer.pointmap_files import is_store, is_video, load_videos


def write_view(what: str, path: str | Path, options: ViewOptions) -> tuple[int, Path]:
    """Write a page that plays a file by itself; returns its frames, and where it is.

    A clip plays as it is, a scene as it runs, of an episode truth, composite and imagination beside
    each other, of other files each joint in turn.
    """
    check_file(what)
    if is_store(what):
        videos, title = _episode_videos(what, options)
    elif is_video(what):
        videos, title = load_videos(what), None
    else:
        from kin4d.export.html import write_html

        clip = motion_of(what, options)
        return len(clip), write_html(clip, path)
    from kin4d.export.pointmap_html import write_pointmap_html

    frames = max(len(video) for video in videos.values())
    return frames, write_pointmap_html(videos, path, title=title)


def _episode_videos(what: str, options: ViewOptions) -> tuple[dict[str, PointmapVideo], str]:
    from kin4d.viewer.episode_view import imagine_samples, open_for_viewing, truth_and_composite

    store = open_for_viewing(what)
    if not 0 <= options.episode < len(store):
        raise InputError(
            f"{what} has no such episode",
            value=options.episode,
            allowed=f"0 to {len(store) - 1}",
        )
    episode = store.episode(options.episode)
    videos = truth_and_composite(episode)
    if episode.joints is not None:
        (videos["imagination"],) = imagine_samples(episode, weights=options.world_weights, count=1)
    return videos, f"{episode.language or episode.name}: " + " · ".join(videos)
