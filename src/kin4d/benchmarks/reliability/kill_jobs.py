"""Work that is killed on the way, at small scale: data, training, export and a benchmark."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

STEPS = 2
"""Of training: a checkpoint, a validation and weights after each."""


@dataclass(frozen=True)
class Job:
    """Work that leaves files in a folder.

    Attributes:
        run: Does it, given the folder and a store of episodes; returns an exit code.
        kind: How two results are compared: "bytes", "training" or "report".
        needs_episodes: Whether it reads the store.
    """

    run: Callable[[Path, Path], int]
    kind: str
    needs_episodes: bool = False


def _command(text: str, folder: Path, episodes: Path) -> int:
    from kin4d.cli import main

    words = [word.format(output=folder / "result", episodes=episodes) for word in text.split()]
    return main(words) or 0


def _neurok(folder: Path, episodes: Path) -> int:
    from kin4d.neurok.config import PRESETS
    from kin4d.neurok.train import TRAIN_CONFIGS, train_neurok
    from kin4d.objects.augmentation import Augmentation
    from kin4d.objects.sources import articulated_source
    from kin4d.objects.stream import PairStream
    from kin4d.training.config import config_of_preset

    def stream(split: str, seed: int) -> Any:
        sources = [articulated_source().only(["box", "bottle"])]
        return PairStream(
            sources, points=32, batch=2, pool=4, seed=seed, split=split,
            augmentation=Augmentation(), workers=0,
        )  # fmt: skip

    def make_batches(process: int, step: int) -> Any:
        pairs = stream("train", process)
        pairs.index = step
        return iter(pairs)

    held_out = stream("dev", 1)
    train_neurok(
        make_batches,
        folder / "result",
        config=PRESETS["tiny"],
        train_config=config_of_preset(TRAIN_CONFIGS, "tiny", steps=STEPS, save_every=0.0),
        dev=[held_out[0]],
        data={},
    )
    return 0


def _joint_prior(folder: Path, episodes: Path) -> int:
    from kin4d.neurok.joint_prior import PRESETS
    from kin4d.neurok.joint_train import preset_train_config, train_joint_prior
    from kin4d.objects.piece_augmentation import PieceAugmentation
    from kin4d.objects.piece_stream import PiecePool, PieceStream
    from kin4d.objects.sources import articulated_source

    source = articulated_source().only(["lamp", "oven"])
    cache = folder / "cache"
    pool = PiecePool.procedural(source, "train", each=1, cache=cache)
    held_out = PiecePool.procedural(source, "dev", each=2, cache=cache)

    def make_batches(process: int, step: int) -> Any:
        return PieceStream([pool], batch=2, seed=process, vary=PieceAugmentation()).from_step(step)

    train_joint_prior(
        make_batches,
        folder / "result",
        config=PRESETS["tiny"],
        train_config=preset_train_config("tiny", steps=STEPS, save_every=0.0),
        dev={"articulated": [PieceStream([held_out], batch=2, seed=7)[0]]},
    )
    return 0


_TRAIN = f"train object-world -o {{output}} --episodes {{episodes}} --steps {STEPS} --save-every 0"

JOBS: dict[str, Job] = {
    "data objects": Job(
        partial(
            _command, "data objects -o {output} --count 12 --per-shard 2 --frames 4 --workers 1"
        ),
        "bytes",
    ),
    "export glb": Job(partial(_command, "animate bottle -o {output}/a.glb"), "bytes"),
    "export frames": Job(partial(_command, "animate bottle -o {output}/frames"), "bytes"),
    "export lerobot": Job(partial(_command, "data export {episodes} -o {output}"), "bytes", True),
    "train joint-prior": Job(_joint_prior, "training"),
    "train neurok": Job(_neurok, "training"),
    "train object-world": Job(
        partial(
            _command,
            f"{_TRAIN} --networks depth segmentation dynamics --batch 2 "
            "--window-batch 2 --window-frames 4",
        ),
        "training",
        True,
    ),
    "data episodes": Job(
        partial(
            _command,
            "data episodes -o {output} --count 2 --task push --frames 9 --size 32 32 "
            "--per-shard 1 --workers 1",
        ),
        "bytes",
    ),
    "bench reliability": Job(
        partial(
            _command,
            "bench reliability --parts files --loaders camera --count 3 --seed 1 "
            "--results {output}/parts --json {output}/report.json",
        ),
        "report",
    ),
}


def report_figures(file: Path) -> Any:
    """A report without times."""
    report = json.loads(file.read_text())
    rows = [{k: v for k, v in row.items() if "(s)" not in k} for row in report["rows"]]
    return rows, [one["pass"] for one in report.get("checks", ())]
