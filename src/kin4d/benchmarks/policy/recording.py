"""Side-by-side videos of episodes: the truth on the left, what was judged on the right."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from kin4d.benchmarks.policy.analysis import Worlds
from kin4d.benchmarks.policy.contenders import Contender
from kin4d.envs.env import make_task_env
from kin4d.export.video import write_video
from kin4d.policies.evaluate import EpisodeOutcome
from kin4d.policies.policy import EpisodeError, StatefulPolicy
from kin4d.tasks.trajectory import RATE

_EVERY = 2  # actions between frames
_SCALE, _GAP = 2, 6  # pixels for each of the image's; between the two videos
KINDS = {
    (True, True): "both succeed",
    (True, False): "imagined success, true failure",
    (False, True): "imagined failure, true success",
    (False, False): "both fail",
}
"""Of an episode, by imagined and true success."""


@dataclass(frozen=True, kw_only=True)
class RecordedEpisode:
    """A video of one episode in both worlds.

    Attributes:
        file: GIF.
        kind: One of `KINDS`.
        policy: Its name.
        task: Its name.
        seed: Of the start.
    """

    file: Path
    kind: str
    policy: str
    task: str
    seed: int


def record_examples(
    folder: Path,
    outcomes: Sequence[EpisodeOutcome],
    contenders: Sequence[Contender],
    worlds: Worlds,
    options: Mapping[str, Mapping[str, Any]],
    *,
    count: int = 3,
) -> list[RecordedEpisode]:
    """Videos of `count` episodes of each kind, of different policies and tasks where possible.

    Episodes are run again, action by action; one that does not end as it did is left out.
    """
    by_name = {one.name: one for one in contenders if one.kind != "control"}
    success: dict[tuple[str, str, int], dict[str, bool]] = {}
    for one in outcomes:
        if not one.error and one.policy in by_name:
            success.setdefault((one.policy, one.task, one.seed), {})[one.env] = one.success
    recorded = []
    for (judged, true), kind in KINDS.items():
        both = {worlds.judged: judged, worlds.truth: true}
        matching = [key for key, found in success.items() if found == both]
        order = np.random.default_rng(0).permutation(len(matching))
        # Trained policies come first, then those of tasks and policies not yet shown.
        shuffled = sorted(
            (matching[i] for i in order), key=lambda key: by_name[key[0]].kind != "trained"
        )
        chosen: list[tuple[str, str, int]] = []
        for fresh in (True, False):
            for key in shuffled:
                new = not any(key[0] == one[0] or key[1] == one[1] for one in chosen)
                if len(chosen) < count and key not in chosen and (new or not fresh):
                    chosen.append(key)
        for policy, task, seed in chosen:
            videos = {
                world: _record(world, by_name[policy], task, seed, options.get(world, {}))
                for world in (worlds.truth, worlds.judged)
            }
            if any(videos[world][1] != both[world] for world in videos):
                continue
            file = folder / f"{task}-{seed}-{policy.replace(':', '-')}.gif"
            frames = _side_by_side(videos[worlds.truth][0], videos[worlds.judged][0])
            write_video(frames, file, fps=RATE / _EVERY)
            recorded.append(
                RecordedEpisode(file=file, kind=kind, policy=policy, task=task, seed=seed)
            )
    return recorded


def _record(
    world: str, contender: Contender, task: str, seed: int, options: Mapping[str, Any]
) -> tuple[np.ndarray, bool]:
    """[T, H, W, 3] frames of an episode, and its success."""
    env, policy = make_task_env(world, task=task, **options), contender.policy
    observation, info = env.reset(seed=seed)
    frames, over = [observation["pixels"]["front"]], False
    try:
        if isinstance(policy, StatefulPolicy):
            policy.reset()
        while not over:
            for action in policy(env.policy_observation(observation)):
                observation, _, done, cut, info = env.step(action)
                if info["steps"] % _EVERY == 0 or done or cut:
                    frames.append(observation["pixels"]["front"])
                over = done or cut
                if over:
                    break
    except EpisodeError:
        return np.array(frames), False
    return np.array(frames), bool(info["is_success"])


def _side_by_side(left: np.ndarray, right: np.ndarray) -> np.ndarray:
    """Both videos, the shorter one held at its last frame."""
    length = max(len(left), len(right))
    left, right = (
        np.concatenate([one, one[-1:].repeat(length - len(one), 0)]) for one in (left, right)
    )
    gap = np.full((length, left.shape[1], _GAP, 3), 255, np.uint8)
    return np.concatenate([left, gap, right], 2).repeat(_SCALE, 1).repeat(_SCALE, 2)
