"""Seer: which pixels of the first frame belong to the same rigid part."""

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

NOBODY = -1
_NEIGHBOURS = 0.03  # m between pixels side by side that may be of one piece
_PIECE = 0.15  # of a part's largest piece: smaller ones are strays
_GAP = 0.05  # m between pieces that are one part all the same
_UNIT = 0.25  # m: lengths are told to networks in these


@dataclass(frozen=True, kw_only=True)
class SegmenterConfig:
    """Sizes of a segmenter.

    Attributes:
        parts: At most so many can be told apart.
        widths: Of its network.
    """

    parts: int = 6
    widths: tuple[int, ...] = (40, 80, 120)

    def to_dict(self) -> dict:
        """As JSON takes it."""
        return {**asdict(self), "widths": list(self.widths)}


class PartSegmenter(nn.Module):
    """Tells parts apart.

    Args:
        config: Sizes.
    """

    def __init__(self, config: SegmenterConfig) -> None:
        super().__init__()
        self.config = config
        self.network = Unet(8, config.parts + 1, config.widths)

    def forward(self, view: Tensor) -> Tensor:
        """[B, H, W, 1 + parts] shares, the first nobody's, of a `frame_features` [B, 8, H, W]."""
        # Which part gets which place must be settled somehow: from the beginning, by chance.
        return self.network(view).permute(0, 2, 3, 1).softmax(-1)

    @torch.no_grad()
    def parts(self, view: Tensor, *, least: int = 4) -> np.ndarray:
        """[H, W] int: the part of each pixel of one view [8, H, W], or `NOBODY`.

        It is asked about the view and its mirror image, and what it says of both is put together.
        """
        shares, mirrored = self(torch.stack([view, view.flip(-1)]))
        label = (shares + _renamed(mirrored.flip(1), shares)).argmax(-1).numpy() - 1
        label[view[7].numpy() > 0.5] = NOBODY
        for part in range(self.config.parts):
            if (label == part).sum() < least:
                label[label == part] = NOBODY
        return label


def _renamed(shares: Tensor, like: Tensor) -> Tensor:
    """Shares [H, W, 1 + parts] whose parts are called as those of `like` that they meet most."""
    met = like[..., 1:].flatten(0, 1).mT @ shares[..., 1:].flatten(0, 1)
    order = linear_sum_assignment(met.numpy(), maximize=True)[1]
    return torch.cat([shares[..., :1], shares[..., 1:][..., order]], -1)


def split_components(part: np.ndarray, xyz: np.ndarray) -> np.ndarray:
    """[H, W] int: parts numbered anew, each of one place, and without stray pixels.

    Strays would fly about when the part turns. What is farther apart than any gap that something
    in front could leave in a part is not one part but two alike, whatever the segmenter predicts.

    Args:
        part: [H, W] int: the part of each pixel, or `NOBODY`.
        xyz: [H, W, 3] m.
    """
    index = np.arange(part.size).reshape(part.shape)
    pairs = []
    for a, b in ((np.s_[:, :-1], np.s_[:, 1:]), (np.s_[:-1], np.s_[1:])):
        near = np.linalg.norm(xyz[a] - xyz[b], axis=-1) < _NEIGHBOURS
        joined = near & (part[a] == part[b]) & (part[a] != NOBODY)
        pairs.append(np.stack([index[a][joined], index[b][joined]], 1))
    piece = _components(np.concatenate(pairs), part.size).reshape(part.shape)
    size = np.bincount(piece.ravel())[piece]
    kept, count = np.full_like(part, NOBODY), 0
    for number in np.unique(part[part != NOBODY]):
        mine = part == number
        mine &= (size >= _PIECE * size[mine].max()) & np.isfinite(xyz).all(-1)
        points = xyz[mine]
        if not len(points):
            continue
        place = _components(KDTree(points).query_pairs(_GAP, output_type="ndarray"), len(points))
        kept[mine] = count + place
        count += int(place.max()) + 1
    return kept


def _components(pairs: np.ndarray, count: int) -> np.ndarray:
    """[count] int: what of `count` things hangs together by pairs [N, 2]."""
    graph = coo_array((np.ones(len(pairs)), pairs.T), shape=(count, count))
    return connected_components(graph, directed=False)[1]


def frame_features(image: np.ndarray, xyz: np.ndarray, robot: np.ndarray) -> Tensor:
    """[8, H, W] what networks are told of a first frame: colour, place, if known, robot.

    Args:
        image: [H, W, 3] uint8.
        xyz: [H, W, 3] m in the frame of the robot's base; NaN where unknown.
        robot: [H, W] bool: where the robot is.
    """
    known = np.isfinite(xyz).all(-1, keepdims=True)
    place = np.where(known, np.clip(xyz / _UNIT, -8, 8), 0.0)
    planes = [image / 127.5 - 1, place, known, robot[..., None]]
    stacked = np.concatenate([np.asarray(plane, np.float32) for plane in planes], axis=-1)
    return torch.from_numpy(stacked).permute(2, 0, 1).contiguous()


@dataclass(frozen=True, eq=False)
class SegBatch:
    """B first frames: `view` [B, 8, H, W], and `part` [B, H, W] int64, 0 for room and robot."""

    view: Tensor
    part: Tensor


def segmentation_loss(
    segmenter: nn.Module, views: SegBatch, done: float
) -> tuple[Tensor, dict[str, Tensor]]:
    """How badly the parts are told apart."""
    shares = segmenter(views.view).flatten(1, 2)
    part = views.part.flatten(1)
    right = (shares.argmax(-1) > 0) == (part > 0)
    return assignment_loss(shares, part), {"right": right.float().mean()}


@torch.no_grad()
def evaluate_segmentation(segmenter: PartSegmenter, views: list[SegBatch]) -> dict[str, float]:
    """`iou`: of each true part with the claimed part that fits it best, on average."""
    found = []
    for batch in views:
        label = segmenter(batch.view).argmax(-1)
        for told, true in zip(label, batch.part, strict=True):
            for part in true.unique()[1:]:
                mine = true == part
                overlaps = [
                    float((mine & (told == one)).sum() / (mine | (told == one)).sum())
                    for one in told[mine].unique()
                    if one > 0
                ]
                found.append(max(overlaps, default=0.0))
    return {"iou": float(np.mean(found)) if found else 0.0}
