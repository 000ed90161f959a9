"""Object data: how fast pairs are made, whether objects are sound, whether stores survive."""

from __future__ import annotations

import multiprocessing
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

from kin4d.benchmarks import soft
from kin4d.benchmarks.report import Check, Report
from kin4d.objects.augmentation import Augmentation
from kin4d.objects.generate import DatasetSpec, generate_objects
from kin4d.objects.sequence_store import SequenceStore
from kin4d.objects.sources import SEEDS, articulated_source
from kin4d.objects.stream import PairStream
from kin4d.progress import track
from kin4d.storage.worker import init_worker

POINTS, RATE = 512, 500.0
KILLS = 3


def run(*, quick: bool, seed: int) -> Report:
    """Pairs per second, sound objects, a store killed on the way, and soft simulations."""
    report = Report()
    for part in (_pairs, _objects, _store, soft.run):
        _merge(report, part(quick=quick, seed=seed))
    return report


def _merge(report: Report, other: Report) -> None:
    report.rows += other.rows
    report.ratios |= other.ratios
    report.checks += other.checks
    report.notes += other.notes


def _pairs(*, quick: bool, seed: int) -> Report:
    """Training pairs per second of processor time, by one process."""
    batches = 48 if quick else 240
    rows = []
    for name, augmentation in (("all", Augmentation()), ("none", Augmentation.none())):
        stream = PairStream(
            [articulated_source()], points=POINTS, seed=seed, augmentation=augmentation
        )
        # Starting fills the pool with new objects; after that, renewals come evenly.
        for index in range(stream.pool // stream.batch):
            stream[index]
        start = time.process_time()
        first = stream.pool // stream.batch
        for index in track(range(first, first + batches), "making pairs"):
            stream[index]
        spent = time.process_time() - start
        rows.append(
            {
                "augmentation": name,
                "points": POINTS,
                "pairs": batches * stream.batch,
                "pairs per object": stream.reuse,
                "pairs/s per core": batches * stream.batch / spent,
            }
        )
    return Report(
        rows=rows,
        checks=[
            Check("articulated pairs/s per core", rows[0]["pairs/s per core"], RATE, at_least=True)
        ],
        notes=["pairs per second of processor time of one process, new objects included"],
    )


def _objects(*, quick: bool, seed: int) -> Report:
    """Procedural objects of every category that the checker finds something wrong with."""
    count = 450 if quick else 10_000
    items = _objects_to_check(count, seed)
    invalid, first = Counter(), {}
    context = multiprocessing.get_context("spawn")
    workers = len(os.sched_getaffinity(0))
    with ProcessPoolExecutor(workers, mp_context=context, initializer=init_worker) as pool:
        found = pool.map(_problems, items, chunksize=50)
        for (category, number), problems in track(
            zip(items, found, strict=True), "checking objects", total=count
        ):
            if problems:
                invalid[category] += 1
                first.setdefault(category, f"{category} {number}: {problems[0]}")
    return Report(
        rows=[
            {
                "objects": count,
                "categories": len({category for category, _ in items}),
                "invalid": sum(invalid.values()),
            }
        ],
        checks=[Check(f"invalid of {count} procedural objects", sum(invalid.values()), 0)],
        notes=[f"invalid object: {text}" for text in first.values()],
    )


def _objects_to_check(count: int, seed: int) -> list[tuple[str, int]]:
    """Every category in turn, with seeds drawn from all there are: none was looked at before."""
    categories = articulated_source().categories
    rng = random.Random(f"objects of benchmark {seed}")
    return [(categories[i % len(categories)], rng.randrange(SEEDS)) for i in range(count)]


def _problems(item: tuple[str, int]) -> list[str]:
    from kin4d.objects.procedural.categories import make_object
    from kin4d.objects.procedural.validate import validate_object

    return validate_object(make_object(*item))


def _store(*, quick: bool, seed: int) -> Report:
    """A store whose writer is killed three times on the way."""
    plan = DatasetSpec(count=200 if quick else 2000, seed=seed, frames=8, per_shard=16)
    rng = random.Random(seed)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "store"
        killed = 0
        for part in track(range(1, KILLS + 1), "killing the writer"):
            writer = subprocess.Popen(_command(plan, path), stderr=subprocess.DEVNULL)
            while writer.poll() is None and _finished(path) < plan.shards * part // (KILLS + 1):
                time.sleep(0.001)
            time.sleep(rng.uniform(0.0, 0.05))
            writer.kill()
            killed += writer.wait() == -signal.SIGKILL
        kept = _finished(path)
        store = generate_objects(plan, path)
        wrong = SequenceStore.open(path).verify()
        expected = {who.key for who in plan.identities()}
        counts = Counter(who.key for who in store.identities)
        size = sum(file.stat().st_size for file in path.rglob("*.npy"))
    lost = len(expected - set(counts))
    twice = sum(counts.values()) - len(counts)
    return Report(
        rows=[
            {
                "sequences": len(store),
                "MB": size / 1e6,
                "times killed": killed,
                "shards kept": kept,
                "shards": plan.shards,
                "lost": lost,
                "duplicated": twice,
                "checksum errors": len(wrong),
            }
        ],
        checks=[
            Check("times the writer was killed with SIGKILL", killed, KILLS, at_least=True),
            Check("sequences lost", lost, 0),
            Check("sequences duplicated", twice, 0),
            Check("checksum errors", len(wrong), 0),
        ],
    )


def _command(plan: DatasetSpec, path: Path) -> list[str]:
    """What makes the store, as a process of its own."""
    arguments = f"{plan!r}, {str(path)!r}"
    return [
        sys.executable,
        "-c",
        f"from kin4d.objects.generate import *; generate_objects({arguments})",
    ]


def _finished(path: Path) -> int:
    return len([*path.glob("shards/[0-9]*")])
