"""Speed: seconds per clip, and the share of the machine's peak that they use."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import torch
from torch.utils.flop_counter import FlopCounterMode

from kin4d.episodes.episode import Episode
from kin4d.world.diffusion.model import DiffusionWorldModel
from kin4d.world.episode_observation import episode_observation
from kin4d.world.model import WorldModel
from kin4d.world.observation import Observation

_TIMES = 3
_SIDE = 1024


def speeds(episodes: Sequence[Episode], models: Mapping[str, WorldModel]) -> list[dict[str, Any]]:
    """A row per model: median seconds of a clip, drawing the robot included, all cores."""
    peak = matmul_peak()
    found = []
    for name, model in models.items():
        first = episode_observation(episodes[0], threads=None)
        model.imagine(first)  # what is compiled once costs nothing
        with FlopCounterMode(display=False) as counter:
            model.imagine(first)
        work = 1e-9 * counter.get_total_flops()
        drawing, inference = [], []
        for episode in episodes:
            begin = time.perf_counter()
            observation = episode_observation(episode, threads=None)
            drawn = time.perf_counter()
            model.imagine(observation)
            drawing.append(drawn - begin)
            inference.append(time.perf_counter() - drawn)
        imagining = float(np.median(inference))
        found.append(
            {
                "speed of": name,
                "clips": len(episodes),
                "robot s": float(np.median(drawing)),
                "imagining s": imagining,
                "clip s": float(np.median(np.add(drawing, inference))),
                "threads": torch.get_num_threads(),
                "GFLOP": work,
                "of matmul peak": work / imagining / peak,
                **(_steps(model, first) if isinstance(model, DiffusionWorldModel) else {}),
            }
        )
    return found


def _steps(model: DiffusionWorldModel, observation: Observation) -> dict[str, float]:
    """What a step of the flow takes: the transformer alone."""
    transformer, seconds = model.video_model.transformer, []

    def begin(*_: object) -> None:
        seconds.append(-time.perf_counter())

    def end(*_: object) -> None:
        seconds[-1] += time.perf_counter()

    hooks = transformer.register_forward_pre_hook(begin), transformer.register_forward_hook(end)
    for _ in range(_TIMES):
        model.imagine(observation)
    for hook in hooks:
        hook.remove()
    step = min(seconds)
    return {"step s": step, "tokens per s": model.video_model.config.tokens / step}


def matmul_peak() -> float:
    """GFLOP/s of a large product of float32 matrices, the best of some."""
    a = torch.rand(_SIDE, _SIDE)
    seconds = []
    for _ in range(_TIMES):
        begin = time.perf_counter()
        _ = a @ a
        seconds.append(time.perf_counter() - begin)
    return 2e-9 * _SIDE**3 / min(seconds)
