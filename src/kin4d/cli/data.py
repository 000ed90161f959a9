"""`kin4d data`: make a store of moving objects, and look into one."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import tyro

from kin4d.cli.data_convert import DataExport, DataImport
from kin4d.cli.data_episodes import DataEpisodes
from kin4d.cli.output import print_result
from kin4d.cli.ranges import Count, Seed, Workers
from kin4d.errors import InputError

if TYPE_CHECKING:
    from kin4d.episodes.episode import Episode
    from kin4d.objects.object_sample import ObjectSample


@dataclass(frozen=True)
class DataObjects:
    """Make a store of objects in motion; run the same command again to go on after a stop."""

    output: Annotated[Path, tyro.conf.arg(aliases=["-o"])]
    """Folder of the store."""
    sources: tuple[str, ...] = ("articulated",)
    """What to draw from; run with an unknown name to see them all."""
    categories: tuple[str, ...] = ()
    """Only these kinds."""
    count: Count = 1000
    """Sequences, shared evenly between the sources."""
    seed: Seed = 0
    """Other seeds give other objects."""
    frames: Count = 16
    """Frames of articulated motions."""
    per_shard: Count = 32
    """Sequences that are finished together."""
    workers: Workers = 2
    """Processes."""
    cluster: bool = False
    """Work on Ray: the cluster RAY_ADDRESS names, or one started on this machine."""
    json: bool = False
    """Print JSON for machines."""

    def run(self) -> None:
        from kin4d.objects.generate import DatasetSpec, generate_objects

        plan = DatasetSpec(
            sources=self.sources,
            categories=self.categories,
            count=self.count,
            seed=self.seed,
            frames=self.frames,
            per_shard=self.per_shard,
        )
        store = generate_objects(plan, self.output, workers=self.workers, cluster=self.cluster)
        data = {"written": str(self.output), "sequences": len(store), "dropped": len(store.dropped)}
        text = f"{len(store)} sequences in {self.output}"
        if store.dropped:
            text += f"; {len(store.dropped)} could not be made, the first because: "
            text += store.dropped[0]["dropped"]
        print_result(text, data, as_json=self.json)


@dataclass(frozen=True)
class DataStats:
    """Count what is in a store."""

    store: Annotated[Path, tyro.conf.Positional]
    """Its folder."""
    json: bool = False
    """Print JSON for machines."""

    def run(self) -> None:
        from kin4d.cli.open_store import open_store
        from kin4d.episodes.preview import episode_statistics
        from kin4d.objects.preview import object_statistics
        from kin4d.objects.sequence_store import SequenceStore

        store = open_store(self.store)
        what = "sequences" if isinstance(store, SequenceStore) else "episodes"
        found = (
            object_statistics(store)
            if isinstance(store, SequenceStore)
            else episode_statistics(store)
        )
        lines = [
            f"{found[what]} {what}, {found['frames']} frames, "
            f"{found['bytes'] / 1e6:.1f} MB in {found['shards']} shards; "
            f"{found['dropped']} could not be made"
        ]
        for group, members in found.items():
            if not isinstance(members, dict) or not members:
                continue
            counts = sorted(members.items(), key=lambda item: (-item[1], item[0]))
            lines.append(f"{group + ':':12}" + ", ".join(f"{name} {n}" for name, n in counts))
        print_result("\n".join(lines), found, as_json=self.json)


@dataclass(frozen=True)
class DataVerify:
    """Compare a store with its checksums."""

    store: Annotated[Path, tyro.conf.Positional]
    """Its folder."""
    json: bool = False
    """Print JSON for machines."""

    def run(self) -> None:
        from kin4d.cli.open_store import open_store
        from kin4d.episodes.store import EpisodeStore

        store = open_store(self.store)
        problems = store.verify()
        if problems:
            raise InputError(
                f"{self.store} has {len(problems)} problems: " + "; ".join(problems[:5]),
                hint="delete the damaged shards' folders and make the store again",
            )
        what = "episodes" if isinstance(store, EpisodeStore) else "sequences"
        data = {what: len(store), "shards": len(store.shards), "problems": []}
        text = f"{len(store)} {what} in {len(store.shards)} shards, all as they were written"
        print_result(text, data, as_json=self.json)


@dataclass(frozen=True)
class DataPreview:
    """Draw a contact sheet per category: objects at rest and at both ends of their range.

    Of a store of episodes, one per task: colour, bodies and depth.
    """

    output: Annotated[Path, tyro.conf.arg(aliases=["-o"])]
    """Folder for the images."""
    source: str = "articulated"
    """A source's name, or store:DIR."""
    categories: tuple[str, ...] = ()
    """Only these kinds."""
    count: Count = 6
    """Objects per image."""
    tile: Count = 160
    """Pixels per view."""
    json: bool = False
    """Print JSON for machines."""

    def run(self) -> None:
        from PIL import Image

        from kin4d.episodes.preview import episode_preview
        from kin4d.files import atomic_path
        from kin4d.objects.preview import object_preview
        from kin4d.progress import track

        episodes = _episodes_by_task(self.source, self.categories, self.count)
        chosen = episodes or _by_category(self.source, self.categories, self.count)
        draw = partial(episode_preview if episodes else object_preview, tile=self.tile)
        for category, items in track(chosen.items(), "drawing", total=len(chosen)):
            image = Image.fromarray(draw(items))
            with atomic_path(self.output / f"{category}.jpg") as path:
                image.save(path, quality=88)
        data = {"written": str(self.output), "categories": [*chosen]}
        print_result(f"{len(chosen)} contact sheets in {self.output}", data, as_json=self.json)


_Action = Annotated[
    Annotated[DataObjects, tyro.conf.subcommand("objects")]
    | Annotated[DataEpisodes, tyro.conf.subcommand("episodes")]
    | Annotated[DataStats, tyro.conf.subcommand("stats")]
    | Annotated[DataVerify, tyro.conf.subcommand("verify")]
    | Annotated[DataPreview, tyro.conf.subcommand("preview")]
    | Annotated[DataImport, tyro.conf.subcommand("import")]
    | Annotated[DataExport, tyro.conf.subcommand("export")],
    tyro.conf.arg(name=""),
]


def data_command(action: _Action) -> None:
    """Make training objects in motion, convert data of others, inspect a store.

    Args:
        action: What to do.
    """
    action.run()


def _by_category(
    source: str, categories: tuple[str, ...], count: int
) -> dict[str, list[ObjectSample]]:
    """The first `count` samples of each category of a source."""
    from kin4d.objects.source_registry import named_source
    from kin4d.objects.sources import ProceduralSource

    found = named_source(source)
    if isinstance(found, ProceduralSource):
        found = found.only(categories) if categories else found
        return {c: [found.make(c, seed) for seed in range(count)] for c in found.categories}
    members: dict[str, list[int]] = {}
    for index, who in enumerate(found.identities):
        members.setdefault(who.category, []).append(index)
    wanted = categories or tuple(sorted(members))
    for category in wanted:
        if category not in members:
            raise InputError(
                f"{source} has no such category", value=category, allowed=", ".join(members)
            )
    return {c: [found.load(index) for index in members[c][:count]] for c in wanted}


def _episodes_by_task(source: str, tasks: tuple[str, ...], count: int) -> dict[str, list[Episode]]:
    """The first `count` episodes of each task, if the source is a store of them."""
    from kin4d.cli.open_store import open_store
    from kin4d.episodes.store import EpisodeStore

    if not source.startswith("store:"):
        return {}
    store = open_store(source.removeprefix("store:"))
    if not isinstance(store, EpisodeStore):
        return {}
    members: dict[str, list[int]] = {}
    for index, who in enumerate(store.identities):
        members.setdefault(who.category, []).append(index)
    for task in tasks:
        if task not in members:
            raise InputError(f"{source} has no such task", value=task, allowed=", ".join(members))
    return {t: [store.episode(i) for i in members[t][:count]] for t in tasks or sorted(members)}
