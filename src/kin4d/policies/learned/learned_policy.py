"""LearnedPolicy: a policy from the weights of `kin4d train policy`."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import torch

from kin4d.policies.learned.config import PolicyConfig
from kin4d.policies.learned.inputs import body_states, image_points, prompt_words, proprioception
from kin4d.policies.learned.networks import NETWORKS, PolicyInputs
from kin4d.policies.learned.train import MODEL, VERSION
from kin4d.policies.policy import PolicyError
from kin4d.reading import reading
from kin4d.training.build import build_from_weights
from kin4d.training.config import config_of
from kin4d.training.weights import read_weights, weights_file


class LearnedPolicy:
    """Acts from states or images, chunk by chunk.

    Args:
        path: Folder of a run, or its .safetensors file.
        seed: Of the noise of a diffusion policy; the same in every episode.
    """

    control = "pose_delta"

    def __init__(self, path: str | Path, *, seed: int = 0) -> None:
        file = weights_file(path, MODEL)
        with reading(file, "file of weights"):
            tensors, metadata = read_weights(
                file, model=MODEL, version=VERSION, train="kin4d train policy"
            )
            self.config = config_of(PolicyConfig, metadata["config"])
            kept = {name.removeprefix("network."): value for name, value in tensors.items()}
            kind = NETWORKS[self.config.kind]
            self.network = build_from_weights(lambda: kind(self.config), kept)
        self.metadata, self._seed = metadata, seed
        self.reset()

    def reset(self) -> None:
        """Draw the same noise again."""
        self._generator = torch.Generator().manual_seed(self._seed)

    def __call__(self, observation: Mapping[str, Any]) -> np.ndarray:
        """[executed, 7] pose deltas and gripper opening."""
        own = proprioception(observation)
        if len(own) != self.config.proprioception:
            raise PolicyError(
                "shape",
                "this policy was trained for another robot",
                value=f"{len(own)} numbers of the robot's state",
                allowed=str(self.config.proprioception),
            )
        given: dict[str, Any] = {}
        if self.config.observations == "images":
            given["rgb"], given["points"] = image_points(observation)
        else:
            given["bodies"] = body_states(observation)
        tensors = {name: torch.from_numpy(value)[None] for name, value in given.items()}
        prompt = torch.from_numpy(prompt_words(str(observation["prompt"])))[None]
        with torch.no_grad():
            inputs = PolicyInputs(torch.from_numpy(own)[None], prompt, **tensors)
            actions = self.network.act(inputs, self._generator)
        return actions[0, : self.config.executed].double().numpy()
