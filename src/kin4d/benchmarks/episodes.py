"""Episodes: how fast they are made, whether experts succeed and failures are graded, and geometry.

Seeds here are from another million than those of training stores (``--seed 0`` and up).
"""

from __future__ import annotations

import multiprocessing
import os
import time
from collections.abc import Iterable
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from importlib import metadata

import numpy as np

from kin4d.benchmarks.episodes_lerobot import lerobot_report
from kin4d.benchmarks.episodes_mujoco import mujoco_seconds
from kin4d.benchmarks.report import Check, Report
from kin4d.episodes.episode import Episode
from kin4d.episodes.store import episode_record, restore_episode
from kin4d.kinematics.arms import ARMS, load_arm
from kin4d.progress import track
from kin4d.render.pointmaps import render_bodies
from kin4d.storage.worker import init_worker
from kin4d.tasks.perturbations import SIGMAS, near_miss, noisy_expert, shifted_expert
from kin4d.tasks.record import EpisodeSpec, make_episode
from kin4d.tasks.render_rollout import render_rollout
from kin4d.tasks.simulate import simulate_task
from kin4d.tasks.task import TASKS

RATE, RATIO, SUCCESS = 2000.0, 3.0, 0.95
GENTLE, WILD = 0.9, 0.1
OFF_PIXEL, IOU = 0.5, 0.999
_FIRST = 900_000_000


def run(*, quick: bool, seed: int) -> Report:
    """Speed, experts, failures, and the geometry of what was made."""
    report = Report()
    for part in (_speed, _experts, _failures, _geometry):
        found = part(quick=quick, seed=_FIRST + 1_000_000 * seed)
        report.rows += found.rows
        report.ratios |= found.ratios
        report.checks += found.checks
        report.notes += found.notes
    return report


def _arms() -> list[str]:
    """Arms whose files are installed."""
    try:
        metadata.distribution("example-robot-data")
    except metadata.PackageNotFoundError:
        return [ARMS[0]]
    return list(ARMS)


def _speed(*, quick: bool, seed: int) -> Report:
    """Episodes per hour of one core's time, whole: simulated, drawn, encoded."""
    rows, rate = [], {}
    for height, width in ((64, 96), (240, 360)):
        rounds = 1 if quick or height > 64 else 4
        takes = [EpisodeSpec(task=task, seed=seed + i) for i in range(rounds) for task in TASKS]
        make_episode(takes[0], height=height, width=width)
        start = time.process_time()
        for take in track(takes, f"making episodes at {height} x {width}"):
            episode_record(make_episode(take, height=height, width=width))
        spent = (time.process_time() - start) / len(takes)
        rate[height] = 3600 / spent
        rows.append(
            {
                "size": f"{height} x {width}",
                "episodes": len(takes),
                "s per episode": spent,
                "episodes/h per core": rate[height],
            }
        )
    checks = [Check("episodes per hour per core at 64 x 96", rate[64], RATE, at_least=True)]
    found = _images(seed)
    return Report(
        rows=rows + found.rows, checks=checks + found.checks, ratios=found.ratios, notes=found.notes
    )


def _images(seed: int) -> Report:
    """The same scene through MuJoCo's own renderer, with and without shadows and smooth edges."""
    scene = TASKS["lift"].build(seed)
    rollout = simulate_task(scene, TASKS["lift"].expert(scene))
    rows, ratio = [], {}
    for look, antialias, lit in (("plain", 1, False), ("shadows, 4 samples per pixel", 2, True)):
        ours = min(
            _seconds(partial(render_rollout, scene, rollout, antialias=antialias)) for _ in range(3)
        )
        theirs = mujoco_seconds(scene, rollout, height=64, width=96, lit=lit)
        if isinstance(theirs, str):
            return Report(notes=[f"MuJoCo's renderer was not measured: {theirs}"])
        ratio[look] = theirs[1] / ours
        for who, seconds in (("kin4d", ours), (f"MuJoCo ({theirs[0]})", theirs[1])):
            each = 1000 * seconds / len(rollout.q)
            rows.append({"images by": who, "look": look, "ms per frame": each})
    name = "times faster than MuJoCo's renderer on the same scene, as episodes are drawn"
    return Report(
        rows=rows,
        checks=[Check(name, ratio["shadows, 4 samples per pixel"], RATIO, at_least=True)],
        ratios={f"images, MuJoCo / kin4d, {look}": value for look, value in ratio.items()},
        notes=[
            "images are colour, depth or XYZ, and masks; processor time, all threads together",
            "kin4d's shadows are drawn in the plain look too; MuJoCo's are not",
        ],
    )


def _seconds(job) -> float:
    start = time.process_time()
    job()
    return time.process_time() - start


def _experts(*, quick: bool, seed: int) -> Report:
    """How often the expert of each task succeeds, by arm."""
    count = 10 if quick else 100
    arms = _arms()[:1] if quick else _arms()
    items = [(task, arm, seed + i) for task in TASKS for arm in arms for i in range(count)]
    done = dict(zip(items, _abroad(_expert_succeeds, items, "experts"), strict=True))
    rows, worst = [], {}
    for task in TASKS:
        share = {
            arm: float(np.mean([done[task, arm, seed + i] for i in range(count)])) for arm in arms
        }
        rows.append({"task": task, **{f"expert, {arm}": share[arm] for arm in arms}})
        for arm in arms:
            worst[arm] = min(worst.get(arm, 1.0), float(share[arm]))
    checks = [
        Check(
            f"worst task's expert success over {count} seeds, {arm}", value, SUCCESS, at_least=True
        )
        for arm, value in worst.items()
    ]
    return Report(rows=rows, checks=checks)


def _failures(*, quick: bool, seed: int) -> Report:
    """Success by grade of noise, and pairs of near misses."""
    count = 3 if quick else 20
    rows, share = [], []
    for sigma in SIGMAS:
        items = [(task, seed + i) for task in TASKS for i in range(count)]
        done = _abroad(partial(_noisy_succeeds, sigma=sigma), items, f"noise of {sigma} m")
        share.append(float(np.mean(done)))
        rows.append({"noise mm per action": 1000 * sigma, "success": share[-1]})
    items = [(task, seed + i) for task in TASKS for i in range(max(count // 4, 1))]
    pairs = [pair for pair in _abroad(_pair, items, "near misses") if pair is not None]
    true = [hit and not miss for hit, miss, _ in pairs]
    gap = float(np.median([gap for *_, gap in pairs]))
    rows.append({"near misses sought": len(items), "found": len(pairs), "apart mm": 1000 * gap})
    return Report(
        rows=rows,
        checks=[
            Check("success with the gentlest noise", share[0], GENTLE, at_least=True),
            Check("success with the wildest noise", share[-1], WILD),
            Check("near misses whose two sides differ", float(np.mean(true)), 1.0, at_least=True),
        ],
    )


def _geometry(*, quick: bool, seed: int) -> Report:
    """What a store gives back: is it metric, consistent, and the robot where FK puts it?"""
    arms = _arms()
    takes = [
        EpisodeSpec(
            task=task,
            arm=arms[i % len(arms)],
            seed=seed + i,
            variant="noisy" if i % 2 else "expert",
        )
        for i, task in enumerate(TASKS)
    ]
    off, iou, drift, first = [], [], [], []
    for take in track(takes[:4] if quick else takes, "checking geometry"):
        record = episode_record(make_episode(take))
        episode = restore_episode(record.line, record.arrays)
        first += [episode] if take.arm == arms[0] else []
        off.append(off_pixel(episode))
        iou.append(robot_iou(episode))
        drift.append(background_drift(episode))
    lerobot = lerobot_report(first)
    return Report(
        rows=[
            {
                "episodes": len(off),
                "worst px off": max(off),
                "worst robot IoU": min(iou),
                "background drift m": max(drift),
            },
            *lerobot.rows,
        ],
        checks=[
            Check("pixels between a point and its pixel, at worst", max(off), OFF_PIXEL),
            Check("IoU of robot masks with the FK render, at worst", min(iou), IOU, at_least=True),
            Check("metres of drift of the still background", max(drift), 0.0),
            *lerobot.checks,
        ],
        notes=[
            "geometry is that of episodes written to a store's form and read back",
            *lerobot.notes,
        ],
    )


def off_pixel(episode: Episode) -> float:
    """Pixels by which an episode's points miss the pixels they are in, at worst."""
    camera, xyz = episode.video.camera, episode.video.xyz.astype(np.float64)
    pixels = (xyz @ camera.K.T)[..., :2] / xyz[..., 2:]
    u, v = np.meshgrid(np.arange(camera.width), np.arange(camera.height))
    return float(np.nanmax(np.abs(pixels - np.stack([u, v], -1))))


def robot_iou(episode: Episode) -> float:
    """IoU of the robot's mask with its FK render, where nothing else stands before it."""
    assert episode.joints is not None
    body, video = load_arm(episode.robot).body, episode.video
    drawn = render_bodies([body], [episode.joints], video.camera, threads=1)
    seen = (drawn.mask > 0) & (drawn.xyz[..., 2] <= video.xyz[..., 2] + 5e-4)
    mask = episode.robot_mask
    return float((seen & mask).sum() / (seen | mask).sum())


def background_drift(episode: Episode) -> float:
    """Metres by which background points move from frame to frame, at worst."""
    xyz, still = episode.video.xyz, episode.video.mask == 0
    both = still[1:] & still[:-1]
    return float(np.abs(xyz[1:] - xyz[:-1])[both].max(initial=0.0))


def _abroad(job, items: list, what: str) -> list:
    """`job` of every item, on all cores."""
    context = multiprocessing.get_context("spawn")
    workers = len(os.sched_getaffinity(0))
    with ProcessPoolExecutor(workers, mp_context=context, initializer=init_worker) as pool:
        found: Iterable = pool.map(job, items, chunksize=8)
        return list(track(found, what, total=len(items)))


def _expert_succeeds(item: tuple[str, str, int]) -> bool:
    task, arm, seed = item
    scene = TASKS[task].build(seed, arm=arm)
    return simulate_task(scene, TASKS[task].expert(scene), frames=2).success


def _noisy_succeeds(item: tuple[str, int], sigma: float) -> bool:
    task, seed = item
    scene = TASKS[task].build(seed)
    actions = noisy_expert(TASKS[task].expert(scene), sigma, np.random.default_rng(seed))
    return simulate_task(scene, actions, frames=2).success


def _pair(item: tuple[str, int]) -> tuple[bool, bool, float] | None:
    """Whether both sides of a near miss succeed when done again, and how far apart they are."""
    task, seed = item
    scene = TASKS[task].build(seed)
    actions = TASKS[task].expert(scene)
    found = near_miss(scene, actions, np.random.default_rng(seed))
    if found is None:
        return None
    hit, miss = (
        simulate_task(scene, shifted_expert(actions, offset)).success
        for offset in (found.hit, found.miss)
    )
    return hit, miss, float(np.linalg.norm(found.hit - found.miss))
