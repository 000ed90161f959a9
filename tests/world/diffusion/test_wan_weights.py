"""Published weights, on small random checkpoints saved in exactly the published layout."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import torch
from diffusers import AutoencoderKLWan, WanImageToVideoPipeline, WanTransformer3DModel
from safetensors.torch import load_file, save_file

from kin4d.errors import InputError
from kin4d.world.diffusion import memory_estimate
from kin4d.world.diffusion.batch import VideoBatch, condition_of
from kin4d.world.diffusion.config import PRESETS
from kin4d.world.diffusion.latent_video import LatentVideoModel
from kin4d.world.diffusion.lora import ADDED_FILE, LORA_FILE, add_lora, save_adapter
from kin4d.world.diffusion.memory_estimate import memory_need, refuse_if_too_large
from kin4d.world.diffusion.transformer import ADDED, WorldTransformer
from kin4d.world.diffusion.wan_weights import image_tokens, load_published, published_config

SIZES = {"num_attention_heads": 2, "attention_head_dim": 16, "ffn_dim": 48, "num_layers": 2}
IMAGE = 24
EXACT = {"dtype": torch.float32, "device": "cpu"}


@pytest.fixture(scope="module")
def base(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Wan in diffusers' layout: transformer in shards, VAE with the published constants."""
    torch.manual_seed(0)
    folder = tmp_path_factory.mktemp("base")
    wan = WanTransformer3DModel(
        **SIZES,
        patch_size=(1, 2, 2),
        in_channels=36,
        out_channels=16,
        text_dim=32,
        freq_dim=32,
        image_dim=IMAGE,
        added_kv_proj_dim=32,
    )
    wan.save_pretrained(folder / "transformer", max_shard_size="60KB")
    assert (folder / "transformer" / "diffusion_pytorch_model.safetensors.index.json").is_file()
    AutoencoderKLWan(base_dim=4, z_dim=16).save_pretrained(folder / "vae")
    return folder


def adapter_of(variant: str, base: Path, toy: Callable, folder: Path) -> WorldTransformer:
    """A transformer with a random adapter, saved as published ones are."""
    config = toy(
        fusion="width",
        control=variant,
        codec="vae",
        init="noise",
        target="velocity",
        first_frame_geometry="ramp",
        text_dim=32,
        image_dim=IMAGE,
        ffn=48,
        vae_width=4,
        actions=8,
    )
    model = WorldTransformer(config)
    index = json.loads(
        (base / "transformer/diffusion_pytorch_model.safetensors.index.json").read_text()
    )
    for shard in set(index["weight_map"].values()):
        model.load_state_dict(load_file(base / "transformer" / shard), strict=False)
    add_lora(model, rank=4, alpha=2)
    torch.manual_seed(1)
    with torch.no_grad():
        for parameter in model.parameters():
            if parameter.requires_grad:
                parameter.add_(torch.randn_like(parameter) * 0.2)
    save_adapter(folder, model)
    return model.eval()


def first_frames(clips: Callable) -> VideoBatch:
    some = clips([1], truth=False)
    image = torch.randn(1, 257, IMAGE, generator=torch.Generator().manual_seed(5))
    return VideoBatch(**{**vars(some), "image": image})


@pytest.mark.parametrize("variant", ["rgb+pointmap", "pointmap"])
def test_published_files_give_back_the_model_they_came_from(
    variant: str, base: Path, toy: Callable, clips: Callable, tmp_path: Path
) -> None:
    trained = adapter_of(variant, base, toy, tmp_path)
    assert ("arm_domain_emb" in load_file(tmp_path / ADDED_FILE)) == (variant == "rgb+pointmap")
    video_model = load_published(base, tmp_path, variant=variant, **EXACT)
    assert video_model.config == trained.world
    encoded = video_model.encode(first_frames(clips))
    condition = condition_of(encoded, video_model.config, soft=False)
    x = torch.randn(condition.latents.shape)
    with torch.no_grad():
        ours = video_model(x, torch.tensor([300.0]), condition)
        theirs = trained(x, torch.tensor([300.0]), condition)
    torch.testing.assert_close(ours, theirs, atol=1e-5, rtol=1e-4)
    assert ours.abs().max() > 1e-3
    found = video_model.imagine(first_frames(clips), steps=2)
    assert found.rgb.shape == (1, 9, 16, 32, 3)


def test_precisions_and_offloading_agree(
    base: Path, toy: Callable, clips: Callable, tmp_path: Path
) -> None:
    adapter_of("pointmap", base, toy, tmp_path)
    exact = load_published(base, tmp_path, variant="pointmap", **EXACT)
    brought = load_published(base, tmp_path, variant="pointmap", **EXACT, offload=True)
    rough = load_published(base, tmp_path, variant="pointmap", device="cpu").transformer
    assert rough.patch_embedding.weight.dtype == torch.bfloat16
    assert rough.scale_shift_table.dtype == torch.float32
    # Two precisions in one model, without bfloat16, which some processors only claim to have.
    mixed = load_published(base, tmp_path, variant="pointmap", dtype=torch.float64, device="cpu")
    videos = [g.imagine(first_frames(clips), steps=1).rgb for g in (exact, brought, mixed)]
    assert torch.equal(videos[0], videos[1])
    assert (videos[0].float() - videos[2].float()).abs().max() <= 1


def test_lora_counts_by_its_scale(base: Path, toy: Callable, tmp_path: Path) -> None:
    adapter_of("pointmap", base, toy, tmp_path)
    name = "blocks.1.attn2.to_out.0.weight"
    none, half, full = (
        load_published(base, tmp_path, variant="pointmap", lora_scale=scale, **EXACT)
        .transformer.state_dict()[name]
        .clone()
        for scale in (0.0, 0.5, 1.0)
    )
    torch.testing.assert_close(half - none, (full - none) / 2)
    assert not torch.equal(full, none)


def test_diffusers_reads_our_lora(base: Path, toy: Callable, tmp_path: Path) -> None:
    adapter_of("pointmap", base, toy, tmp_path)
    plain = WanTransformer3DModel.from_pretrained(base / "transformer")
    tensors = WanImageToVideoPipeline.lora_state_dict(tmp_path, weight_name=LORA_FILE)
    plain.load_lora_adapter(tensors, prefix="transformer")
    plain.fuse_lora(lora_scale=0.5)
    ours = load_published(base, tmp_path, variant="pointmap", **EXACT).transformer.state_dict()
    name = "blocks.0.attn1.to_q"
    fused = plain.state_dict()[f"{name}.base_layer.weight"]
    torch.testing.assert_close(fused, ours[f"{name}.weight"])


def test_published_subfolders_are_found(base: Path, toy: Callable, tmp_path: Path) -> None:
    adapter_of("pointmap", base, toy, tmp_path / "kinema4d_pmcond_ckpt")
    assert load_published(base, tmp_path, variant="pointmap", **EXACT).config.frames == 9


def test_what_does_not_fit_is_named(base: Path, toy: Callable, tmp_path: Path) -> None:
    adapter_of("pointmap", base, toy, tmp_path)
    lora, added = load_file(tmp_path / LORA_FILE), load_file(tmp_path / ADDED_FILE)

    def refused(message: str, *, variant: str = "pointmap", folder: Path = base) -> None:
        with pytest.raises(InputError, match=message):
            load_published(folder, tmp_path, variant=variant, **EXACT)
        save_file(lora, tmp_path / LORA_FILE)
        save_file(added, tmp_path / ADDED_FILE)

    refused("not of the 'rgb[+]pointmap' variant", variant="rgb+pointmap")
    refused("variant", variant="telepathy")
    save_file({k: v for k, v in added.items() if k != "arm_ln.bias"}, tmp_path / ADDED_FILE)
    refused("added_weights.safetensors lacks 1 tensors.*arm_ln.bias")
    save_file({**added, "arm_cond_proj.weight": torch.zeros(3, 3)}, tmp_path / ADDED_FILE)
    refused("shape of the weight 'arm_cond_proj.weight'")
    save_file({**added, "extra": torch.zeros(1)}, tmp_path / ADDED_FILE)
    refused("does not add")
    some = dict(list(lora.items())[1:])
    save_file(some, tmp_path / LORA_FILE)
    refused("pair")
    far = {k.replace("blocks.1.", "blocks.9."): v for k, v in lora.items()}
    save_file(far, tmp_path / LORA_FILE)
    refused("a weight that the base does not have.*blocks.9")
    (tmp_path / LORA_FILE).write_bytes(b"cut short")
    refused("not a readable safetensors file")
    refused("folder of published weights", folder=tmp_path / "nowhere" / "at" / "all")


def test_other_bases_are_refused(base: Path, toy: Callable, tmp_path: Path) -> None:
    adapter_of("pointmap", base, toy, tmp_path)
    added = load_file(tmp_path / ADDED_FILE)
    for name, value, message in (
        ("in_channels", 16, "not an image-to-video transformer"),
        ("image_dim", None, "not an image-to-video transformer"),
        ("qk_norm", "layer", "qk_norm"),
    ):
        folder = tmp_path / name
        for part in ("transformer", "vae"):
            config = json.loads((base / part / "config.json").read_text())
            (folder / part).mkdir(parents=True)
            changed = {**config, name: value} if part == "transformer" else config
            (folder / part / "config.json").write_text(json.dumps(changed))
        with pytest.raises(InputError, match=message):
            published_config(folder, added, "pointmap")


def test_the_published_size_is_refused_with_numbers(monkeypatch: pytest.MonkeyPatch) -> None:
    need = memory_need(PRESETS["wan14b"], torch.bfloat16)
    assert 30e9 < need.weights < 36e9
    assert need.block < 4e9
    assert need.on_device(offload=True) < 24e9
    monkeypatch.setattr(memory_estimate, "free_bytes", lambda device: int(10e9))
    for offload in (False, True):
        with pytest.raises(InputError, match=r"needs about [\d.]+ GB on .* 10.0 GB are free"):
            refuse_if_too_large(
                PRESETS["wan14b"], torch.bfloat16, torch.device("cpu"), offload=offload
            )
    refuse_if_too_large(PRESETS["tiny"], torch.float32, torch.device("cpu"), offload=False)


def test_added_parameters_are_as_many_as_published() -> None:
    with torch.device("meta"):
        model = WorldTransformer(PRESETS["wan14b"])
    added = sum(p.numel() for n, p in model.named_parameters() if n.startswith(ADDED))
    assert added == pytest.approx(1.29e6, rel=0.02)


def test_images_become_tokens(tmp_path: Path) -> None:
    transformers = pytest.importorskip("transformers")
    config = transformers.CLIPVisionConfig(
        hidden_size=IMAGE,
        intermediate_size=32,
        num_hidden_layers=2,
        num_attention_heads=2,
        image_size=28,
        patch_size=14,
    )
    transformers.CLIPVisionModel(config).save_pretrained(tmp_path / "image_encoder")
    size = {"height": 28, "width": 28}
    transformers.CLIPImageProcessor(size=size, crop_size=size).save_pretrained(
        tmp_path / "image_processor"
    )
    tokens = image_tokens(np.zeros((2, 16, 32, 3), np.uint8), tmp_path)
    assert tokens.shape == (2, 5, IMAGE)


def test_a_generator_needs_its_image_tokens(
    base: Path, toy: Callable, clips: Callable, tmp_path: Path
) -> None:
    adapter_of("pointmap", base, toy, tmp_path)
    video_model = load_published(base, tmp_path, variant="pointmap", **EXACT)
    assert isinstance(video_model, LatentVideoModel)
    with pytest.raises(InputError, match="image encoder"):
        video_model.imagine(clips([0]), steps=1)
