"""Codecs give back what they were given, and say so in metres."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch
from torch import Tensor

from kin4d.errors import InputError
from kin4d.world.diffusion.codec import (
    PcaCodec,
    VaeCodec,
    fit_pca,
    load_codec,
    make_codec,
    save_codec,
)
from kin4d.world.diffusion.config import DiffusionConfig


def smooth_videos(count: int, seed: int = 0) -> Tensor:
    """[count, 3, 9, 16, 32] in [-1, 1]: slow waves."""
    generator = torch.Generator().manual_seed(seed)
    phase = torch.rand(count, 3, 1, 1, 1, generator=generator) * 6
    t, y, x = (torch.linspace(0, 1, n) for n in (9, 16, 32))
    wave = t.view(-1, 1, 1) + y.view(-1, 1) * 2 + x
    return torch.sin(wave + phase) * 0.9


def test_pca_gives_back_what_it_was_fitted_to() -> None:
    codec = fit_pca(((smooth_videos(4, s), smooth_videos(4, s + 50)) for s in range(3)), 24)
    for modality in ("rgb", "xyz"):
        video = smooth_videos(2, 9)
        latents = codec.encode(video, modality)
        assert latents.shape == (2, 24, 3, 2, 4)
        assert (codec.decode(latents, modality) - video).abs().max() < 1e-2


def test_pca_latents_are_normalised() -> None:
    video = torch.randn(8, 3, 9, 16, 32) * torch.linspace(0.1, 0.5, 32)
    latents = fit_pca([(video, video)], 16).encode(video, "rgb")[:, :, 1:]
    spread = latents.transpose(0, 1).flatten(1).std(1)
    torch.testing.assert_close(spread, torch.ones(16), atol=0.05, rtol=0)


def test_pca_importance_weighs_like_pixels() -> None:
    videos = smooth_videos(6)
    codec = fit_pca([(videos, videos)], 24)
    a, b = codec.encode(videos[:1], "rgb"), codec.encode(videos[1:2], "rgb")
    apart = (a - b).square()[:, :, 1:] * codec.importance("rgb").view(1, -1, 1, 1, 1)
    variance = codec.bases["rgb_later"].std.square().mean()
    pixels = (videos[:1] - videos[1:2])[:, :, 1:].square()
    assert float(apart.sum() * variance) == pytest.approx(float(pixels.sum()), rel=1e-2)


def test_videos_of_odd_sizes_are_refused() -> None:
    with pytest.raises(InputError, match="divide into cells"):
        PcaCodec(8).encode(torch.zeros(1, 3, 8, 16, 32), "rgb")
    with pytest.raises(InputError, match="more numbers"):
        PcaCodec(200)
    with pytest.raises(InputError, match="no videos"):
        fit_pca([], 4)


def test_vae_codec_has_the_same_interface() -> None:
    torch.manual_seed(0)
    config = DiffusionConfig(codec="vae", latent_channels=8, vae_width=4)
    codec = make_codec(config)
    assert isinstance(codec, VaeCodec)
    video = smooth_videos(1)
    rgb, xyz = codec.encode(video, "rgb"), codec.encode(video, "xyz")
    assert rgb.shape == (1, 8, 3, 2, 4)
    torch.testing.assert_close(xyz * 1.36 - 0.17, rgb)
    decoded = codec.decode(rgb, "rgb")
    assert decoded.shape == video.shape
    torch.testing.assert_close(codec.decode(xyz, "xyz"), decoded, atol=1e-5, rtol=1e-4)
    assert not codec.train().vae.training


@pytest.mark.parametrize("form", ["pca", "vae"])
def test_codecs_are_saved_and_read(form: str, tmp_path: Path) -> None:
    config = DiffusionConfig(codec=form, latent_channels=8, vae_width=4)
    codec, file = make_codec(config), tmp_path / "codec.safetensors"
    save_codec(file, codec, {"data": "waves"})
    again, video = load_codec(file), smooth_videos(1)
    assert torch.equal(codec.encode(video, "xyz"), again.encode(video, "xyz"))


def test_other_files_are_refused(tmp_path: Path) -> None:
    from kin4d.training import save_tensors

    save_tensors(tmp_path / "a.safetensors", {"a": torch.zeros(1)}, {"model": "neurok"})
    with pytest.raises(InputError, match="another model"):
        load_codec(tmp_path / "a.safetensors")
    save_tensors(
        tmp_path / "b.safetensors", {"a": torch.zeros(1)}, {"model": "codec", "version": 9}
    )
    with pytest.raises(InputError, match="another version"):
        load_codec(tmp_path / "b.safetensors")
