"""Image metrics: PSNR, SSIM, sharpness, and distances of latents, each inside a region.

The first frame is given to everyone, so it is not evaluated.
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
import torch

from kin4d.world.diffusion.codec import PcaCodec, VideoCodec, fit_pca
from kin4d.world.diffusion.config import CELL

BEST = 60.0
"""dB: what a perfect image gets; PSNR knows no end."""

_SIGMA, _REACH = 1.5, 5  # of the window of SSIM, px: 11 x 11, as first published
_DARK, _FLAT = 0.01**2, 0.03**2
_GREY = np.array([0.299, 0.587, 0.114])


def psnr(truth: np.ndarray, predicted: np.ndarray, where: np.ndarray) -> float:
    """Decibels of colours [T, H, W, 3] uint8 over the pixels `where` [T, H, W]; NaN if none."""
    off = truth[1:][where[1:]].astype(np.float64) - predicted[1:][where[1:]]
    if not off.size:
        return float("nan")
    return float(min(BEST, -10 * np.log10(max(np.square(off / 255).mean(), 1e-12))))


def ssim_map(truth: np.ndarray, predicted: np.ndarray) -> np.ndarray:
    """[T, H, W]: structural similarity around each pixel, mean of the three colours."""
    from scipy.ndimage import gaussian_filter

    def soft(values: np.ndarray) -> np.ndarray:
        return gaussian_filter(values, (0, _SIGMA, _SIGMA, 0), radius=(0, _REACH, _REACH, 0))

    a, b = (video.astype(np.float32) / 255 for video in (truth, predicted))
    mean_a, mean_b = soft(a), soft(b)
    var_a, var_b = soft(a * a) - mean_a**2, soft(b * b) - mean_b**2
    both = soft(a * b) - mean_a * mean_b
    light = (2 * mean_a * mean_b + _DARK) / (mean_a**2 + mean_b**2 + _DARK)
    return (light * (2 * both + _FLAT) / (var_a + var_b + _FLAT)).mean(-1)


def within(values: np.ndarray, where: np.ndarray) -> float:
    """Mean of a map [T, H, W] over the pixels `where`, without the first frame; NaN if none."""
    chosen = values[1:][where[1:]]
    return float(chosen.mean()) if chosen.size else float("nan")


def sharpness(truth: np.ndarray, predicted: np.ndarray, where: np.ndarray) -> float:
    """Gradient energy of the prediction over that of the truth, inside a region: 1 is as sharp."""
    true, mine = (within(_energy(video), where) for video in (truth, predicted))
    return mine / true if true > 0 else float("nan")


def _energy(video: np.ndarray) -> np.ndarray:
    """[T, H, W] squared length of the gradient of brightness."""
    grey = video @ _GREY
    return np.square(np.gradient(grey, axis=1)) + np.square(np.gradient(grey, axis=2))


def latent_map(codec: VideoCodec, truth: np.ndarray, predicted: np.ndarray) -> np.ndarray:
    """[t, h, w]: mean squared difference of the colours' latents in each cell."""
    a, b = (codec.encode(_signed(video), "rgb") for video in (truth, predicted))
    return (a - b).square().mean(1)[0].numpy()


def _signed(video: np.ndarray) -> torch.Tensor:
    """[T, H, W, 3] uint8 as a codec takes it: [1, 3, T, H, W] between -1 and 1."""
    return torch.from_numpy(video.astype(np.float32) / 127.5 - 1).movedim(-1, 0)[None]


def fitted_codec(videos: Iterable[np.ndarray], *, channels: int = 48) -> PcaCodec:
    """The linear codec that loses least of the colours of videos [T, H, W, 3] uint8."""
    # For colours alone: distances of points are never used.
    return fit_pca(((signed, signed) for signed in map(_signed, videos)), channels)


def cells_of(where: np.ndarray) -> np.ndarray:
    """[t, h, w]: share of each cell of a codec that lies in a region [T, H, W]."""
    frames, height, width = CELL
    rows, columns = where.shape[1] // height, where.shape[2] // width
    later = where[1:].reshape(-1, frames, rows, height, columns, width)
    first = where[:1].reshape(1, 1, *later.shape[2:])
    return np.concatenate([first.mean((1, 3, 5)), later.mean((1, 3, 5))])


def fits_codec(shape: tuple[int, ...]) -> bool:
    """Whether a clip [T, H, W, ...] divides into the cells of a codec."""
    return (shape[0] - 1) % CELL[0] == 0 and shape[1] % CELL[1] == 0 and shape[2] % CELL[2] == 0
