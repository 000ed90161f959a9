"""LerobotPolicy: a LeRobot checkpoint through `select_action`."""

from __future__ import annotations

import importlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import torch

from kin4d.errors import InputError


class LerobotPolicy:
    """One action at a time from a pretrained LeRobot policy.

    Its batch has `observation.images.front` [1, 3, H, W] from 0 to 1, `observation.state` [1, n]
    (joints, rad, then the gripper's opening), `observation.depth`, `observation.pointmap`, and
    `task`. Normalisation is done by the checkpoint's own processors. Its actions must be ours: pose
    deltas (m, rad) and the gripper's opening.

    Args:
        path: A folder or a hub id of a pretrained policy.
    """

    control = "pose_delta"

    def __init__(self, path: str | Path) -> None:
        try:
            configs: Any = importlib.import_module("lerobot.configs.policies")
            factory: Any = importlib.import_module("lerobot.policies.factory")
        except ImportError as error:
            raise InputError(
                f"the package 'lerobot' is needed to run {path}: {error}",
                hint="run: pip install lerobot",
            ) from error
        try:
            config = configs.PreTrainedConfig.from_pretrained(path)
            network = factory.get_policy_class(config.type).from_pretrained(path, config=config)
        except (OSError, ValueError, KeyError) as error:
            raise InputError(
                f"cannot load a LeRobot policy: {error}",
                value=str(path),
                allowed="a folder or hub id with config.json and model.safetensors",
            ) from error
        self.policy = network.eval()
        self._before, self._after = factory.make_pre_post_processors(
            config, pretrained_path=str(path)
        )

    def __call__(self, observation: Mapping[str, Any]) -> np.ndarray:
        """[1, D] the next action."""
        with torch.no_grad():
            action = self._after(
                self.policy.select_action(self._before(lerobot_batch(observation)))
            )
        return action.detach().to("cpu", torch.float64).numpy().reshape(1, -1)

    def reset(self) -> None:
        """Forget queued actions."""
        self.policy.reset()


def lerobot_batch(observation: Mapping[str, Any]) -> dict[str, Any]:
    """Our observation as a batch of one, as LeRobot's `preprocess_observation` makes it."""
    names = ("joint_position", "gripper_position")
    state = np.concatenate([np.asarray(observation[f"observation/{name}"]) for name in names])
    image = np.array(observation["observation/image"])
    batch: dict[str, Any] = {
        "observation.images.front": torch.from_numpy(image).permute(2, 0, 1)[None].float() / 255,
        "observation.state": torch.from_numpy(state.astype(np.float32))[None],
        "task": [str(observation["prompt"])],
    }
    for name in ("depth", "pointmap"):
        values = np.array(observation[f"observation/{name}"], np.float32)
        batch[f"observation.{name}"] = torch.from_numpy(values)[None]
    return batch
