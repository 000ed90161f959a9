"""FlowWorld: a generator behind the call that every world model answers."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from kin4d.errors import InputError
from kin4d.geometry.pointmap import PointmapVideo
from kin4d.world.diffusion.batch import VideoBatch
from kin4d.world.diffusion.config import DiffusionConfig
from kin4d.world.diffusion.control import CONTROLS, hash_words
from kin4d.world.diffusion.latent_video import LatentVideoModel, load_latent_video_model
from kin4d.world.observation import Observation
from kin4d.world.observation_cleanup import align_robot, fill_holes

ROBOT = 1
_DEEPER = 0.03  # m: a robot that much behind imagined geometry is still in front: that is rough


class DiffusionWorldModel:
    """Imagines pixels by flow matching.

    Args:
        video_model: Trained.
        steps: Of the flow.
        guidance: See `kin4d.world.diffusion.rectified_flow.sample`.
    """

    def __init__(
        self, video_model: LatentVideoModel, *, steps: int = 4, guidance: float = 1.0
    ) -> None:
        self.video_model, self.steps, self.guidance = video_model, steps, guidance

    @classmethod
    def load(
        cls, name: str | Path, *, steps: int = 4, guidance: float = 1.0
    ) -> DiffusionWorldModel:
        """Of weights by name; see `load_latent_video_model`."""
        return cls(load_latent_video_model(name), steps=steps, guidance=guidance)

    @property
    def size(self) -> tuple[int, int]:
        """Height and width in pixels that it works at."""
        return self.video_model.config.height, self.video_model.config.width

    @property
    def frames(self) -> int:
        """Frames that it imagines at once."""
        return self.video_model.config.frames

    def imagine(self, observation: Observation, *, seed: int | None = None) -> PointmapVideo:
        """What happens.

        Args:
            observation: Of the model's size and number of frames.
            seed: Of one of many futures; None for their mean, in a single step.
        """
        observation = align_robot(fill_holes(observation))
        clips = video_batch_of([observation], self.video_model.config)
        found = self.video_model.imagine(
            clips,
            steps=1 if seed is None else self.steps,
            seed=seed or 0,
            guidance=self.guidance,
        )
        rgb, xyz = found.rgb[0].cpu().numpy(), found.xyz[0].cpu().numpy()
        robot = observation.robot
        shown = (robot.mask > 0) & ~(robot.xyz[..., 2] > xyz[..., 2] + _DEEPER)
        visible_modalities = CONTROLS[self.video_model.config.control].visible_modalities
        # What a model was shown exactly need not be imagined.
        if "rgb" in visible_modalities:
            rgb = np.where(shown[..., None], robot.rgb, rgb)
        if "xyz" in visible_modalities:
            xyz = np.where(shown[..., None], robot.xyz, xyz)
        return PointmapVideo(
            rgb=rgb,
            xyz=xyz.astype(np.float32),
            mask=shown.astype(np.uint8) * ROBOT,
            camera=observation.camera,
            fps=robot.fps,
            names=("robot",),
        )


def video_batch_of(
    observations: Sequence[Observation],
    config: DiffusionConfig,
    *,
    truth: Sequence[PointmapVideo] | None = None,
    loss_weight: np.ndarray | None = None,
) -> VideoBatch:
    """Situations as a model takes them, with what its control needs and nothing else.

    Args:
        observations: B of them, of the model's size and number of frames.
        config: Of the model.
        truth: What came of each, to learn from.
        loss_weight: [B, T, H, W] weights of pixels in the loss.
    """
    token_source = CONTROLS[config.control].token_source
    wanted = (config.frames, config.height, config.width)
    for observation in observations:
        found = observation.robot.mask.shape
        if found != wanted:
            raise InputError(
                "an observation has another size than the model: frames, rows, columns",
                value=found,
                allowed=str(wanted),
                hint="resample its motion and letterbox its picture",
            )
    actions = [s.actions for s in observations if s.actions is not None]
    if token_source == "actions" and len(actions) != len(observations):
        raise InputError("this model is told actions, and an observation has none")
    robots = [observation.robot for observation in observations]
    return VideoBatch(
        first_rgb=np.stack([observation.image for observation in observations]),
        first_xyz=np.stack([observation.xyz for observation in observations]),
        robot_rgb=np.stack([robot.rgb for robot in robots]),
        robot_xyz=np.stack([robot.xyz for robot in robots]),
        robot_mask=np.stack([robot.mask > 0 for robot in robots]),
        rgb=None if truth is None else np.stack([video.rgb for video in truth]),
        xyz=None if truth is None else np.stack([video.xyz for video in truth]),
        loss_weight=loss_weight,
        actions=np.stack([_padded(one, config.actions) for one in actions])
        if token_source == "actions"
        else None,
        words=hash_words([s.language for s in observations]) if token_source == "words" else None,
    )


def _padded(actions: np.ndarray, count: int) -> np.ndarray:
    """[T, count] actions of an arm that has fewer joints than the widest the model knows."""
    if actions.shape[1] > count:
        raise InputError("numbers in an action", value=actions.shape[1], allowed=f"<= {count}")
    return np.pad(actions, ((0, 0), (0, count - actions.shape[1])))
