"""LoRA learns in few numbers, resumes exactly, and leaves all else alone."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
import torch

from kin4d.training import TrainConfig, load_tensors
from kin4d.world.diffusion.batch import VideoBatch
from kin4d.world.diffusion.codec import PcaCodec
from kin4d.world.diffusion.latent_video import LatentVideoModel
from kin4d.world.diffusion.lora import ADDED_FILE, LORA_FILE, add_lora, read_adapter, train_lora
from kin4d.world.diffusion.transformer import ADDED, WorldTransformer

pytest.importorskip("peft")
pytest.importorskip("accelerate")


def test_attention_and_what_was_added_learn(toy: Callable) -> None:
    model = WorldTransformer(toy(fusion="width"))
    add_lora(model, rank=4, alpha=2)
    learning = [name for name, p in model.named_parameters() if p.requires_grad]
    lora = {name for name in learning if "lora_" in name}
    assert len(lora) == 2 * 4 * 2 * 2  # factors, layers, attentions, blocks
    assert all(name.startswith(ADDED) for name in set(learning) - lora)


def test_runs_hold_what_is_learned_alone(
    toy: Callable, clips: Callable, pca: PcaCodec, tmp_path: Path
) -> None:
    def make_batches(rank: int, step: int) -> Iterator[VideoBatch]:
        while True:
            yield clips([step])
            step += 1

    def run(out: Path, steps: int) -> LatentVideoModel:
        torch.manual_seed(7)
        video_model = LatentVideoModel(toy(fusion="width"), pca)
        torch.nn.init.normal_(video_model.transformer.proj_out.weight, std=0.1)
        train_config = TrainConfig(
            steps=steps, warmup_steps=1, log_every=1, save_every=0.0, decay=0.0
        )
        return train_lora(
            make_batches, out, video_model=video_model, train_config=train_config, rank=4, alpha=2
        )

    whole = run(tmp_path / "whole", 4)
    run(tmp_path / "cut", 2)
    ended = run(tmp_path / "cut", 4)
    for name, value in whole.state_dict().items():
        assert torch.equal(value, ended.state_dict()[name]), name
    kept, _ = load_tensors(tmp_path / "cut" / "checkpoint.safetensors")
    assert not any("base_layer" in name or "codec" in name for name in kept)
    factors, added = read_adapter(tmp_path / "cut")
    assert "blocks.0.attn1.to_q.weight" in factors
    assert "learnable_domain_embeddings" in added
    assert (tmp_path / "cut" / LORA_FILE).is_file()
    assert (tmp_path / "cut" / ADDED_FILE).is_file()
