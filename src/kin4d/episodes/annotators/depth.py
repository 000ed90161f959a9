"""Depth from a network, and its scale from the robot, whose exact geometry is a ruler."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from kin4d.episodes.annotators.weights import load_model, load_processor
from kin4d.errors import InputError

KINDS = ("metric", "inverse")
_INVERSE = {"dpt", "depth_anything", "prompt_depth_anything"}
_FEWEST = 30  # pixels of the robot that determine a scale


class DepthModel:
    """A monocular depth network: Depth Anything, DPT, ZoeDepth, GLPN, Depth Pro, ...

    Args:
        weights: A folder, or a hub's id; see `load_model`.
        kind: "metric" or "inverse", where the model's configuration does not tell.
        device: Where it runs.
        batch: Frames at once.
    """

    def __init__(
        self,
        weights: str | Path,
        *,
        kind: str | None = None,
        device: str = "cpu",
        batch: int = 4,
    ) -> None:
        if kind is not None and kind not in KINDS:
            raise InputError("unknown kind of depth", value=kind, allowed=", ".join(KINDS))
        self._model = load_model("AutoModelForDepthEstimation", weights, device=device)
        self._processor = load_processor("AutoImageProcessor", weights)
        self.kind = kind or _kind_of(self._model.config)
        self._device, self._batch = device, batch

    def __call__(self, rgb: np.ndarray) -> np.ndarray:
        """[T, H, W] float32 depth, or inverse depth, of frames [T, H, W, 3] uint8."""
        import torch
        from torch.nn.functional import interpolate

        found = []
        with torch.inference_mode():
            for start in range(0, len(rgb), self._batch):
                frames = [*rgb[start : start + self._batch]]
                inputs = self._processor(images=frames, return_tensors="pt").to(self._device)
                depth = self._model(**inputs).predicted_depth[:, None].float()
                depth = interpolate(depth, rgb.shape[1:3], mode="bilinear", align_corners=False)
                found.append(depth[:, 0].cpu().numpy())
        return np.concatenate(found)


def to_metres(predicted: np.ndarray, exact: np.ndarray, *, kind: str) -> np.ndarray:
    """Predicted depth [T, H, W] in metres, by one scale for the clip (two numbers if inverse).

    Args:
        predicted: Values of a `DepthAnnotator`.
        exact: [T, H, W] depth (m) of the robot, NaN elsewhere.
        kind: Of the values.

    Returns:
        [T, H, W] float32 m; NaN where the prediction is behind the camera or not a number.
    """
    where = np.isfinite(exact) & np.isfinite(predicted)
    if where.sum() < _FEWEST:
        raise InputError(
            "too little of the robot is seen to tell the scale of depth",
            value=f"{int(where.sum())} pixels",
            allowed=f"at least {_FEWEST}",
        )
    known, guess = exact[where].astype(np.float64), predicted[where].astype(np.float64)
    if kind == "metric":
        scale, shift = float(np.median(known / np.where(guess > 0, guess, np.nan))), 0.0
        metres = scale * predicted.astype(np.float64)
    else:
        scale, shift = _robust_line(guess, 1 / known)
        inverse = scale * predicted.astype(np.float64) + shift
        metres = 1 / np.where(inverse > 1e-3, inverse, np.nan)
    if not (np.isfinite(scale) and scale > 0):
        raise InputError(
            "predicted depth does not agree with the robot's", value=scale, allowed="a scale > 0"
        )
    return np.where(metres > 0, metres, np.nan).astype(np.float32)


def _robust_line(x: np.ndarray, y: np.ndarray) -> tuple[float, float]:
    """Scale and shift of y = scale x + shift, by the median slope of random pairs (Theil-Sen)."""
    rng = np.random.default_rng(0)
    first, second = rng.integers(len(x), size=(2, 20_000))
    run = x[second] - x[first]
    clear = np.abs(run) > 0.1 * np.ptp(np.percentile(x, [25, 75]))
    if not clear.any():
        return float("nan"), float("nan")
    scale = float(np.median((y[second] - y[first])[clear] / run[clear]))
    return scale, float(np.median(y - scale * x))


def _kind_of(config: Any) -> str:
    declared = getattr(config, "depth_estimation_type", None)
    if declared is not None:
        return "metric" if declared == "metric" else "inverse"
    return "inverse" if config.model_type in _INVERSE else "metric"
