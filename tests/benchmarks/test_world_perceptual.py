"""LPIPS, FID and FVD with tiny or random networks."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch

from kin4d import extras
from kin4d.benchmarks.world.perceptual import (
    Lpips,
    clip_features,
    feature_distance,
    frechet_distance,
    image_features,
)
from kin4d.errors import InputError, MissingExtraError
from kin4d.training.checkpoint import save_tensors


def clip(seed: int, frames: int = 4) -> np.ndarray:
    return np.random.default_rng(seed).integers(0, 256, (frames, 64, 96, 3)).astype(np.uint8)


@pytest.fixture(scope="module")
def weights(tmp_path_factory: pytest.TempPathFactory) -> Path:
    torch.manual_seed(0)
    tensors = {
        name: value.abs() if name.startswith("lin") else value
        for name, value in Lpips().state_dict().items()
    }
    file = tmp_path_factory.mktemp("lpips") / "alex.safetensors"
    save_tensors(file, tensors, {})
    return file


def test_lpips_has_the_published_names() -> None:
    names = set(Lpips().state_dict())
    assert {"features.0.weight", "features.10.bias", "lin4.model.1.weight"} <= names
    assert len(names) == 5 * 2 + 5


def test_lpips_is_zero_for_the_same_and_grows(weights: Path) -> None:
    network, truth = Lpips.load(weights), clip(0)
    near = np.clip(truth.astype(int) + 8, 0, 255).astype(np.uint8)
    assert network.distance(truth, truth) == 0
    assert 0 < network.distance(truth, near) < network.distance(truth, clip(1))


def test_lpips_refuses_weights_of_another_network(tmp_path: Path) -> None:
    file = tmp_path / "other.safetensors"
    save_tensors(file, {"features.0.weight": torch.zeros(64, 3, 11, 11)}, {})
    with pytest.raises(InputError, match="lack"):
        Lpips.load(file)


def test_frechet_distance_of_known_gaussians() -> None:
    rng = np.random.default_rng(0)
    a = rng.normal(0, 1, (20_000, 3))
    b = rng.normal((1, 0, 0), 2, (20_000, 3))
    assert frechet_distance(a, a) == pytest.approx(0, abs=1e-6)
    # |mean|² + sum of (1 - 2)² along three axes.
    assert frechet_distance(a, b) == pytest.approx(4, abs=0.2)
    with pytest.raises(InputError, match="features"):
        frechet_distance(a[:1], b)


def test_fid_and_fvd_with_tiny_networks(tmp_path: Path) -> None:
    transformers = pytest.importorskip("transformers")
    torch.manual_seed(0)
    small = {"hidden_sizes": [4, 8], "depths": [1, 1], "embedding_size": 4, "layer_type": "basic"}
    transformers.ResNetModel(transformers.ResNetConfig(**small)).save_pretrained(tmp_path / "r")
    config = transformers.VideoMAEConfig(
        image_size=32,
        patch_size=16,
        num_frames=4,
        hidden_size=16,
        num_hidden_layers=1,
        num_attention_heads=2,
        intermediate_size=16,
    )
    transformers.VideoMAEModel(config).save_pretrained(tmp_path / "v")
    truth, predicted = [clip(seed) for seed in range(4)], [clip(seed) // 2 for seed in range(4, 8)]
    for features, each, width in (
        (image_features(tmp_path / "r"), 4, 8),
        (clip_features(tmp_path / "v"), 1, 16),
    ):
        assert features(truth[0]).shape == (each, width)
        assert feature_distance(truth, truth, features) == pytest.approx(0, abs=1e-3)
        assert feature_distance(truth, predicted, features) > 1e-3


def test_missing_library_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    def absent(name: str) -> None:
        raise ImportError(f"no {name}")

    monkeypatch.setattr(extras.importlib, "import_module", absent)
    with pytest.raises(MissingExtraError, match=r"kin4d\[world\]"):
        image_features("anything")
