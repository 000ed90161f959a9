"""Train a network on objects made as they are needed: a tiny run of a few seconds.

The same loop trains on one core or on many GPUs; `kin4d train neurok --preset small` is the run
whose weights come with the package. A run that was stopped resumes from its last checkpoint.
"""

import json
import shutil
from collections.abc import Iterator
from pathlib import Path

import kin4d
from kin4d.neurok.train import train_neurok
from kin4d.objects.pairs import PairBatch
from kin4d.objects.sources import articulated_source
from kin4d.objects.stream import PairStream
from kin4d.training import TrainConfig, load_tensors


def main(output: Path = Path("out/examples"), steps: int = 60) -> None:
    source = articulated_source().only(("door", "laptop"))

    def make_batches(process: int, step: int) -> Iterator[PairBatch]:
        stream = PairStream([source], points=128, batch=8, seed=process, split="train")
        stream.index = step
        return iter(stream)

    run = output / "training"
    shutil.rmtree(run, ignore_errors=True)  # a new run, instead of going on with an old one
    dev = PairStream([source], points=128, batch=8, seed=1, split="dev")
    config = TrainConfig(steps=steps, warmup_steps=10, ema_decay=0.9, log_every=20)
    model = train_neurok(make_batches, run, preset="tiny", train_config=config, dev=[dev[0]])
    _, metadata = load_tensors(run / "weights.safetensors")
    print(f"{sum(p.numel() for p in model.parameters()) / 1e6:.1f} million parameters")
    print("held-out pairs:", json.dumps(metadata["training"]["dev"]))

    body = kin4d.LearnedBody.from_mesh(kin4d.load("laptop", seed=5).rest, run, coordinates=1)
    clip = kin4d.bake(body, kin4d.sweep_joints(body, frames=24))
    clip.save(output / "11_training.gif", width=300, height=200)
    print(f"what so short a run knows of a laptop: {output / '11_training.gif'}")


if __name__ == "__main__":
    main()
