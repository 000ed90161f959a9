"""The transformer is Wan's where nothing is added, and what is added does what it should."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch
from diffusers import WanTransformer3DModel
from torch import Tensor, nn

from kin4d.errors import InputError
from kin4d.world.diffusion.conditioning import Condition, first_frame_mask, split
from kin4d.world.diffusion.config import PRESETS, DiffusionConfig
from kin4d.world.diffusion.control import CONTROLS
from kin4d.world.diffusion.transformer import ADDED, WorldTransformer


def some_condition(config: DiffusionConfig, batch: int = 2) -> Condition:
    generator = torch.Generator().manual_seed(0)
    c, t, h, w = config.fused
    n = len(CONTROLS[config.control].modalities)
    drawn = (c * n // 2, t, h, w) if config.fusion == "channel" else (c, t, h, w * n // 2)
    control_input = {
        "actions": torch.randn(batch, config.frames, config.actions, generator=generator),
        "words": torch.randint(1, 99, (batch, 5), generator=generator),
    }
    return Condition(
        mask=first_frame_mask(config).repeat(batch, 1, 1, 1, 1),
        latents=torch.randn(batch, c, t, h, w, generator=generator),
        robot_mask=torch.ones(batch, 1, *config.grid) if n else None,
        robot=torch.randn(batch, *drawn, generator=generator) if n else None,
        control_input=control_input.get(CONTROLS[config.control].token_source or ""),
        image=torch.randn(batch, 7, config.image_dim) if config.image_dim else None,
    )


def noisy(config: DiffusionConfig, batch: int = 2) -> Tensor:
    return torch.randn(batch, *config.fused, generator=torch.Generator().manual_seed(1))


def shaken(model: nn.Module) -> nn.Module:
    """With every parameter away from where it was initialised, zeros above all."""
    torch.manual_seed(3)
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.add_(torch.randn_like(parameter) * 0.1)
    return model


TIMES = torch.tensor([100.0, 900.0])


@pytest.mark.parametrize("fusion", ["width", "channel"])
@pytest.mark.parametrize("control", sorted(CONTROLS))
def test_every_form_runs_and_trains_all_of_itself(fusion: str, control: str, toy: Callable) -> None:
    config = toy(fusion=fusion, control=control)
    model = shaken(WorldTransformer(config))
    out = model(noisy(config), TIMES, some_condition(config))
    assert out.shape == (2, *config.fused)
    out.square().mean().backward()
    unused = [name for name, p in model.named_parameters() if p.grad is None]
    assert unused == []


@pytest.mark.parametrize("fusion", ["width", "channel"])
@pytest.mark.parametrize("control", sorted(CONTROLS))
def test_inputs_are_left_as_they_were(fusion: str, control: str, toy: Callable) -> None:
    config = toy(fusion=fusion, control=control)
    model, condition, x = shaken(WorldTransformer(config)), some_condition(config), noisy(config)
    given = [x, *(v for v in vars(condition).values() if v is not None)]
    copies = [tensor.clone() for tensor in given]
    with torch.no_grad():
        first, second = (model(x, TIMES, condition) for _ in range(2))
    assert torch.equal(first, second)
    assert all(torch.equal(a, b) for a, b in zip(given, copies, strict=True))


def test_it_is_wan_where_nothing_is_added(toy: Callable) -> None:
    """Text control and image tokens, modalities not distinguished: diffusers' own forward pass."""
    config = toy(fusion="width", control="text", image_dim=24)
    model = shaken(WorldTransformer(config)).eval()
    model.learnable_domain_embeddings.data.zero_()
    wan = WanTransformer3DModel.from_config({**model.config})
    wan.load_state_dict(
        {
            k: v
            for k, v in model.state_dict().items()
            if not k.startswith((*ADDED, "condition_encoder"))
        }
    )
    wan.rope = model.rope
    condition = some_condition(config)
    text = torch.randn(2, 512, config.text_dim)
    condition = Condition(**{**vars(condition), "control_input": text})
    with torch.no_grad():
        ours = model(noisy(config), TIMES, condition)
        x = torch.cat([noisy(config), condition.mask, condition.latents], 1)
        theirs = wan(x, TIMES, text, condition.image, return_dict=False)[0]
    torch.testing.assert_close(ours, theirs, atol=1e-5, rtol=1e-4)


def test_both_halves_of_a_place_share_a_position(toy: Callable) -> None:
    config = toy(fusion="width")
    cos, sin = WorldTransformer(config).rope(noisy(config))
    t, h, w = config.grid
    for angles in (cos, sin):
        grid = angles.view(t, h // 2, w, -1)
        assert torch.equal(grid[:, :, : w // 2], grid[:, :, w // 2 :])
        assert not torch.equal(grid[:, :, 0], grid[:, :, 1])


@pytest.mark.parametrize("control", ["pointmap", "rgb+pointmap"])
@pytest.mark.parametrize("fusion", ["width", "channel"])
def test_the_robot_goes_where_the_paper_puts_it(fusion: str, control: str, toy: Callable) -> None:
    config = toy(fusion=fusion, control=control)
    model, condition = shaken(WorldTransformer(config)), some_condition(config)
    condition = Condition(**{**vars(condition), "robot_mask": condition.robot_mask * 0.25})
    mask, latents = model._add_control(condition)
    rgb, xyz = split(mask, config)
    moved_rgb, moved_xyz = split((latents - condition.latents).abs() > 0, config)
    if control == "pointmap":
        assert (xyz == 0.25).all()
        assert (rgb[:, :, 0] == 1).all()
        assert not rgb[:, :, 1:].any()
        assert moved_xyz.all()
        assert not moved_rgb.any()
    else:
        assert (rgb[:, :, 0] == 1).all()
        assert (xyz[:, :, 0] == 0.5).all()
        for half in (rgb, xyz):
            assert (half[:, :, 1:] == 0.25).all()
        for moved in (moved_rgb, moved_xyz):
            assert moved[:, :, 1:].all()
            assert not moved[:, :, 0].any()


def test_zero_initialised_projections_hide_the_robot(toy: Callable) -> None:
    config = toy(fusion="width", control="pointmap")
    model = WorldTransformer(config)
    condition = some_condition(config)
    _, latents = model._add_control(condition)
    assert torch.equal(latents, condition.latents)
    assert not model._context(condition, torch.zeros(2, 1, config.inner)).tokens.any()


def test_the_published_form_has_the_published_parameters() -> None:
    small = {"layers": 1, "heads": 2, "head_dim": 128, "ffn": 32}
    values = {**PRESETS["wan14b"].to_dict(), **small}
    with torch.device("meta"):
        model = WorldTransformer(DiffusionConfig.from_dict(values))
    shapes = {name: tuple(p.shape) for name, p in model.named_parameters()}
    expected = {
        "patch_embedding.weight": (256, 36, 1, 2, 2),
        "learnable_domain_embeddings": (2, 256),
        "patch_embedding_arm.weight": (128, 20, 1, 15, 15),
        "arm_ln.weight": (128,),
        "arm_pos_emb": (1, 128, 13, 4, 6),
        "arm_domain_emb": (2, 128),
        "arm_patch_proj.weight": (256, 128),
        "arm_cond_proj.weight": (16, 16),
        "blocks.0.attn2.add_k_proj.weight": (256, 256),
    }
    assert {name: shapes.get(name) for name in expected} == expected
    values["control"] = "pointmap"
    with torch.device("meta"):
        model = WorldTransformer(DiffusionConfig.from_dict(values))
    assert "arm_domain_emb" not in dict(model.named_parameters())


def test_checkpointed_gradients_are_the_same(toy: Callable) -> None:
    config = toy()
    model, condition = shaken(WorldTransformer(config)), some_condition(config)
    grads = []
    for on in (False, True):
        model.zero_grad()
        if on:
            model.enable_gradient_checkpointing()
        model(noisy(config), TIMES, condition).square().mean().backward()
        grads.append(model.patch_embedding.weight.grad.clone())
    torch.testing.assert_close(*grads)


def test_conditions_of_other_configs_are_refused(toy: Callable) -> None:
    config = toy()
    model = WorldTransformer(config)
    with pytest.raises(InputError, match="mask"):
        model(noisy(config), TIMES, some_condition(toy(width=64)))
    no_robot = Condition(**{**vars(some_condition(config)), "robot": None})
    with pytest.raises(InputError, match="robot"):
        model(noisy(config), TIMES, no_robot)
    text = toy(control="text")
    bare, reader = (
        Condition(**{**vars(some_condition(text)), "control_input": None}),
        WorldTransformer(text),
    )
    with pytest.raises(InputError, match="words"):
        reader(noisy(text), TIMES, bare)
