"""Configs hold together, and presets have the sizes they are named for."""

from __future__ import annotations

import json

import pytest

from kin4d.errors import InputError
from kin4d.world.diffusion.config import PRESETS, DiffusionConfig


@pytest.mark.parametrize("name", sorted(PRESETS))
def test_configs_survive_json(name: str) -> None:
    config = PRESETS[name]
    assert DiffusionConfig.from_dict(json.loads(json.dumps(config.to_dict()))) == config


def test_the_published_form_has_the_published_sizes() -> None:
    config = PRESETS["wan14b"]
    assert config.in_channels == 36
    assert config.fused == (16, 13, 60, 180)
    assert config.tokens == 35_100
    assert config.robot_grid == (13, 4, 6)
    assert config.inner == 5120


def test_the_tiny_form_has_half_the_tokens_of_width_fusion() -> None:
    assert PRESETS["tiny"].tokens == 312
    assert DiffusionConfig(fusion="width").tokens == 624


@pytest.mark.parametrize(
    ("wrong", "named"),
    [
        ({"frames": 48}, "4 k"),
        ({"height": 60}, "height"),
        ({"robot_patch": 5}, "robot_patch"),
        ({"control": "telepathy"}, "rgb[+]pointmap"),
        ({"layers": 0}, "layers"),
        ({"soft_mask": 1.5}, "soft_mask"),
        ({"first_frame_geometry": "ramp"}, "composite"),
        ({"head_dim": 7}, "head_dim"),
    ],
)
def test_configs_that_cannot_be_are_refused(wrong: dict, named: str) -> None:
    with pytest.raises(InputError, match=named):
        DiffusionConfig(**wrong)


def test_keys_of_the_future_are_refused() -> None:
    with pytest.raises(InputError, match="upgrade"):
        DiffusionConfig.from_dict({"frames": 49, "telepathy": 1})
