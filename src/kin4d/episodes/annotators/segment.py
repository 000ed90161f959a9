"""Robot masks from SAM 2, prompted by boxes."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from kin4d.episodes.annotators.weights import load_model
from kin4d.errors import InputError

_MEAN, _STD = (0.485, 0.456, 0.406), (0.229, 0.224, 0.225)


class Sam2Masks:
    """SAM 2 on each frame. A frame without a box is prompted by the box of the mask before it.

    Args:
        weights: A folder, or a hub's id, of a `Sam2Model`; see `load_model`.
        device: Where it runs.
    """

    def __init__(self, weights: str | Path, *, device: str = "cpu") -> None:
        self._model = load_model("Sam2Model", weights, device=device)
        size = self._model.config.vision_config.backbone_config.image_size
        self._size = tuple(size) if isinstance(size, list | tuple) else (size, size)
        self._device = device

    def __call__(self, rgb: np.ndarray, boxes: np.ndarray) -> np.ndarray:
        """[T, H, W] bool: the robot in frames [T, H, W, 3] uint8; see `MaskAnnotator`."""
        boxes = np.asarray(boxes, np.float64)
        if boxes.shape != (len(rgb), 4) or not np.isfinite(boxes[0]).all():
            raise InputError(
                "masks need a box around the robot in the first frame, and one row per frame",
                value=boxes.shape,
                allowed=f"({len(rgb)}, 4) pixels: u0, v0, u1, v1",
            )
        masks, box = [], boxes[0]
        for frame, given in zip(rgb, boxes, strict=True):
            box = given if np.isfinite(given).all() else box
            mask = self._segment(frame, box)
            masks.append(mask)
            box = _box(mask) if mask.any() else box
        return np.stack(masks)

    def _segment(self, frame: np.ndarray, box: np.ndarray) -> np.ndarray:
        import torch
        from torch.nn.functional import interpolate

        height, width = frame.shape[:2]
        # The network sees an image of its own size; boxes are in that image's pixels.
        scale = np.array([self._size[1] / width, self._size[0] / height] * 2)
        image = torch.from_numpy(frame.astype(np.float32) / 255).permute(2, 0, 1)[None]
        image = interpolate(image, self._size, mode="bilinear", align_corners=False)
        mean, std = (torch.tensor(v).reshape(1, 3, 1, 1) for v in (_MEAN, _STD))
        prompt = torch.from_numpy((box * scale).astype(np.float32)).reshape(1, 1, 4)
        with torch.inference_mode():
            found = self._model(
                pixel_values=((image - mean) / std).to(self._device),
                input_boxes=prompt.to(self._device),
                multimask_output=False,
            )
            logits = found.pred_masks[0, 0, :1][None].float()
            logits = interpolate(logits, (height, width), mode="bilinear", align_corners=False)
        return logits[0, 0].cpu().numpy() > 0


def mask_boxes(masks: np.ndarray) -> np.ndarray:
    """[T, 4] boxes (u0, v0, u1, v1) around masks [T, H, W]; NaN where one is empty."""
    return np.stack([_box(m) if m.any() else np.full(4, np.nan) for m in np.asarray(masks, bool)])


def _box(mask: np.ndarray) -> np.ndarray:
    v, u = np.nonzero(mask)
    return np.array([u.min(), v.min(), u.max() + 1, v.max() + 1], np.float64)
