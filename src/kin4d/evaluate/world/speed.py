"""Speed: seconds from a robot's motion to a clip, and what the machine could do meanwhile."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import torch

from kin4d.data.episodes.episode import Episode
from kin4d.data.episodes.lessons import situation_of
from kin4d.evaluate.world.imaginers import Imaginer

_TIMES = 3
_SIDE = 1024


def speeds(episodes: Sequence[Episode], rows: Mapping[str, Imaginer]) -> list[dict[str, Any]]:
    """A row per imaginer: median seconds of a clip, drawing the robot included, all cores."""
    peak = matmul_peak()
    for imagine in rows.values():
        imagine(situation_of(episodes[0], threads=None))  # what is compiled once costs nothing
    found = []
    for name, imagine in rows.items():
        drawing, telling = [], []
        for episode in episodes:
            begin = time.perf_counter()
            situation = situation_of(episode, threads=None)
            drawn = time.perf_counter()
            imagine(situation)
            drawing.append(drawn - begin)
            telling.append(time.perf_counter() - drawn)
        found.append(
            {
                "speed of": name,
                "clips": len(episodes),
                "robot s": float(np.median(drawing)),
                "imagining s": float(np.median(telling)),
                "clip s": float(np.median(np.add(drawing, telling))),
                "threads": torch.get_num_threads(),
                "matmul peak GFLOP/s": peak,
            }
        )
    return found


def matmul_peak() -> float:
    """GFLOP/s of a large product of float32 matrices, the best of some."""
    a = torch.rand(_SIDE, _SIDE)
    seconds = []
    for _ in range(_TIMES):
        begin = time.perf_counter()
        _ = a @ a
        seconds.append(time.perf_counter() - begin)
    return 2e-9 * _SIDE**3 / min(seconds)
