"""Valid weights of every model, as small as they can be, and what reads them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np


def neurok(folder: Path) -> Path:
    """Weights of NeuROK."""
    from kin4d.neurok.config import NeurokConfig
    from kin4d.neurok.model import Neurok
    from kin4d.neurok.pretrained import save_pretrained

    model = Neurok(NeurokConfig(width=8, heads=1, tokens=2, octaves=1, refinements=1))
    save_pretrained(folder / "a.safetensors", model, None, {})
    return folder / "a.safetensors"


def load_neurok(path: Path) -> Any:
    """The network."""
    from kin4d.neurok.pretrained import from_pretrained

    return from_pretrained(path)


def joint_prior(folder: Path) -> Path:
    """Weights of the joint prior."""
    from kin4d.neurok.joint_pretrained import MODEL, VERSION
    from kin4d.neurok.joint_prior import JointPrior, JointPriorConfig
    from kin4d.training import save_tensors

    sizes: dict[str, int] = {"width": 8, "heads": 1, "layers": 1, "part_layers": 1}
    sizes |= {"point_width": 8, "pair_width": 8, "line_width": 8}
    model = JointPrior(JointPriorConfig(**sizes))  # pyright: ignore[reportArgumentType]
    header = {"model": MODEL, "version": VERSION, "config": {**sizes}}
    save_tensors(folder / "a.safetensors", model.state_dict(), header)
    return folder / "a.safetensors"


def load_joint_prior(path: Path) -> Any:
    """The calibrated network."""
    from kin4d.neurok.joint_pretrained import joint_prior_from_pretrained

    return joint_prior_from_pretrained(path)


def object_world(folder: Path) -> Path:
    """The shipped weights of the object world model."""
    from kin4d.training.weights import SHIPPED

    path = folder / "a.safetensors"
    path.write_bytes((SHIPPED / "world-tiny.safetensors").read_bytes())
    return path


def diffusion(folder: Path) -> Path:
    """Weights of the diffusion world model, with a codec."""
    from kin4d.world.diffusion.codec import PcaCodec
    from kin4d.world.diffusion.config import DiffusionConfig
    from kin4d.world.diffusion.latent_video import LatentVideoModel, save_latent_video_model

    config = DiffusionConfig(
        frames=5, height=16, width=32, latent_channels=4, layers=1, heads=1, head_dim=12, ffn=8,
        robot_patch=2, robot_width=4, text_dim=4, frequencies=8,
    )  # fmt: skip
    model = LatentVideoModel(config, PcaCodec(4))
    save_latent_video_model(folder / "a.safetensors", model, {})
    return folder / "a.safetensors"


def load_world(path: Path) -> Any:
    """The world model, of whichever kind."""
    from kin4d.world.model import load_world_model

    return load_world_model(path)


def cage(folder: Path) -> Path:
    """The shipped weights of the cage deformer."""
    from kin4d.training.weights import SHIPPED

    path = folder / "a.safetensors"
    path.write_bytes((SHIPPED / "cage.safetensors").read_bytes())
    return path


def load_cage_weights(path: Path) -> Any:
    """The deformer."""
    from kin4d.neurok.cage import load_cage

    return load_cage(path)


def dynamics_samples(folder: Path) -> Path:
    """Two samples that part dynamics learn from."""
    from kin4d.world.object_world.dynamics_sample import DynamicsSample, save_dynamics_samples

    zeros = np.zeros((3, 4, 3), np.float32)
    sample = DynamicsSample(
        robot_points=zeros,
        parts=zeros[:1],
        motions=np.zeros((3, 1, 3, 4), np.float32),
        others=zeros[0],
        owner=np.zeros(4, np.int64),
        seconds=0.1,
        proprioception=np.zeros((3, 4), np.float32),
    )
    save_dynamics_samples(folder / "a.npz", [sample, sample])
    return folder / "a.npz"


def load_dynamics(path: Path) -> Any:
    """The samples."""
    from kin4d.world.object_world.dynamics_sample import load_dynamics_samples

    return load_dynamics_samples(path)


def policy(folder: Path) -> Path:
    """Weights of a policy learned from states."""
    from kin4d.policies.learned.config import PolicyConfig
    from kin4d.policies.learned.networks import NETWORKS
    from kin4d.policies.learned.train import MODEL, VERSION
    from kin4d.training import save_tensors

    sizes: dict[str, int] = {"proprioception": 4, "bodies": 4, "horizon": 2, "executed": 1}
    sizes |= {"width": 8, "layers": 1, "latent": 2}
    config = PolicyConfig(**sizes)  # pyright: ignore[reportArgumentType]
    state = NETWORKS[config.kind](config).state_dict()
    tensors = {f"network.{name}": value for name, value in state.items()}
    header = {"model": MODEL, "version": VERSION, "config": sizes}
    save_tensors(folder / "a.safetensors", tensors, header)
    return folder / "a.safetensors"


def load_learned_policy(path: Path) -> Any:
    """The policy."""
    from kin4d.policies.learned.learned_policy import LearnedPolicy

    return LearnedPolicy(path)
