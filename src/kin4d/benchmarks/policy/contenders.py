"""Contenders: the policies that are judged, and controls that show what the judge looks at."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from kin4d.errors import InputError
from kin4d.policies.learned.learned_policy import LearnedPolicy
from kin4d.policies.policy import Policy
from kin4d.policies.scripted import ScriptedPolicy
from kin4d.training.weights import FILE, weights_file

_SIGMAS = (0.0, 0.0024, 0.0057, 0.0135, 0.032)  # m per action


@dataclass(frozen=True, eq=False, kw_only=True)
class Contender:
    """A policy in the benchmark.

    Attributes:
        name: Unique; it names a folder.
        policy: What acts.
        kind: "trained", "scripted" or "control"; controls are not compared with the others.
        digest: Of its weights; results of other weights are not its own.
    """

    name: str
    policy: Policy
    kind: str
    digest: str = ""


class OtherStart:
    """The expert's actions for another start: what it does has nothing to do with the scene."""

    control = "pose_delta"

    def __init__(self) -> None:
        self._expert = ScriptedPolicy()

    def __call__(self, observation: Mapping[str, Any]) -> np.ndarray:
        """Actions of the next seed's expert."""
        seed = int(observation["episode/seed"])
        return self._expert({**observation, "episode/seed": seed + 1})


def stay(observation: Mapping[str, Any]) -> np.ndarray:
    """Nothing, with the gripper as it is."""
    opening = float(np.asarray(observation["observation/gripper_position"])[0])
    return np.tile([0.0] * 6 + [opening], (8, 1))


def find_contenders(weights: Sequence[str | Path], *, quick: bool = False) -> list[Contender]:
    """Trained policies, five scripted ones and the controls.

    Args:
        weights: Runs of `kin4d train policy`, or folders of such runs.
        quick: Fewer scripted ones.
    """
    found = [
        Contender(
            name=f"expert:{sigma:g}" if sigma else "expert",
            policy=ScriptedPolicy(sigma=sigma),
            kind="scripted",
        )
        for sigma in (_SIGMAS[::2] if quick else _SIGMAS)
    ]
    for path in (run for one in weights for run in _runs(Path(one))):
        policy, file = LearnedPolicy(path), weights_file(path, "policy")
        digest = hashlib.sha256(file.read_bytes()).hexdigest()[:16]
        found.append(Contender(name=path.stem, policy=policy, kind="trained", digest=digest))
    found.append(Contender(name="control:other_start", policy=OtherStart(), kind="control"))
    found.append(Contender(name="control:stay", policy=stay, kind="control"))
    names = [one.name for one in found]
    if twice := sorted({name for name in names if names.count(name) > 1}):
        raise InputError(
            "two policies have the same name", value=twice[0], hint="rename one of their folders"
        )
    return found


def _runs(path: Path) -> list[Path]:
    if path.is_dir() and not (path / FILE).is_file():
        runs = sorted(one.parent for one in path.glob(f"*/{FILE}"))
        if not runs:
            raise InputError(
                f"no trained policy in {path}", hint="train one: kin4d train policy -o FOLDER"
            )
        return runs
    return [path]
