"""A small NeuROK model that was never trained."""

from __future__ import annotations

import torch

from kin4d.neurok import Neurok, NeurokConfig

TINY = NeurokConfig(width=16, heads=2, tokens=4, octaves=3)


def shaken(config: NeurokConfig, seed: int = 0) -> Neurok:
    """A model whose zero-initialised layers are not zero, so that everything has an effect."""
    torch.manual_seed(seed)
    model = Neurok(config)
    with torch.no_grad():
        for parameter in model.parameters():
            parameter += 0.1 * torch.randn_like(parameter)
    return model.requires_grad_(False).eval()
