"""`kin4d train joint-prior`: train the network that predicts the joints of a mesh."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Literal

from kin4d.cli.output import print_result
from kin4d.cli.ranges import Count, Share
from kin4d.cli.train_options import PROCESS_SEED, TrainingOptions


@dataclass(frozen=True, kw_only=True)
class TrainJointPrior(TrainingOptions):
    """Train the joint prior on procedural objects and folders of URDF objects.

    Run the same command again to resume; with another number of steps it goes on from there.
    """

    objects: tuple[Path, ...] = ()
    """Folders of URDF objects whose licence allows training, one subfolder each."""
    preset: Literal["tiny", "small"] = "small"
    """Size of the model and length of training."""
    each: Count = 300
    """Procedural objects of each category."""
    share: Share = 0.5
    """Of the draws that come from the folders."""
    mechanisms: Count = 8000
    """Random mechanisms, of no category."""
    mechanism_share: Share = 0.25
    """Of the draws that are random mechanisms."""
    fused: Count = 12
    """Procedural objects of each category that are fused into one surface, each in one state; of
    the folders all are."""
    fused_share: Share = 0.18
    """Of the draws from categories and folders that are fused."""
    batch: Count = 32
    """Shapes per step and process."""
    init_weights: str | None = None
    """Initial weights, with a new schedule; random by default."""
    decay: Share | None = None
    """Share of the steps, at the end, over which the learning rate falls to zero."""
    cache: Path | None = None
    """A folder that keeps the objects cut into pieces for the next run; cutting takes minutes."""

    def run(self) -> None:
        import torch

        from kin4d.benchmarks.prior.calibrate import calibrate_on_dev
        from kin4d.neurok.joint_prior import PRESETS
        from kin4d.neurok.joint_train import preset_train_config, train_joint_prior
        from kin4d.objects.mechanisms import mechanism_source
        from kin4d.objects.piece_augmentation import PieceAugmentation
        from kin4d.objects.piece_stream import PiecePool, PieceStream
        from kin4d.objects.sources import articulated_source
        from kin4d.objects.urdf_folder import urdf_source

        torch.set_num_threads(self.threads)
        procedural, folders = articulated_source(), [urdf_source(one) for one in self.objects]
        of_folder = self.share / max(len(folders), 1)
        rest = 1 - self.mechanism_share - (self.share if folders else 0)
        cache, whole = self.cache, 1 - self.fused_share
        pools = [
            PiecePool.procedural(
                procedural, "train", each=self.each, share=rest * whole, cache=cache
            ),
            PiecePool.procedural(
                mechanism_source(),
                "train",
                each=self.mechanisms,
                share=self.mechanism_share,
                cache=cache,
            ),
            *(
                PiecePool.files(one, "train", share=of_folder * whole, cache=cache)
                for one in folders
            ),
        ]
        if self.fused_share > 0:
            fused = partial(PiecePool.procedural, fused=True, cache=cache)
            pools += [
                fused(procedural, "train", each=self.fused, share=rest * self.fused_share),
                *(
                    PiecePool.files(
                        one,
                        "train",
                        share=of_folder * self.fused_share,
                        fused=True,
                        cache=cache,
                    )
                    for one in folders
                ),
            ]
        held_out = [
            PiecePool.procedural(procedural, "dev", each=4, cache=cache),
            *(PiecePool.files(one, "dev", cache=cache) for one in folders),
            *(PiecePool.files(one, "dev", fused=True, cache=cache) for one in folders),
        ]
        dev = {
            pool.name: [PieceStream([pool], seed=self.seed + 7)[i] for i in range(4)]
            for pool in held_out
        }

        def make_batches(process: int, step: int):
            stream = PieceStream(
                pools,
                batch=self.batch,
                seed=self.seed + PROCESS_SEED * process,
                vary=PieceAugmentation(),
            )
            return stream.from_step(step)

        model = train_joint_prior(
            make_batches,
            self.output,
            config=PRESETS[self.preset],
            train_config=preset_train_config(self.preset, **self.changes, decay=self.decay),
            dev=dev,
            init_weights=self.init_weights,
            data={
                "objects": [source.name for source in folders],
                "each": self.each,
                "share": self.share,
                "mechanisms": self.mechanisms,
                "mechanism_share": self.mechanism_share,
                "fused": self.fused,
                "fused_share": self.fused_share,
                "batch": self.batch,
                "seed": self.seed,
            },
        )
        size = sum(parameter.numel() for parameter in model.parameters())
        file = self.output / "weights.safetensors"
        calibrate_on_dev(file, objects=self.objects, seed=self.seed)
        print_result(
            f"{size / 1e6:.1f} million parameters in {file}",
            {"weights": str(file), "parameters": size},
            as_json=self.json,
        )
