"""`kin4d bench scene-control`: imagination that is given what mechanics decided, against
imagination that is given the robot alone, on episodes of drawers, doors, lids and buttons."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence

from kin4d.benchmarks.report import Report
from kin4d.benchmarks.world.scene_control import ARTICULATED, compare_controls
from kin4d.episodes.episode import Episode
from kin4d.errors import InputError, Kin4dError
from kin4d.progress import track
from kin4d.tasks.generate import EpisodeDatasetSpec
from kin4d.tasks.record import EpisodeSpec, make_episode
from kin4d.training.weights import weights_file
from kin4d.world.model import load_world_model
from kin4d.world.object_world.model import ObjectWorldModel

_SEED = 913  # seeds of scenes from this million on: no training store has them


def run(*, quick: bool, seed: int, weights: Sequence[str] = ("tiny",), count: int = 70) -> Report:
    """The table of both controls.

    Args:
        quick: Two episodes.
        seed: Of the scenes.
        weights: World model; the first is used.
        count: Episodes, in blocks of ten of one task, as in every store: five of the expert, three
            noisy, a near miss and a near hit.
    """
    model, file = load_world_model(weights[0]), weights_file(weights[0], "world")
    if not isinstance(model, ObjectWorldModel):
        raise InputError("scene control needs an object world model", value=weights[0])
    spec = EpisodeDatasetSpec(tasks=ARTICULATED, count=2 if quick else count, seed=_SEED + seed)
    report = compare_controls(_episodes(spec.specs), model)
    report.weights = {file.stem: hashlib.sha256(file.read_bytes()).hexdigest()[:16]}
    return report


def _episodes(specs: Sequence[EpisodeSpec]) -> Iterator[Episode]:
    for spec in track(specs, "episodes"):
        try:
            yield make_episode(spec)
        except Kin4dError:  # no offset makes the expert fail: there is no such episode
            continue
