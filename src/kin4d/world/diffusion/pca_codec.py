"""PcaCodec: principal components of the cells of videos, fitted in one pass."""

from __future__ import annotations

from collections.abc import Iterable

import torch
from torch import Tensor, nn

from kin4d.errors import InputError
from kin4d.world.diffusion.config import CELL, Modality


class PcaCodec(nn.Module):
    """Projects cells on their principal components, scaled to unit variance.

    RGB and XYZ have separate bases, and so do the cells of the first frame.
    """

    def __init__(self, channels: int) -> None:
        super().__init__()
        self.channels = channels
        first = 3 * CELL[1] * CELL[2]
        self.bases = nn.ModuleDict(
            {
                f"{modality}_{when}": _Basis(channels, size)
                for modality in ("rgb", "xyz")
                for when, size in (("first", first), ("later", first * CELL[0]))
            }
        )
        self.requires_grad_(False)

    def encode(self, video: Tensor, modality: Modality) -> Tensor:
        first, later = self._of(modality)
        parts = (first.encode(_cells(video[:, :, :1])), later.encode(_cells(video[:, :, 1:])))
        return torch.cat(parts, 1).movedim(-1, 1)

    def decode(self, latents: Tensor, modality: Modality) -> Tensor:
        first, later = self._of(modality)
        cells = latents.movedim(1, -1)
        parts = (_video(first.decode(cells[:, :1]), 1), _video(later.decode(cells[:, 1:]), CELL[0]))
        return torch.cat(parts, 2).clamp(-1, 1)

    def importance(self, modality: Modality) -> Tensor:
        """Variances of the components: weighted by these, latent errors equal pixel errors."""
        variance = self._of(modality)[1].std.square()
        return variance / variance.mean()

    def _of(self, modality: Modality) -> tuple[_Basis, _Basis]:
        first, later = (self.bases[f"{modality}_{when}"] for when in ("first", "later"))
        assert isinstance(first, _Basis)
        assert isinstance(later, _Basis)
        return first, later


class _Basis(nn.Module):
    def __init__(self, channels: int, size: int) -> None:
        super().__init__()
        if channels > size:
            raise InputError("more numbers than a cell has", value=channels, allowed=f"<= {size}")
        self.mean = nn.Parameter(torch.zeros(size))
        self.axes = nn.Parameter(torch.eye(channels, size))
        self.std = nn.Parameter(torch.ones(channels))

    def encode(self, cells: Tensor) -> Tensor:
        return (cells - self.mean) @ self.axes.T / self.std

    def decode(self, numbers: Tensor) -> Tensor:
        return numbers * self.std @ self.axes + self.mean


def fit_pca(videos: Iterable[tuple[Tensor, Tensor]], channels: int) -> PcaCodec:
    """Fit a codec to videos, in one pass over them.

    Args:
        videos: RGB and XYZ, each [B, 3, T, H, W] in [-1, 1].
        channels: Components per cell.
    """
    codec = PcaCodec(channels)
    moments: dict[str, _Moments] = {}
    for rgb, xyz in videos:
        for modality, video in (("rgb", rgb), ("xyz", xyz)):
            for when, part in (("first", video[:, :, :1]), ("later", video[:, :, 1:])):
                cells = _cells(part).flatten(0, 3).double()
                moments.setdefault(f"{modality}_{when}", _Moments(cells.shape[1])).add(cells)
    if not moments:
        raise InputError("no videos to fit a codec to")
    for name, moment in moments.items():
        basis = codec.bases[name]
        assert isinstance(basis, _Basis)
        mean, axes, std = moment.principal(channels)
        for parameter, value in ((basis.mean, mean), (basis.axes, axes), (basis.std, std)):
            parameter.data.copy_(value)
    return codec


class _Moments:
    """Running count, sum and sum of products of rows."""

    def __init__(self, size: int) -> None:
        self.count = 0
        self.sum = torch.zeros(size, dtype=torch.float64)
        self.products = torch.zeros(size, size, dtype=torch.float64)

    def add(self, rows: Tensor) -> None:
        self.count += len(rows)
        self.sum += rows.sum(0)
        self.products += rows.T @ rows

    def principal(self, channels: int) -> tuple[Tensor, Tensor, Tensor]:
        mean = self.sum / self.count
        values, vectors = torch.linalg.eigh(self.products / self.count - mean[:, None] * mean)
        std = values.flip(0)[:channels].clamp(min=0).sqrt()
        # Components without variance in the data must not amplify noise.
        std = std.clamp(min=max(1e-3 * float(std[0]), 1e-6))
        return mean, vectors.T.flip(0)[:channels], std


def _cells(video: Tensor) -> Tensor:
    """[B, 3, t f, 8 h, 8 w] to [B, t, h, w, 3 f 8 8], with f 1 for a single frame and else 4."""
    b, c, t, h, w = video.shape
    f = CELL[0] if t > 1 else 1
    if t % f or h % CELL[1] or w % CELL[2]:
        raise InputError(
            "a video does not divide into cells",
            value=(t, h, w),
            allowed=f"1 + 4 k, 8 h, 8 w: {CELL}",
        )
    split = video.reshape(b, c, t // f, f, h // CELL[1], CELL[1], w // CELL[2], CELL[2])
    return split.permute(0, 2, 4, 6, 1, 3, 5, 7).flatten(4)


def _video(cells: Tensor, frames: int) -> Tensor:
    """Inverse of `_cells`."""
    b, t, h, w, _ = cells.shape
    split = cells.reshape(b, t, h, w, 3, frames, CELL[1], CELL[2]).permute(0, 4, 1, 5, 2, 6, 3, 7)
    return split.reshape(b, 3, t * frames, h * CELL[1], w * CELL[2])
