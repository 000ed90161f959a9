"""DiffusionWorldModel: a `LatentVideoModel` with the interface of every world model."""

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
from kin4d.world.observation_cleanup import clean_observation

ROBOT = 1
DEPTH_TOLERANCE = 0.03
"""Metres by which the robot may lie behind predicted geometry, which is rough, and be visible."""


class DiffusionWorldModel:
    """Predicts videos by flow matching.

    Args:
        video_model: A trained model.
        steps: Sampling steps of the flow.
        guidance: Guidance scale; see `kin4d.world.diffusion.rectified_flow.sample_flow`.
    """

    def __init__(
        self, video_model: LatentVideoModel, *, steps: int = 4, guidance: float = 1.0
    ) -> None:
        self.video_model, self.steps, self.guidance = video_model, steps, guidance

    @classmethod
    def load(
        cls, name: str | Path, *, steps: int = 4, guidance: float = 1.0
    ) -> DiffusionWorldModel:
        """Load weights by name; see `load_latent_video_model`."""
        return cls(load_latent_video_model(name), steps=steps, guidance=guidance)

    @property
    def size(self) -> tuple[int, int]:
        """Height and width in pixels of its images."""
        return self.video_model.config.height, self.video_model.config.width

    @property
    def frames(self) -> int:
        """Frames of its window."""
        return self.video_model.config.frames

    def imagine(self, observation: Observation, *, seed: int | None = None) -> PointmapVideo:
        """Predict the video.

        Args:
            observation: Of the model's size and number of frames.
            seed: Seed of a sample; None predicts the mean, in a single step.
        """
        observation = clean_observation(observation)
        videos = video_batch_of([observation], self.video_model.config)
        predicted = self.video_model.imagine(
            videos,
            steps=1 if seed is None else self.steps,
            seed=seed or 0,
            guidance=self.guidance,
        )
        rgb, xyz = predicted.rgb[0].cpu().numpy(), predicted.xyz[0].cpu().numpy()
        robot = observation.robot
        visible = (robot.mask > 0) & ~(robot.xyz[..., 2] > xyz[..., 2] + DEPTH_TOLERANCE)
        visible_modalities = CONTROLS[self.video_model.config.control].visible_modalities
        # The rendered robot is exact, so it replaces the prediction where it was an input.
        if "rgb" in visible_modalities:
            rgb = np.where(visible[..., None], robot.rgb, rgb)
        if "xyz" in visible_modalities:
            xyz = np.where(visible[..., None], robot.xyz, xyz)
        return PointmapVideo(
            rgb=rgb,
            xyz=xyz.astype(np.float32),
            mask=visible.astype(np.uint8) * ROBOT,
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
    """Observations as a batch, with those inputs that the model's control needs.

    Args:
        observations: B observations of the model's size and number of frames.
        config: The model's config.
        truth: The true video of each, for training.
        loss_weight: [B, T, H, W] weights of pixels in the loss.
    """
    token_source = CONTROLS[config.control].token_source
    wanted = (config.frames, config.height, config.width)
    for observation in observations:
        shape = observation.robot.mask.shape
        if shape != wanted:
            raise InputError(
                "frames, rows and columns of an observation differ from those of the model",
                value=shape,
                allowed=str(wanted),
                hint="resample its motion (`resample`) and resize its image (`Letterbox`)",
            )
    actions = [s.actions for s in observations if s.actions is not None]
    if token_source == "actions" and len(actions) != len(observations):
        raise InputError(
            "observations without actions, which this model is conditioned on",
            value=len(observations) - len(actions),
            hint="give `actions` to make_observation",
        )
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
    """[T, count] actions, padded with zeros for robots with fewer joints."""
    if actions.shape[1] > count:
        raise InputError("numbers per action", value=actions.shape[1], allowed=f"<= {count}")
    return np.pad(actions, ((0, 0), (0, count - actions.shape[1])))
