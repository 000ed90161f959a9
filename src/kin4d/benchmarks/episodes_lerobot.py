"""LeRobot and back: what others read of our export, and what we read of a folder made by hand."""

from __future__ import annotations

import importlib
import json
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from kin4d.benchmarks.report import Check, Report
from kin4d.episodes.episode import Episode
from kin4d.episodes.formats.lerobot_write import write_lerobot
from kin4d.episodes.formats.reader import open_dataset
from kin4d.episodes.recording import Recording
from kin4d.errors import MissingExtraError
from kin4d.export.video import write_video
from kin4d.extras import require

_FPS, _ROWS = 10.0, 60


def lerobot_report(episodes: Sequence[Episode]) -> Report:
    """Checks of a v3 export read without this project, and of a v2.1 folder read by it."""
    try:
        arrow = require("pyarrow", extra="episodes", purpose="reading parquet")
        parquet = require("pyarrow.parquet", extra="episodes", purpose="reading parquet")
    except MissingExtraError as error:
        return Report(notes=[f"LeRobot was not checked: {error}"])
    with tempfile.TemporaryDirectory() as folder:
        written = write_lerobot(episodes, Path(folder) / "v3", fps=_FPS)
        reader, rows, wrong = _read_by_others(written, parquet)
        expected = json.loads((written / "meta/info.json").read_text())["total_frames"]
        ours = open_dataset(written)
        lost = sum(ours.read(i).language != one.language for i, one in enumerate(episodes))
        apart = _read_by_us(Path(folder) / "v2", arrow, parquet)
    return Report(
        rows=[{"LeRobot v3 read by": reader, "rows": rows, "v2.1 by hand, joints apart": apart}],
        checks=[
            Check("rows of a LeRobot v3 export that others do not find", expected - rows, 0),
            Check("rows of it with values missing", wrong, 0),
            Check("instructions lost on the way to LeRobot v3 and back", lost, 0),
            Check("rad between joints of a v2.1 folder made by hand and as read", apart, 1e-6),
        ],
    )


def _read_by_others(folder: Path, parquet: Any) -> tuple[str, int, int]:
    """Who reads a v3 folder, how many rows, and in how many of them something is missing."""
    files = [str(path) for path in sorted(folder.glob("data/*/*.parquet"))]
    wanted = ("observation.state", "action", "timestamp", "episode_index")
    try:
        datasets: Any = importlib.import_module("datasets")
        with tempfile.TemporaryDirectory() as cache:
            table = datasets.Dataset.from_parquet(files, cache_dir=cache)
            rows = [{name: row[name] for name in wanted} for row in table]
        reader = "datasets"
    except ImportError:
        rows = [row for file in files for row in parquet.read_table(file).to_pylist()]
        reader = "pyarrow"
    wrong = sum(
        not np.isfinite([*row["observation.state"], *row["action"], row["timestamp"]]).all()
        for row in rows
    )
    return reader, len(rows), int(wrong)


def _read_by_us(folder: Path, arrow: Any, parquet: Any) -> float:
    """Radians between the joints of a v2.1 folder written here by hand and as they are read."""
    names = [f"joint{i + 1}.pos" for i in range(6)]
    state = np.random.default_rng(0).uniform(-1, 1, (_ROWS, 6)).astype(np.float32)
    vector = {"dtype": "float32", "shape": [6], "names": names}
    video = "observation.images.front"
    info = {
        "codebase_version": "v2.1",
        "robot_type": "so100",
        "total_episodes": 1,
        "fps": 30,
        "chunks_size": 1000,
        "data_path": "data/chunk-{episode_chunk:03d}/episode_{episode_index:06d}.parquet",
        "video_path": "videos/chunk-{episode_chunk:03d}/{video_key}/"
        "episode_{episode_index:06d}.mp4",
        "features": {
            "action": vector,
            "observation.state": vector,
            video: {"dtype": "video", "shape": [64, 96, 3], "names": None},
        },
    }
    (folder / "meta").mkdir(parents=True)
    (folder / "data/chunk-000").mkdir(parents=True)
    (folder / "meta/info.json").write_text(json.dumps(info))
    line = {"episode_index": 0, "tasks": ["wave"], "length": _ROWS}
    (folder / "meta/episodes.jsonl").write_text(json.dumps(line))
    (folder / "meta/tasks.jsonl").write_text(json.dumps({"task_index": 0, "task": "wave"}))
    columns = {
        "action": state.tolist(),
        "observation.state": state.tolist(),
        "timestamp": (np.arange(_ROWS) / 30).tolist(),
        "frame_index": [*range(_ROWS)],
        "episode_index": [0] * _ROWS,
    }
    parquet.write_table(arrow.table(columns), folder / "data/chunk-000/episode_000000.parquet")
    images = np.full((_ROWS, 64, 96, 3), 120, np.uint8)
    write_video(images, folder / f"videos/chunk-000/{video}/episode_000000.mp4", fps=30)
    found = open_dataset(folder).read(0)
    assert isinstance(found, Recording)
    joints, frames = found.motions["state_joint"].values, found.view()[1].read()[0]
    whole = joints.shape == state.shape and len(frames) == _ROWS
    return float(np.abs(joints - state).max()) if whole else np.inf
