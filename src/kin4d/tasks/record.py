"""Episodes of tasks: one scene, one way of doing it (well or badly), one video."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import lru_cache

import numpy as np

from kin4d.episodes.episode import FRAMES, Episode
from kin4d.errors import InputError
from kin4d.kinematics.actions import Actions
from kin4d.kinematics.resample import resample
from kin4d.tasks.perturbations import SIGMAS, NearMiss, near_miss, noisy_expert, shifted_expert
from kin4d.tasks.render_rollout import render_rollout
from kin4d.tasks.simulate import Rollout, simulate_task
from kin4d.tasks.task import named_task
from kin4d.tasks.task_scene import TaskScene

KINDS = ("expert", "noise", "miss", "hit")
"""How a task is done: well; with noise; just missed; and the hit that goes with that miss."""


@dataclass(frozen=True, kw_only=True)
class EpisodeSpec:
    """What an episode is made from.

    Attributes:
        task: See `TASKS`.
        arm: See `ARMS`.
        seed: Of the scene and of the noise.
        kind: One of `KINDS`.
    """

    task: str
    arm: str = "sketch"
    seed: int = 0
    kind: str = "expert"

    def __post_init__(self) -> None:
        if self.kind not in KINDS:
            raise InputError("kind of take", value=self.kind, allowed=", ".join(KINDS))

    @property
    def name(self) -> str:
        """Of the episode."""
        return f"{self.arm}-{self.seed}-{self.kind}"


def make_episode(
    take: EpisodeSpec,
    *,
    frames: int = FRAMES,
    height: int = 64,
    width: int = 96,
    antialias: int = 2,
) -> Episode:
    """Set a take's scene up, do the task in simulation, judge it and draw it.

    A near miss that cannot be found (no offset makes the expert fail) is an `InputError`.

    Args:
        take: What to make.
        frames: Spread evenly over the whole motion.
        height: Pixels.
        width: Pixels.
        antialias: Samples along each side of a pixel, for the colours alone.
    """
    scene = named_task(take.task).build(take.seed, arm=take.arm)
    actions, fault = _perturbed(take, scene)
    rollout = simulate_task(scene, actions, frames=frames)
    made = render_rollout(scene, rollout, height=height, width=width, antialias=antialias)
    return Episode(
        name=take.name,
        video=made.video,
        parts=made.parts,
        robot=take.arm,
        base=scene.arm.body.root,
        joints=rollout.q,
        joint_names=scene.arm.body.coordinates,
        actions=_frame_actions(rollout, frames),
        language=scene.instruction,
        task=take.task,
        success=rollout.success,
        seed=take.seed,
        factors={
            "object": scene.script.objects[0],
            "background": f"room{scene.room.style:02d}",
        },
        meta={"kind": take.kind, **fault, "objects": [*scene.script.objects]},
    )


def _perturbed(take: EpisodeSpec, scene: TaskScene) -> tuple[Actions, dict]:
    """The actions of a take, and what was done to the expert's."""
    actions = named_task(take.task).expert(scene)
    if take.kind == "expert":
        return actions, {}
    if take.kind == "noise":
        dice = np.random.default_rng([take.seed, 1001])
        # Between the gentlest grade and the wildest, each power of two equally often.
        sigma = float(np.exp(dice.uniform(np.log(SIGMAS[0]), np.log(SIGMAS[-1]))))
        return noisy_expert(actions, sigma, dice), {"sigma": sigma}
    found = _near_miss(take.task, take.arm, take.seed)
    if found is None:
        raise InputError(f"no offset makes {take.task} fail", value=take.name)
    offset = found.miss if take.kind == "miss" else found.hit
    return shifted_expert(actions, offset), {"offset": offset.round(6).tolist()}


@lru_cache(maxsize=16)
def _near_miss(task: str, arm: str, seed: int) -> NearMiss | None:
    """Kept for a moment: the two takes of a pair are made one after the other."""
    chosen = named_task(task)
    scene = chosen.build(seed, arm=arm)
    return near_miss(scene, chosen.expert(scene), np.random.default_rng([seed, 1002]))


def _frame_actions(rollout: Rollout, frames: int) -> Actions:
    """One action per frame; that of the first frame is none."""
    between = resample(rollout.actions, frames - 1)
    assert between.gripper is not None
    return replace(
        between,
        values=np.concatenate([np.zeros((1, 6)), between.values]),
        gripper=np.concatenate([between.gripper[:1], between.gripper]),
    )
