"""`kin4d train skeleton-joints`: train the network that finds joints along centre lines."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path

from kin4d.cli.output import print_result
from kin4d.cli.ranges import Count, Share
from kin4d.cli.train_options import TrainingOptions


@dataclass(frozen=True, kw_only=True)
class TrainSkeletonJoints(TrainingOptions):
    """Train the finder of joints on made creatures and folders of animated files.

    Of the folders, only files are used that the creatures benchmark calls "dev", by name. Run the
    same command again to resume.
    """

    animated: tuple[Path, ...] = ()
    """Folders of animated glTF files with skins whose licence allows training."""
    made: Count = 900
    """Creatures that are made."""
    variants: Count = 8
    """Of each file: as stored, and posed as in frames of its clips."""
    share: Share = 0.5
    """Of the draws that come from the folders."""
    batch: Count = 64
    """Shapes per step."""
    threshold: Share = 0.35
    """Probability below which there is no joint; kept with the weights."""
    apart: Share = 0.06
    """How near two joints may be, of the size; kept with the weights."""

    def run(self) -> None:
        import torch

        from kin4d.benchmarks.creatures.cases import find_cases
        from kin4d.neurok.skeleton_train import TRAIN_CONFIG, TokenTargets, train_skeleton_joints
        from kin4d.objects.skeleton_samples import file_samples, made_samples

        torch.set_num_threads(self.threads)
        files = find_cases(self.animated, "dev")
        samples = [made_samples(self.made, seed=self.seed)]
        if files:
            samples.append(file_samples(files, self.variants, seed=self.seed))
        held_out = made_samples(48, seed=self.seed + 1)
        sets = [[TokenTargets.of(s.skeleton, s.size, s.joints) for s in rows] for rows in samples]
        dev = [TokenTargets.of(s.skeleton, s.size, s.joints) for s in held_out]
        model = train_skeleton_joints(
            sets,
            [1 - self.share, self.share][: len(sets)],
            self.output,
            batch=self.batch,
            train_config=replace(TRAIN_CONFIG, **self.changes),
            dev=dev,
            threshold=self.threshold,
            apart=self.apart,
            data={
                "animated": [path.name for path in self.animated],
                "files": [path.name for path in files],
                "made": self.made,
                "variants": self.variants,
                "share": self.share,
                "batch": self.batch,
                "seed": self.seed,
            },
        )
        size = sum(parameter.numel() for parameter in model.parameters())
        file = self.output / "weights.safetensors"
        print_result(
            f"{size / 1e6:.2f} million parameters in {file}",
            {"weights": str(file), "parameters": size},
            as_json=self.json,
        )
