"""`kin4d train diffusion`: train a diffusion world model as in Kinema4D, at any size."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from kin4d.cli.output import print_result
from kin4d.cli.ranges import Count
from kin4d.cli.train_codec import make_episode_codec
from kin4d.cli.train_options import PROCESS_SEED, EpisodeTrainingOptions
from kin4d.errors import InputError

if TYPE_CHECKING:
    from kin4d.episodes.concat import EpisodeSource
    from kin4d.world.diffusion.codec import AnyCodec
    from kin4d.world.diffusion.config import DiffusionConfig

_DEV = 8  # episodes that checkpoints are validated on


@dataclass(frozen=True, kw_only=True)
class TrainDiffusion(EpisodeTrainingOptions):
    """Train a diffusion transformer on episodes; run the same command again to resume it.

    Its codec is fitted (pca) or trained (vae) first, if it is not given. Under `accelerate launch`
    or `torchrun` the same command uses all processes.
    """

    preset: Literal["tiny", "small", "wan14b"] = "tiny"
    """Size of the model and length of training."""
    control: (
        Literal["pointmap", "rgb+pointmap", "mask", "depth", "embedding", "text", "none"] | None
    ) = None
    """How the robot enters the condition, instead of the preset's."""
    flow_init: Literal["noise", "composite"] | None = None
    """Where the flow begins, instead of the preset's."""
    fusion: Literal["width", "channel"] | None = None
    """How colour and geometry are joined, instead of the preset's."""
    codec: Path | None = None
    """A codec's file, to share one between runs; see `kin4d train codec`."""
    init_weights: str | None = None
    """Initial weights, with a new schedule; random by default."""
    batch: Count = 4
    """Clips per step and process."""
    precision: Literal["fp32", "bf16"] | None = None
    """Of matrix products, instead of the preset's; bf16 is faster on hardware that has it."""

    @property
    def changes(self) -> dict[str, Any]:
        """To the train config of a preset."""
        given = {} if self.precision is None else {"precision": self.precision}
        return {**super().changes, **given}

    def run(self) -> None:
        import torch

        from kin4d.episodes.concat import open_episodes
        from kin4d.training.config import config_of_preset
        from kin4d.world.diffusion.codec import codec_metadata
        from kin4d.world.diffusion.config import PRESETS
        from kin4d.world.diffusion.latent_cache import LatentCache, episode_videos
        from kin4d.world.diffusion.latent_video import LatentVideoModel as Model
        from kin4d.world.diffusion.train import TRAIN_CONFIGS, train_diffusion

        torch.set_num_threads(self.threads)
        store = open_episodes(self.episodes)
        train, dev = store.numbers("train"), store.numbers("val")[:_DEV]
        if not train:
            raise InputError(f"{self.stores} has no episodes to train on", value=len(store))
        names = {"control": self.control, "init": self.flow_init, "fusion": self.fusion}
        given: dict[str, Any] = {key: value for key, value in names.items() if value is not None}
        if given.get("init") == "noise":
            given["target"] = "velocity"
        config = replace(PRESETS[self.preset], **given)
        codec = self._codec(store, config)
        facts = codec_metadata(codec)
        config = replace(config, codec=facts["form"], latent_channels=facts["channels"])
        latents = LatentCache(self.output / "latents", store, Model(config, codec))
        train_config = config_of_preset(TRAIN_CONFIGS, self.preset, **self.changes)
        model = train_diffusion(
            lambda rank, step: latents.batches(
                train, batch=self.batch, seed=self.seed + PROCESS_SEED * rank, step=step
            ),
            self.output,
            codec=codec,
            preset=self.preset,
            config=config,
            train_config=train_config,
            dev=[episode_videos(store.episode(number), config) for number in dev],
            init_weights=self.init_weights,
            data={"episodes": len(train), "batch": self.batch, "seed": self.seed},
        )
        size = sum(parameter.numel() for parameter in model.transformer.parameters())
        file = self.output / "weights.safetensors"
        print_result(
            f"{size / 1e6:.1f} million parameters in {file}",
            {"weights": str(file), "parameters": size},
            as_json=self.json,
        )

    def _codec(self, store: EpisodeSource, config: DiffusionConfig) -> AnyCodec:
        """The given codec, the one of an earlier run, or a new one."""
        from kin4d.training.config import config_of_preset
        from kin4d.world.diffusion.codec import load_codec, save_codec
        from kin4d.world.diffusion.latent_video import CODEC_FILE
        from kin4d.world.diffusion.train import TRAIN_CONFIGS

        file = self.codec or self.output / CODEC_FILE
        if file.exists():
            return load_codec(file)
        if self.codec is not None:
            raise InputError("there is no such codec", value=str(self.codec))
        train_config = config_of_preset(
            TRAIN_CONFIGS, self.preset, steps=self.steps, seed=self.seed
        )
        made = make_episode_codec(store, config, train_config, self.output)
        save_codec(file, made)
        return made
