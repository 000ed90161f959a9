"""`kin4d train object-world`: train the object world model on episodes."""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import islice
from typing import TYPE_CHECKING, Literal, get_args

from kin4d.cli.output import print_result
from kin4d.cli.ranges import Count
from kin4d.cli.train_options import PROCESS_SEED, EpisodeTrainingOptions
from kin4d.errors import InputError
from kin4d.progress import track

if TYPE_CHECKING:
    from kin4d.episodes.concat import EpisodeSource
    from kin4d.training import TrainConfig
    from kin4d.world.object_world.dynamics_sample import DynamicsSample

_DEV = 60  # episodes that checkpoints are validated on
_UNMEASURED = 4  # one sample in so many has no measured gripper

Network = Literal["depth", "segmentation", "dynamics", "refinement"]


@dataclass(frozen=True, kw_only=True)
class TrainObjectWorld(EpisodeTrainingOptions):
    """Train a world model on episodes; run the same command again to resume it.

    Its networks learn one after the other, each in a folder of its own, and are then joined into
    one file. Under `accelerate launch` or `torchrun` the same command uses all processes.
    """

    networks: tuple[Network, ...] = ("depth", "segmentation", "dynamics")
    """Which to train. Segmentation and dynamics are required; depth and refinement are optional."""
    count: Count | None = None
    """Training episodes: the first so many of the store, which may still grow; by default all."""
    batch: Count = 16
    """First frames or composited frames per step."""
    window_batch: Count = 24
    """Windows of motion per step."""
    window_frames: Count = 20
    """Frames of a window of motion."""
    init_weights: str | None = None
    """Initial weights of depth, segmentation and dynamics, with a new schedule: a run's folder, a
    file or a name that ships, of one network or of a whole world, whose other networks then
    stay as they are. Random by default."""

    def run(self) -> None:
        import torch

        from kin4d.episodes.concat import open_episodes

        torch.set_num_threads(self.threads)
        store = open_episodes(self.episodes)
        train, dev = store.numbers("train")[: self.count], store.numbers("val")
        if not train:
            raise InputError(f"{self.stores} has no episodes to train on", value=len(store))
        data = {"episodes": len(train), "seed": self.seed}
        for name in self.networks:
            getattr(self, f"_{name}")(store, train, dev, data)
        self._join()

    def _train_config(self, name: str) -> TrainConfig:
        from kin4d.world.object_world.train import TRAIN_CONFIGS

        return replace(TRAIN_CONFIGS[name], **self.changes)

    def _depth(self, store: EpisodeSource, train: list[int], dev: list[int], data: dict) -> None:
        from kin4d.world.object_world.batches import depth_batches
        from kin4d.world.object_world.train import train_depth

        dev_batches = (
            depth_batches(store, dev, batch=self.batch, seed=self.seed) if dev else iter(())
        )
        train_depth(
            lambda rank, step: depth_batches(
                store, train, batch=self.batch, seed=self.seed + PROCESS_SEED * rank, step=step
            ),
            self.output / "depth",
            train_config=self._train_config("depth"),
            dev=list(islice(dev_batches, 4)),
            init_weights=self.init_weights,
            data={**data, "batch": self.batch},
        )

    def _segmentation(
        self, store: EpisodeSource, train: list[int], dev: list[int], data: dict
    ) -> None:
        from kin4d.world.object_world.batches import segmentation_batches
        from kin4d.world.object_world.train import train_segmentation

        dev_batches = (
            segmentation_batches(store, dev, batch=self.batch, seed=self.seed, augment=False)
            if dev
            else iter(())
        )
        train_segmentation(
            lambda rank, step: segmentation_batches(
                store, train, batch=self.batch, seed=self.seed + PROCESS_SEED * rank, step=step
            ),
            self.output / "segmentation",
            train_config=self._train_config("segmentation"),
            dev=list(islice(dev_batches, 4)),
            init_weights=self.init_weights,
            data={**data, "batch": self.batch},
        )

    def _dynamics(self, store: EpisodeSource, train: list[int], dev: list[int], data: dict) -> None:
        from kin4d.world.object_world.train import train_dynamics

        train_dynamics(
            self._dynamics_samples(store, train, "train"),
            self.output / "dynamics",
            train_config=self._train_config("dynamics"),
            dev=self._dynamics_samples(store, dev[:_DEV], "val"),
            batch=self.window_batch,
            length=self.window_frames,
            init_weights=self.init_weights,
            data=data,
        )

    def _dynamics_samples(
        self, store: EpisodeSource, numbers: list[int], name: str
    ) -> list[DynamicsSample]:
        """Made once and kept in the run's folder."""
        from kin4d.files import remove_abandoned
        from kin4d.world.object_world.batches import episode_dynamics_sample
        from kin4d.world.object_world.dynamics_sample import (
            load_dynamics_samples,
            save_dynamics_samples,
        )

        file = self.output / f"samples-{name}-{len(numbers)}.npz"
        remove_abandoned(self.output)
        if file.exists():
            return load_dynamics_samples(file)
        episodes = (store.episode(n) for n in track(numbers, f"reading {name} episodes"))
        # The network is also trained for actions that were never executed.
        made = [
            episode_dynamics_sample(
                one, measured_gripper=name != "train" or (one.seed or 0) % _UNMEASURED > 0
            )
            for one in episodes
        ]
        samples = [one for one in made if one is not None]
        if not samples:
            return []
        self.output.mkdir(parents=True, exist_ok=True)
        save_dynamics_samples(file, samples)
        return load_dynamics_samples(file)  # as a run that is resumed reads them: rounded

    def _refinement(
        self, store: EpisodeSource, train: list[int], dev: list[int], data: dict
    ) -> None:
        from kin4d.world.object_world.batches import refine_batches
        from kin4d.world.object_world.train import train_refinement

        few = max(self.batch // 4, 1)
        dev_batches = (
            refine_batches(store, dev, episodes=few, frames=4, seed=self.seed) if dev else iter(())
        )
        train_refinement(
            lambda rank, step: refine_batches(
                store,
                train,
                episodes=few,
                frames=4,
                seed=self.seed + PROCESS_SEED * rank,
                step=step,
            ),
            self.output / "refinement",
            train_config=self._train_config("refinement"),
            dev=list(islice(dev_batches, 4)),
            data={**data, "batch": 4 * few},
        )

    def _join(self) -> None:
        from kin4d.training import load_tensors
        from kin4d.training.weights import weights_file
        from kin4d.world.object_world.model import ObjectWorldModel
        from kin4d.world.object_world.train import WORLD

        initial, facts = None, {}
        if self.init_weights is not None:
            headers = load_tensors(weights_file(self.init_weights, "world"))[1]
            if headers.get("model") == WORLD:
                initial, facts = ObjectWorldModel.load(self.init_weights), headers["about"]
        folders = {name: self.output / name for name in get_args(Network)}
        there = {n: f for n, f in folders.items() if (f / "weights.safetensors").exists()}
        missing = [
            name for name in ("segmentation", "dynamics") if initial is None and name not in there
        ]
        file = self.output / "weights.safetensors"
        if missing:
            print_result(
                f"not joined yet: {', '.join(missing)} not trained in {self.output}",
                {"missing": missing},
                as_json=self.json,
            )
            return
        headers = {name: load_tensors(folder / file.name)[1] for name, folder in there.items()}
        facts |= {
            name: {k: one.get(k) for k in ("data", "training")} for name, one in headers.items()
        }
        ObjectWorldModel.from_networks(initial, **there).save(file, facts)
        print_result(f"weights in {file}", {"weights": str(file)}, as_json=self.json)
