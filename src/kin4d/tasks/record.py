"""Episodes of tasks: one scene, one variant of the expert's actions, one video."""

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

VARIANTS = ("expert", "noisy", "near_miss", "near_hit")
"""How a task is done: by the expert, with noise, or by one of a pair with almost equal offsets, of
which `near_miss` fails and `near_hit` succeeds."""


@dataclass(frozen=True, kw_only=True)
class EpisodeSpec:
    """What an episode is made from.

    Attributes:
        task: See `TASKS`.
        arm: See `ARMS`.
        seed: Of the scene and of the noise.
        variant: One of `VARIANTS`.
    """

    task: str
    arm: str = "kin4d_arm"
    seed: int = 0
    variant: str = "expert"

    def __post_init__(self) -> None:
        if self.variant not in VARIANTS:
            raise InputError("variant", value=self.variant, allowed=", ".join(VARIANTS))

    @property
    def name(self) -> str:
        """Of the episode."""
        return f"{self.arm}-{self.seed}-{self.variant}"


def make_episode(
    spec: EpisodeSpec,
    *,
    frames: int = FRAMES,
    height: int = 64,
    width: int = 96,
    antialias: int = 2,
) -> Episode:
    """Set up a task's scene, run the task in simulation, evaluate its success and render it.

    A near miss that cannot be found (no offset makes the expert fail) is an `InputError`.

    Args:
        spec: What to make.
        frames: Spread evenly over the whole motion.
        height: Pixels.
        width: Pixels.
        antialias: Samples along each side of a pixel, for the colours alone.
    """
    scene = named_task(spec.task).build(spec.seed, arm=spec.arm)
    actions, perturbation = _perturbed(spec, scene)
    rollout = simulate_task(scene, actions, frames=frames)
    made = render_rollout(scene, rollout, height=height, width=width, antialias=antialias)
    return Episode(
        name=spec.name,
        video=made.video,
        parts=made.parts,
        robot=spec.arm,
        base=scene.arm.body.root,
        joints=rollout.q,
        joint_names=scene.arm.body.coordinates,
        actions=_frame_actions(rollout, frames),
        language=scene.instruction,
        task=spec.task,
        success=rollout.success,
        seed=spec.seed,
        factors={
            "object": scene.spec.objects[0],
            "background": f"room{scene.room.style:02d}",
        },
        meta={"kind": spec.variant, **perturbation, "objects": [*scene.spec.objects]},
    )


def _perturbed(spec: EpisodeSpec, scene: TaskScene) -> tuple[Actions, dict]:
    """The actions of an episode, and the perturbation of the expert's actions."""
    actions = named_task(spec.task).expert(scene)
    if spec.variant == "expert":
        return actions, {}
    if spec.variant == "noisy":
        rng = np.random.default_rng([spec.seed, 1001])
        # Between the gentlest grade and the wildest, each power of two equally often.
        sigma = float(np.exp(rng.uniform(np.log(SIGMAS[0]), np.log(SIGMAS[-1]))))
        return noisy_expert(actions, sigma, rng), {"sigma": sigma}
    found = _near_miss(spec.task, spec.arm, spec.seed)
    if found is None:
        raise InputError(f"no offset makes {spec.task} fail", value=spec.name)
    offset = found.miss if spec.variant == "near_miss" else found.hit
    return shifted_expert(actions, offset), {"offset": offset.round(6).tolist()}


@lru_cache(maxsize=16)
def _near_miss(task: str, arm: str, seed: int) -> NearMiss | None:
    """Cached: the two episodes of a pair are made one after the other."""
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
