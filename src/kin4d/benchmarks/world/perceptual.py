"""LPIPS, FID and FVD, with networks whose weights the user brings. None ship, none are fetched.

LPIPS is the published form on AlexNet. FID and FVD are Fréchet distances between the features of
images and of clips; their figures compare with others only if the network is the same.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from kin4d.errors import InputError
from kin4d.extras import require
from kin4d.files import existing_file
from kin4d.training.checkpoint import load_tensors
from kin4d.training.weights import check_state_dict

Features = Callable[[np.ndarray], np.ndarray]
"""From a clip [T, H, W, 3] uint8 to rows of features [n, d]: one per frame, or one per clip."""

_MEAN, _STD = (-0.030, -0.088, -0.188), (0.458, 0.448, 0.450)  # of colours between -1 and 1
_CONV_LAYERS = ((3, 64, 11, 4, 2), (64, 192, 5, 1, 2), (192, 384, 3, 1, 1), (384, 256, 3, 1, 1))
_LAST = (256, 256, 3, 1, 1)


class Lpips(nn.Module):
    """Learned perceptual distance: AlexNet's five layers, each with a weight per channel.

    Names of tensors are those of the published files: ``features.0.weight`` and so on, as in
    torchvision's AlexNet, and ``lin0.model.1.weight`` and so on for the weights.
    """

    _taps = (1, 4, 7, 9, 11)

    def __init__(self) -> None:
        super().__init__()
        layers: list[nn.Module] = []
        for number, (inputs, outputs, size, stride, pad) in enumerate((*_CONV_LAYERS, _LAST)):
            if number in (1, 2):
                layers.append(nn.MaxPool2d(3, 2))
            layers += [nn.Conv2d(inputs, outputs, size, stride, pad), nn.ReLU()]
        self.features = nn.Sequential(*layers)
        for number, (_, width, *_rest) in enumerate((*_CONV_LAYERS, _LAST)):
            linear = nn.Module()
            # The first of the two drops numbers at random in training; it has no weights.
            linear.model = nn.Sequential(nn.Identity(), nn.Conv2d(width, 1, 1, bias=False))
            self.add_module(f"lin{number}", linear)

    @classmethod
    def load(cls, file: str | Path) -> Lpips:
        """Read a .safetensors file with both the network's tensors and the weights'."""
        network = cls()
        tensors, _ = load_tensors(existing_file(file))
        wanted = network.state_dict()
        check_state_dict(wanted, {name: tensors[name] for name in wanted if name in tensors})
        network.load_state_dict({name: tensors[name] for name in wanted})
        return network.requires_grad_(False).eval()

    def forward(self, truth: Tensor, predicted: Tensor) -> Tensor:
        """[B] of images [B, 3, H, W] between -1 and 1; at least 32 pixels high and wide."""
        mean, std = (truth.new_tensor(v).view(3, 1, 1) for v in (_MEAN, _STD))
        a, b = (truth - mean) / std, (predicted - mean) / std
        total, stage = truth.new_zeros(len(truth)), 0
        for number, layer in enumerate(self.features):
            a, b = layer(a), layer(b)
            if number in self._taps:
                off = (_unit(a) - _unit(b)).square()
                weigh: Any = self.get_submodule(f"lin{stage}.model")
                total = total + weigh(off).mean((1, 2, 3))
                stage += 1
        return total

    @torch.no_grad()
    def distance(self, truth: np.ndarray, predicted: np.ndarray, *, batch: int = 16) -> float:
        """Mean over the frames of two clips [T, H, W, 3] uint8 but the first, which is given."""
        found = [
            self(*(_images(clip[start : start + batch]) for clip in (truth, predicted)))
            for start in range(1, len(truth), batch)
        ]
        return float(torch.cat(found).mean())


def frechet_distance(a: np.ndarray, b: np.ndarray) -> float:
    """Between Gaussians with the mean and covariance of features [n, d] and [m, d]."""
    if a.ndim != 2 or b.ndim != 2 or a.shape[1] != b.shape[1] or min(len(a), len(b)) < 2:
        raise InputError(
            "features of two sets", value=(a.shape, b.shape), allowed="[n >= 2, d] of both"
        )
    mean = np.square(a.mean(0) - b.mean(0)).sum()
    cov_a, cov_b = (np.atleast_2d(np.cov(rows.astype(np.float64), rowvar=False)) for rows in (a, b))
    # The trace of the root of their product is that of this symmetric matrix, singular or not.
    size, axes = np.linalg.eigh(cov_a)
    root = axes * np.sqrt(np.maximum(size, 0)) @ axes.T
    shared = np.sqrt(np.maximum(np.linalg.eigvalsh(root @ cov_b @ root), 0)).sum()
    return float(mean + np.trace(cov_a) + np.trace(cov_b) - 2 * shared)


def feature_distance(
    truth: Iterable[np.ndarray], predicted: Iterable[np.ndarray], features: Features
) -> float:
    """FID, if features are of frames; FVD, if they are of clips."""
    a, b = (np.concatenate([features(clip) for clip in clips]) for clips in (truth, predicted))
    return frechet_distance(a, b)


def image_features(folder: str | Path) -> Features:
    """Features of frames, by a network that transformers loads: a folder or a hub id."""
    return _features(folder, video=False)


def clip_features(folder: str | Path) -> Features:
    """Features of whole clips, by a video network that transformers loads, such as VideoMAE."""
    return _features(folder, video=True)


def _features(folder: str | Path, *, video: bool) -> Features:
    library = require("transformers", extra="world", purpose="FID and FVD with your weights")
    network: Any = library.AutoModel.from_pretrained(str(folder), use_safetensors=True).eval()
    config = network.config
    side = getattr(config, "image_size", None)
    frames = getattr(config, "num_frames", None) if video else None

    @torch.no_grad()
    def features(clip: np.ndarray) -> np.ndarray:
        if frames:
            clip = clip[np.linspace(0, len(clip) - 1, frames).round().astype(int)]
        images = _images(clip)
        if side:
            size = (side, side) if isinstance(side, int) else tuple(side)
            images = nn.functional.interpolate(images, size, mode="bilinear", antialias=True)
        output = network(pixel_values=images[None] if video else images)
        pooled = getattr(output, "pooler_output", None)
        rows = output.last_hidden_state if pooled is None else pooled
        rows = rows.flatten(2).mean(2) if rows.ndim == 4 else rows
        return (rows.mean(1) if rows.ndim == 3 else rows).numpy()

    return features


def _images(clip: np.ndarray) -> Tensor:
    """[T, 3, H, W] between -1 and 1."""
    return torch.from_numpy(clip.astype(np.float32) / 127.5 - 1).movedim(-1, 1)


def _unit(features: Tensor) -> Tensor:
    return features / (features.square().sum(1, keepdim=True).sqrt() + 1e-10)
