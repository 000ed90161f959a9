"""`kin4d train`: train a model and write its weights."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Annotated, Literal

import tyro

from kin4d.cli.output import print_result
from kin4d.cli.ranges import Count, Share, SurfacePoints, Workers
from kin4d.cli.train_codec import TrainCodec
from kin4d.cli.train_diffusion import TrainDiffusion
from kin4d.cli.train_joint_prior import TrainJointPrior
from kin4d.cli.train_object_world import TrainObjectWorld
from kin4d.cli.train_options import PROCESS_SEED, TrainingOptions
from kin4d.cli.train_policy import TrainPolicy

if TYPE_CHECKING:
    from kin4d.objects.pairs import PairBatch


@dataclass(frozen=True, kw_only=True)
class TrainNeurok(TrainingOptions):
    """Train a NeuROK model; run the same command again to resume it.

    Under `accelerate launch` or `torchrun` the same command uses all processes.
    """

    model: Literal["neurok", "cage"] = "neurok"
    """What to train; "cage" is the keypoint cage deformer baseline of `kin4d bench object-pose`."""
    preset: Literal["tiny", "small", "base"] = "small"
    """Size of the model and length of training."""
    sources: tuple[str, ...] = ("articulated",)
    """Object sources to sample from: the names `kin4d data objects` knows."""
    mix: tuple[Share, ...] = ()
    """Share of each source; equal by default."""
    points: SurfacePoints = 256
    """Per shape."""
    batch: Count = 32
    """Shapes per step and process."""
    decoder: Literal["skinned", "point"] = "skinned"
    """Architecture of the decoder."""
    output_type: Literal["dual_quaternion", "offset"] = "dual_quaternion"
    """What the decoder emits."""
    augment: bool = True
    """Augment the shapes."""
    workers: Workers = 1
    """Processes that prepare data."""
    init_weights: str | None = None
    """Initial weights, with a new schedule; random by default."""

    def run(self) -> None:
        import torch

        from kin4d.neurok.cage_train import train_cage
        from kin4d.neurok.config import PRESETS
        from kin4d.neurok.train import TRAIN_CONFIGS, train_neurok
        from kin4d.objects.augmentation import Augmentation
        from kin4d.objects.source_registry import named_source
        from kin4d.objects.stream import PairStream
        from kin4d.training.config import config_of_preset

        torch.set_num_threads(self.threads)
        sources = [named_source(name) for name in self.sources]
        augmentation = Augmentation() if self.augment else Augmentation.none()

        def stream(seed: int, split: str, workers: int) -> PairStream:
            return PairStream(
                sources,
                weights=self.mix or None,
                points=self.points,
                batch=self.batch,
                seed=seed,
                split=split,
                augmentation=augmentation,
                workers=workers,
            )

        def make_batches(process: int, step: int) -> Iterator[PairBatch]:
            pairs = stream(self.seed + PROCESS_SEED * process, "train", self.workers)
            pairs.index = step
            return iter(pairs)

        held_out = stream(self.seed + 1, "dev", 0)
        train_config = config_of_preset(TRAIN_CONFIGS, self.preset, **self.changes)
        dev = [held_out[i] for i in range(8)]
        data = {
            "sources": [name.partition(":")[0] for name in self.sources],
            "mix": list(self.mix),
            "points": self.points,
            "batch": self.batch,
            "augment": self.augment,
            "seed": self.seed,
        }
        if self.model == "cage":
            model = train_cage(
                make_batches, self.output, train_config=train_config, dev=dev, data=data
            )
        else:
            config = replace(PRESETS[self.preset], decoder=self.decoder, motion=self.output_type)
            model = train_neurok(
                make_batches,
                self.output,
                config=config,
                train_config=train_config,
                dev=dev,
                init_weights=self.init_weights,
                data=data,
            )
        size = sum(parameter.numel() for parameter in model.parameters())
        file = self.output / "weights.safetensors"
        print_result(
            f"{size / 1e6:.1f} million parameters in {file}",
            {"weights": str(file), "parameters": size},
            as_json=self.json,
        )


Task = (
    Annotated[TrainNeurok, tyro.conf.subcommand("neurok")]
    | Annotated[TrainJointPrior, tyro.conf.subcommand("joint-prior")]
    | Annotated[TrainObjectWorld, tyro.conf.subcommand("object-world")]
    | Annotated[TrainDiffusion, tyro.conf.subcommand("diffusion")]
    | Annotated[TrainCodec, tyro.conf.subcommand("codec")]
    | Annotated[TrainPolicy, tyro.conf.subcommand("policy")]
)


def train_command(what: tyro.conf.OmitSubcommandPrefixes[tyro.conf.OmitArgPrefixes[Task]]) -> None:
    """Train a model and write its weights.

    Args:
        what: Which model.
    """
    what.run()
