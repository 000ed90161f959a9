"""PartSegmenter: predicts which pixels of the first frame belong to the same rigid part."""

from __future__ import annotations

from dataclasses import asdict, dataclass

import numpy as np
import torch
from scipy.optimize import linear_sum_assignment
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components
from scipy.spatial import KDTree
from torch import Tensor, nn

from kin4d.training.assignment_loss import assignment_loss
from kin4d.world.object_world.unet import Unet

BACKGROUND = -1
_MAX_PIXEL_GAP = 0.03  # m between adjacent pixels of one connected piece
_MIN_PIECE = 0.15  # of a part's largest piece: smaller ones are dropped
_MAX_PART_GAP = 0.05  # m between pieces of one part
_LENGTH_UNIT = 0.25  # m: unit of length of network inputs


@dataclass(frozen=True, kw_only=True)
class SegmenterConfig:
    """Sizes of the segmenter.

    Attributes:
        parts: Maximum number of parts.
        widths: Channels of its U-Net.
    """

    parts: int = 6
    widths: tuple[int, ...] = (40, 80, 120)

    def to_dict(self) -> dict:
        """For JSON."""
        return {**asdict(self), "widths": list(self.widths)}


class PartSegmenter(nn.Module):
    """Predicts part masks.

    Args:
        config: Sizes.
    """

    def __init__(self, config: SegmenterConfig) -> None:
        super().__init__()
        self.config = config
        self.network = Unet(8, config.parts + 1, config.widths)

    def forward(self, view: Tensor) -> Tensor:
        """[B, H, W, 1 + parts] probabilities, background first, of `frame_features`."""
        return self.network(view).permute(0, 2, 3, 1).softmax(-1)

    @torch.no_grad()
    def predict(self, view: Tensor, *, min_pixels: int = 4) -> np.ndarray:
        """[H, W] int: the part of each pixel of one view [8, H, W], or `BACKGROUND`.

        Predictions for the view and for its mirror image are averaged.
        """
        probabilities, mirrored = self(torch.stack([view, view.flip(-1)]))
        label = (probabilities + _match_labels(mirrored.flip(1), probabilities)).argmax(
            -1
        ).numpy() - 1
        label[view[7].numpy() > 0.5] = BACKGROUND
        for part in range(self.config.parts):
            if (label == part).sum() < min_pixels:
                label[label == part] = BACKGROUND
        return label


def _match_labels(probabilities: Tensor, reference: Tensor) -> Tensor:
    """Probabilities [H, W, 1 + parts] with part labels matched to `reference` by overlap."""
    overlap = reference[..., 1:].flatten(0, 1).mT @ probabilities[..., 1:].flatten(0, 1)
    order = linear_sum_assignment(overlap.numpy(), maximize=True)[1]
    return torch.cat([probabilities[..., :1], probabilities[..., 1:][..., order]], -1)


def pixel_components(
    part: np.ndarray, xyz: np.ndarray, *, max_gap: float = _MAX_PIXEL_GAP
) -> np.ndarray:
    """[H, W] int: connected component of each pixel, of adjacent pixels of one part.

    Args:
        part: [H, W] int: the part of each pixel, or `BACKGROUND`.
        xyz: [H, W, 3] m.
        max_gap: m between adjacent pixels of one component.
    """
    index = np.arange(part.size).reshape(part.shape)
    edges = []
    for a, b in ((np.s_[:, :-1], np.s_[:, 1:]), (np.s_[:-1], np.s_[1:])):
        near = np.linalg.norm(xyz[a] - xyz[b], axis=-1) < max_gap
        connected = near & (part[a] == part[b]) & (part[a] != BACKGROUND)
        edges.append(np.stack([index[a][connected], index[b][connected]], 1))
    return _components(np.concatenate(edges), part.size).reshape(part.shape)


def split_components(part: np.ndarray, xyz: np.ndarray) -> np.ndarray:
    """[H, W] int: parts split into connected components, renumbered, without stray pixels.

    Stray pixels would be visible once the part rotates. Components farther apart than an
    occluder's gap (`_MAX_PART_GAP`) are different parts, whatever the segmenter predicts.

    Args:
        part: [H, W] int: the part of each pixel, or `BACKGROUND`.
        xyz: [H, W, 3] m.
    """
    piece = pixel_components(part, xyz)
    size = np.bincount(piece.ravel())[piece]
    labels, count = np.full_like(part, BACKGROUND), 0
    for number in np.unique(part[part != BACKGROUND]):
        own = part == number
        own &= (size >= _MIN_PIECE * size[own].max()) & np.isfinite(xyz).all(-1)
        points = xyz[own]
        if not len(points):
            continue
        position = _components(
            KDTree(points).query_pairs(_MAX_PART_GAP, output_type="ndarray"), len(points)
        )
        labels[own] = count + position
        count += int(position.max()) + 1
    return labels


def _components(edges: np.ndarray, count: int) -> np.ndarray:
    """[count] int: connected component of each of `count` nodes with edges [N, 2]."""
    graph = coo_array((np.ones(len(edges)), edges.T), shape=(count, count))
    return connected_components(graph, directed=False)[1]


def frame_features(image: np.ndarray, xyz: np.ndarray, robot: np.ndarray) -> Tensor:
    """[8, H, W] network input: colour, position, whether it is known, robot mask.

    Args:
        image: [H, W, 3] uint8.
        xyz: [H, W, 3] m in the support frame; NaN where unknown.
        robot: [H, W] bool: robot mask.
    """
    known = np.isfinite(xyz).all(-1, keepdims=True)
    position = np.where(known, np.clip(xyz / _LENGTH_UNIT, -8, 8), 0.0)
    planes = [image / 127.5 - 1, position, known, robot[..., None]]
    stacked = np.concatenate([np.asarray(plane, np.float32) for plane in planes], axis=-1)
    return torch.from_numpy(stacked).permute(2, 0, 1).contiguous()


@dataclass(frozen=True, eq=False)
class SegBatch:
    """B first frames: `view` [B, 8, H, W], and `part` [B, H, W] int64, 0 for no part."""

    view: Tensor
    part: Tensor


def segmentation_loss(
    segmenter: nn.Module, batch: SegBatch, done: float
) -> tuple[Tensor, dict[str, Tensor]]:
    """Permutation-invariant assignment loss of the parts."""
    probabilities = segmenter(batch.view).flatten(1, 2)
    part = batch.part.flatten(1)
    correct = (probabilities.argmax(-1) > 0) == (part > 0)
    return assignment_loss(probabilities, part), {"right": correct.float().mean()}


@torch.no_grad()
def evaluate_segmentation(segmenter: PartSegmenter, batches: list[SegBatch]) -> dict[str, float]:
    """`iou`: mean over true parts of the IoU with the best predicted part."""
    ious = []
    for batch in batches:
        label = segmenter(batch.view).argmax(-1)
        for predicted, true in zip(label, batch.part, strict=True):
            for part in true.unique()[1:]:
                own = true == part
                overlaps = [
                    float((own & (predicted == one)).sum() / (own | (predicted == one)).sum())
                    for one in predicted[own].unique()
                    if one > 0
                ]
                ious.append(max(overlaps, default=0.0))
    return {"iou": float(np.mean(ious)) if ious else 0.0}
