"""Training end to end: weights that load, runs that go on, one batch learned by heart."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
import torch

from kin4d.errors import InputError
from kin4d.training import TrainConfig, load_tensors, save_tensors
from kin4d.training.config import config_of_preset
from kin4d.world.diffusion.batch import VideoBatch, codec_videos, composite_of
from kin4d.world.diffusion.codec import PcaCodec, fit_pca, make_codec
from kin4d.world.diffusion.latent_video import (
    LatentVideoModel,
    load_latent_video_model,
    save_latent_video_model,
)
from kin4d.world.diffusion.train import TRAIN_CONFIGS, evaluate_diffusion, train_diffusion

pytest.importorskip("accelerate")


@pytest.fixture
def make_batches(clips: Callable) -> Callable[[int, int], Iterator[VideoBatch]]:
    def endless(rank: int, step: int) -> Iterator[VideoBatch]:
        while True:
            yield clips([rank + step, rank + step + 1])
            step += 1

    return endless


def test_a_run_writes_weights_that_imagine(
    make_batches: Callable, clips: Callable, toy: Callable, pca: PcaCodec, tmp_path: Path
) -> None:
    train_config = TrainConfig(steps=4, warmup_steps=1, save_every=0.0, log_every=2)
    trained = train_diffusion(
        make_batches,
        tmp_path,
        codec=pca,
        config=toy(),
        train_config=train_config,
        dev=[clips([5])],
        data={"of": "toys"},
    )
    tensors, metadata = load_tensors(tmp_path / "weights.safetensors")
    assert metadata["data"] == {"of": "toys"}
    assert {"psnr", "still_psnr", "moving_psnr", "metres"} <= set(metadata["training"]["dev"])
    assert any(name.startswith("codec.") for name in tensors)
    again = load_latent_video_model(tmp_path)
    one, two = (g.imagine(clips([3], truth=False), steps=2) for g in (trained, again))
    assert torch.equal(one.rgb, two.rgb)
    assert torch.equal(one.xyz.nan_to_num(), two.xyz.nan_to_num())
    assert one.rgb.shape == (1, 9, 16, 32, 3)
    assert one.xyz.shape == (1, 9, 16, 32, 3)


def test_a_run_that_has_not_ended_can_be_used_and_goes_on(
    make_batches: Callable, clips: Callable, toy: Callable, pca: PcaCodec, tmp_path: Path
) -> None:
    train_config = TrainConfig(steps=6, warmup_steps=1, save_every=0.0, log_every=2, decay=0.0)
    whole = train_diffusion(
        make_batches, tmp_path / "whole", codec=pca, config=toy(), train_config=train_config
    )

    class Killed(Exception):
        pass

    def cut(rank: int, step: int) -> Iterator[VideoBatch]:
        for number, batch in enumerate(make_batches(rank, step), start=step):
            if number == 3:
                raise Killed
            yield batch

    with pytest.raises(Killed):
        train_diffusion(cut, tmp_path / "cut", codec=pca, config=toy(), train_config=train_config)
    halfway = load_latent_video_model(tmp_path / "cut")
    assert halfway.imagine(clips([0])).rgb.shape == (1, 9, 16, 32, 3)
    ended = train_diffusion(
        make_batches, tmp_path / "cut", codec=pca, config=toy(), train_config=train_config
    )
    for name, value in whole.state_dict().items():
        assert torch.equal(value, ended.state_dict()[name]), name


def test_latents_kept_teach_the_same(
    make_batches: Callable, toy: Callable, pca: PcaCodec, tmp_path: Path
) -> None:
    train_config = TrainConfig(steps=2, warmup_steps=1, log_every=1)
    video_model = LatentVideoModel(toy(), pca)

    def kept(rank: int, step: int) -> Iterator:
        for batch in make_batches(rank, step):
            tensors = video_model.encode(batch).tensors()
            yield type(video_model.encode(batch))(**tensors)

    one = train_diffusion(
        make_batches, tmp_path / "a", codec=pca, config=toy(), train_config=train_config
    )
    two = train_diffusion(kept, tmp_path / "b", codec=pca, config=toy(), train_config=train_config)
    for name, value in one.state_dict().items():
        assert torch.equal(value, two.state_dict()[name]), name


def test_an_untrained_model_leaves_the_composite(
    clips: Callable, toy: Callable, pca: PcaCodec
) -> None:
    video_model = LatentVideoModel(toy(), pca)
    found = evaluate_diffusion(video_model, [clips([1, 2])])
    assert found["psnr"] == pytest.approx(found["still_psnr"], abs=1e-6)
    assert found["metres"] == pytest.approx(found["still_metres"], abs=1e-6)
    assert found["moving_psnr"] < found["psnr"]


def test_weights_that_do_not_fit_are_refused(toy: Callable, pca: PcaCodec, tmp_path: Path) -> None:
    video_model, file = LatentVideoModel(toy(), pca), tmp_path / "weights.safetensors"
    save_latent_video_model(file, video_model, {})
    tensors, metadata = load_tensors(file)
    for change, control_input in (
        ({"version": 99}, "another version"),
        ({"model": "neurok"}, "another model"),
        ({"config": {**metadata["config"], "ffn": 65}}, "do not match their config"),
        ({"config": {**metadata["config"], "telepathy": 1}}, "does not know"),
    ):
        save_tensors(file, tensors, {**metadata, **change})
        with pytest.raises(InputError, match=control_input):
            load_latent_video_model(tmp_path)
    tensors.pop("transformer.proj_out.bias")
    save_tensors(file, tensors, metadata)
    with pytest.raises(InputError, match="lack a tensor"):
        load_latent_video_model(tmp_path)
    with pytest.raises(InputError, match="latent channels of the codec differ"):
        LatentVideoModel(toy(latent_channels=8), pca)
    save_latent_video_model(file, video_model, {})
    with pytest.raises(InputError, match="differs from that to train"):
        train_diffusion(
            lambda *_: iter(()), tmp_path, codec=pca, config=toy(ffn=65), init_weights=file
        )


def test_the_wan_codec_is_kept_with_the_weights(
    clips: Callable, toy: Callable, tmp_path: Path
) -> None:
    config = toy(codec="vae", vae_width=4, latent_channels=8)
    video_model = LatentVideoModel(config, make_codec(config))
    save_latent_video_model(tmp_path / "weights.safetensors", video_model, {})
    one, two = (g.imagine(clips([1])) for g in (video_model, load_latent_video_model(tmp_path)))
    assert torch.equal(one.rgb, two.rgb)


def test_presets_are_named() -> None:
    assert config_of_preset(TRAIN_CONFIGS, "tiny", steps=7, lr=None).steps == 7
    with pytest.raises(InputError, match="no such preset"):
        config_of_preset(TRAIN_CONFIGS, "enormous")


@pytest.mark.slow
@pytest.mark.parametrize(
    "form",
    [
        {},
        {"start": "noise", "fusion": "width", "target": "velocity", "first": "ramp"},
    ],
)
def test_one_batch_is_learned_by_heart(
    form: dict, clips: Callable, toy: Callable, pca: PcaCodec, tmp_path: Path
) -> None:
    config = toy(**form, head_dim=32, ffn=256, soft_mask=0.0, init_noise=0.1)
    batch = clips([0, 1, 2])
    kept = LatentVideoModel(config, pca).encode(batch)

    def make_batches(rank: int, step: int) -> Iterator:
        while True:
            yield kept

    train_config = TrainConfig(steps=800, lr=3e-3, warmup_steps=20, log_every=400)
    video_model = train_diffusion(
        make_batches, tmp_path, codec=pca, config=config, train_config=train_config
    )
    found = evaluate_diffusion(video_model, [batch], steps=1 if config.target == "x0" else 16)
    start = evaluate_diffusion(LatentVideoModel(config, pca), [batch])
    assert found["psnr"] > start["psnr"] + 6
    assert found["metres"] < 0.5 * start["metres"]


def test_what_stands_still_stays_sharp(clips: Callable, toy: Callable) -> None:
    """A codec that keeps next to nothing still shows the composite as it was."""
    some = clips([1])
    some.first_rgb[:, ::2, ::2] = 90
    coarse = fit_pca(codec_videos(some), 2)
    video_model = LatentVideoModel(toy(latent_channels=2), coarse)
    found = video_model.imagine(some, steps=1)
    shown = (composite_of(some, video_model.config)[0] + 1) * 127.5
    assert (found.rgb.float() - shown.movedim(1, -1)).abs().max() <= 1
    plain = video_model.imagine(video_model.encode(some), steps=1)
    assert (plain.rgb.float() - shown.movedim(1, -1)).abs().max() > 10
