"""A VAE learns, its latents come out at unit size, and its loss is reported in metres."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
import torch

from kin4d.errors import InputError
from kin4d.training import TrainConfig, load_tensors
from kin4d.world.diffusion.batch import VideoBatch, codec_videos
from kin4d.world.diffusion.codec import PcaCodec, load_codec
from kin4d.world.diffusion.train_vae import VaeSizes, measure_codec, train_vae

pytest.importorskip("accelerate")


def test_a_trained_vae_is_a_codec(clips: Callable, tmp_path: Path) -> None:
    def make_batches(rank: int, step: int) -> Iterator[VideoBatch]:
        while True:
            yield clips([step])
            step += 1

    train_config = TrainConfig(steps=3, warmup_steps=1, log_every=1, save_every=0.0)
    sizes = VaeSizes(width=4, channels=8)
    codec = train_vae(
        make_batches, tmp_path, train_config=train_config, sizes=sizes, dev=[clips([5])]
    )
    metadata = load_tensors(tmp_path / "weights.safetensors")[1]
    assert {"psnr", "metres", "flipped"} == set(metadata["training"]["dev"])
    again = load_codec(tmp_path / "weights.safetensors")
    (rgb, xyz), _ = codec_videos(clips([0]))
    assert torch.equal(codec.encode(xyz, "xyz"), again.encode(xyz, "xyz"))
    sample = torch.cat([codec.encode(v, "rgb") for v, _ in codec_videos(clips([0, 1, 2]))])
    assert 0.3 < float(sample.std()) < 3
    assert codec.encode(rgb, "rgb").shape == (1, 8, 3, 2, 4)


def test_a_stopped_vae_goes_on(clips: Callable, tmp_path: Path) -> None:
    def make_batches(rank: int, step: int) -> Iterator[VideoBatch]:
        while True:
            yield clips([step])
            step += 1

    sizes = VaeSizes(width=4, channels=8)
    train_vae(
        make_batches, tmp_path, train_config=TrainConfig(steps=1, warmup_steps=1), sizes=sizes
    )
    train_vae(
        make_batches, tmp_path, train_config=TrainConfig(steps=2, warmup_steps=1), sizes=sizes
    )
    assert load_tensors(tmp_path / "weights.safetensors")[1]["training"]["step"] == 2


def test_a_codec_is_measured_in_metres(clips: Callable, pca: PcaCodec) -> None:
    found = measure_codec(pca, [clips([0]), clips([1])])
    assert found["psnr"] > 25
    assert found["metres"] < 0.05
    assert found["flipped"] < 0.02
    worse = PcaCodec(1)
    assert measure_codec(worse, [clips([0])])["psnr"] < found["psnr"]
    with pytest.raises(InputError, match="no videos"):
        measure_codec(pca, [])


@pytest.mark.slow
def test_a_vae_learns(clips: Callable, tmp_path: Path) -> None:
    def make_batches(rank: int, step: int) -> Iterator[VideoBatch]:
        while True:
            yield clips([step])
            step += 1

    sizes, train_config = (
        VaeSizes(width=4, channels=8),
        TrainConfig(steps=40, lr=5e-3, warmup_steps=5),
    )
    before = train_vae(make_batches, tmp_path / "a", train_config=TrainConfig(steps=1), sizes=sizes)
    after = train_vae(make_batches, tmp_path / "b", train_config=train_config, sizes=sizes)
    start, end = (measure_codec(codec, [clips([0, 1])]) for codec in (before, after))
    assert end["psnr"] > start["psnr"] + 1
