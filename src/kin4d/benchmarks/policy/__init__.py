"""Policies judged in imagination: does it say of each what would happen in truth?

The same policies from the same starts in MuJoCo and in the world model. With 15 policies and two
controls, eight tasks and 50 starts there are 13,600 episodes: about two core-hours in MuJoCo and
four in imagination. Outcomes are kept in a folder, so that the run can be stopped and go on.
"""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from pathlib import Path

from kin4d.benchmarks.policy.analysis import Worlds, policy_report
from kin4d.benchmarks.policy.contenders import find_contenders
from kin4d.benchmarks.policy.result_folder import ResultFolder, Start, run_missing
from kin4d.benchmarks.report import Report
from kin4d.progress import track

TASKS = (
    "reach",
    "push",
    "lift",
    "knock_over",
    "press_button",
    "open_drawer",
    "close_drawer",
    "close_door",
)
_FIRST_SEED = 930_000_000  # nothing is trained on seeds from 900 million on
_WINDOW, _MAX_STEPS = 80, 100
_WORLD_MODEL = "tiny"


def run(
    *,
    quick: bool,
    seed: int,
    weights: Sequence[str] = (),
    count: int = 50,
    results: Path | None = None,
    images: Path | None = None,
) -> Report:
    """All policies from all starts in both worlds.

    Args:
        quick: Two tasks, one start and three scripted policies.
        seed: Of the starts.
        weights: Runs of `kin4d train policy`, or folders of such runs.
        count: Starts of each task.
        results: Folder of the outcomes; a run with the same folder goes on. None keeps none.
        images: A folder for the HTML page and its videos.
    """
    import torch

    from kin4d.envs import IMAGINED, MUJOCO
    from kin4d.training.weights import weights_file
    from kin4d.world.model import load_world_model

    torch.set_num_threads(1)
    contenders = find_contenders(weights, quick=quick)
    tasks, count = (TASKS[:2], 1) if quick else (TASKS, count)
    digest = _digest(weights_file(_WORLD_MODEL, "world"))
    shared = {"max_steps": _MAX_STEPS}
    options = {
        MUJOCO: shared,
        IMAGINED: shared | {"weights": load_world_model(_WORLD_MODEL), "window": _WINDOW},
    }
    settings = {"world model": digest, "window": _WINDOW, "max_steps": _MAX_STEPS, "seed": seed}
    starts: list[Start] = [
        (task, _FIRST_SEED + 1000 * seed + number) for number in range(count) for task in tasks
    ]
    with tempfile.TemporaryDirectory() as temporary:
        folder = ResultFolder(results or Path(temporary) / "results", settings)
        outcomes = run_missing(folder, contenders, track(starts, "starts"), options)
    worlds = Worlds(judged=IMAGINED, truth=MUJOCO)
    report = policy_report(outcomes, contenders, worlds)
    report.weights = {"world-tiny": digest} | {
        one.name: one.digest for one in contenders if one.digest
    }
    if images is not None:
        from kin4d.benchmarks.policy.page import write_page
        from kin4d.benchmarks.policy.recording import record_examples

        videos = record_examples(
            images / "videos", outcomes, contenders, worlds, options, count=1 if quick else 3
        )
        write_page(images / "policy.html", report, videos)
    return report


def _digest(file: Path) -> str:
    """16 hex digits of the SHA-256 of a file."""
    import hashlib

    return hashlib.sha256(file.read_bytes()).hexdigest()[:16]
