"""VideoBatch and LatentBatch: inputs and training targets, as pixels and as latents."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, fields, replace
from typing import Any

import numpy as np
import torch
from torch import Tensor

from kin4d.errors import InputError
from kin4d.world.diffusion.codec import AnyCodec
from kin4d.world.diffusion.conditioning import (
    Condition,
    first_frame_mask,
    fuse,
    pool_mask,
    ramp,
    soften,
)
from kin4d.world.diffusion.config import CELL, DiffusionConfig
from kin4d.world.diffusion.control import CONTROLS, RobotControl
from kin4d.world.diffusion.xyz_normalisation import Bounds, find_bounds, to_unit

Array = np.ndarray | Tensor

DEPTH_TOLERANCE = 0.005
"""Metres by which the robot may lie behind the first frame's surface and still be visible."""


@dataclass(frozen=True, eq=False, kw_only=True)
class VideoBatch:
    """B videos as arrays, laid out as in `PointmapVideo`; points are NaN where unknown.

    Attributes:
        first_rgb: [B, H, W, 3] uint8.
        first_xyz: [B, H, W, 3] m, camera frame.
        robot_rgb, robot_xyz, robot_mask: [B, T, H, W(, 3)] the robot alone, in every frame.
        rgb, xyz: [B, T, H, W, 3] the true video; None if it is to be predicted.
        loss_weight: [B, T, H, W] weight of each pixel in the loss, normally 1; None for 1
            everywhere.
        actions: [B, T, a] for `embedding` control.
        words: [B, L] of `hash_words`, or text embeddings [B, L, text_dim], for `text` control.
        image: [B, N, image_dim] tokens of an image encoder, if the model takes any.
    """

    first_rgb: Array
    first_xyz: Array
    robot_rgb: Array
    robot_xyz: Array
    robot_mask: Array
    rgb: Array | None = None
    xyz: Array | None = None
    loss_weight: Array | None = None
    actions: Array | None = None
    words: Array | None = None
    image: Array | None = None

    def __len__(self) -> int:
        return len(self.first_rgb)

    def slice_frames(self, frames: slice) -> VideoBatch:
        """The same first frames with some frames of the videos."""
        names = ("robot_rgb", "robot_xyz", "robot_mask", "rgb", "xyz", "loss_weight", "actions")
        videos = {name: getattr(self, name) for name in names}
        return replace(self, **{k: v[:, frames] for k, v in videos.items() if v is not None})


@dataclass(frozen=True, eq=False, kw_only=True)
class LatentBatch:
    """B videos as latents of a codec [B, C, t, h, w], for one control and one initial state.

    Attributes:
        known_rgb, known_xyz: The condition: the first frame, followed by zeros or by the composite.
        robot_rgb, robot_xyz: The rendered robot, in the modalities of the control.
        robot_mask: [B, 1, t, h, w].
        rgb, xyz: The true video.
        loss_weight: [B, 1, t, h, w] weights of cells.
        control_input: Actions or words.
        image: Tokens of an image encoder.
        centre, scale: [B, 3] and [B] m of `Bounds`.
    """

    known_rgb: Tensor
    known_xyz: Tensor
    robot_mask: Tensor
    centre: Tensor
    scale: Tensor
    robot_rgb: Tensor | None = None
    robot_xyz: Tensor | None = None
    rgb: Tensor | None = None
    xyz: Tensor | None = None
    loss_weight: Tensor | None = None
    control_input: Tensor | None = None
    image: Tensor | None = None

    def __len__(self) -> int:
        return len(self.known_rgb)

    @property
    def bounds(self) -> Bounds:
        """Bounds of each video."""
        return Bounds(self.centre, self.scale)

    def tensors(self) -> dict[str, Tensor]:
        """Tensors by name; `LatentBatch(**tensors)` is the inverse."""
        values = {field.name: getattr(self, field.name) for field in fields(self)}
        return {name: value for name, value in values.items() if value is not None}

    def to(self, device: torch.device | str) -> LatentBatch:
        """The batch on a device."""
        return LatentBatch(**{name: value.to(device) for name, value in self.tensors().items()})


def encode_videos(videos: VideoBatch, config: DiffusionConfig, codec: AnyCodec) -> LatentBatch:
    """Encode videos, on the codec's device."""
    device = next(codec.parameters()).device
    arrays = _tensors(videos, device)
    _check(arrays, config)
    control = CONTROLS[config.control]
    rgb, xyz, robot, bounds, visible = _normalised(arrays)
    out: dict[str, Tensor] = {"robot_mask": pool_mask(robot.mask)}
    if config.init == "composite":
        for name, first, rendered in _by_modality((rgb, robot.rgb), (xyz, robot.xyz)):
            video = _composite(first, rendered, visible, name in control.visible_modalities)
            out[f"known_{name}"] = codec.encode(video, name)
    elif config.first_frame_geometry == "pointmap":
        for name, first in _by_modality((rgb,), (xyz,)):
            out[f"known_{name}"] = codec.encode(_then_zeros(first, config), name)
    else:
        # As published: both modalities side by side in one video, scaled like colours.
        geometry = ramp(config.height, config.width).to(rgb)[None, :, None].expand_as(rgb)
        wide = _then_zeros(torch.cat([rgb, geometry], -1), config)
        out["known_rgb"], out["known_xyz"] = codec.encode(wide, "rgb").chunk(2, -1)
    for name in control.modalities:
        assert control.draw is not None
        out[f"robot_{name}"] = codec.encode(*control.draw(robot, name))
    if "rgb" in arrays:
        out["rgb"] = codec.encode(_colours(arrays["rgb"]), "rgb")
        out["xyz"] = codec.encode(to_unit(_points(arrays["xyz"]), bounds), "xyz")
    if "loss_weight" in arrays:
        out["loss_weight"] = _pool(arrays["loss_weight"].float())
    if control.token_source:
        tokens = arrays[control.token_source]
        out["control_input"] = tokens.float() if control.token_source == "actions" else tokens
    if "image" in arrays:
        out["image"] = arrays["image"]
    return LatentBatch(**out, centre=bounds.centre, scale=bounds.scale)


def composite_of(videos: VideoBatch, config: DiffusionConfig) -> tuple[Tensor, Tensor]:
    """The composite: RGB and XYZ [B, 3, T, H, W] in [-1, 1] of the robot over the first frame."""
    rgb, xyz, robot, _, visible = _normalised(_tensors(videos, torch.device("cpu")))
    visible_modalities = CONTROLS[config.control].visible_modalities
    return (
        _composite(rgb, robot.rgb, visible, "rgb" in visible_modalities),
        _composite(xyz, robot.xyz, visible, "xyz" in visible_modalities),
    )


def codec_videos(videos: VideoBatch) -> Iterator[tuple[Tensor, Tensor]]:
    """RGB and XYZ [B, 3, T, H, W] in [-1, 1] to fit codecs to: true videos, then the robot's."""
    arrays = _tensors(videos, torch.device("cpu"))
    if "rgb" not in arrays or "xyz" not in arrays:
        raise InputError("a codec is fitted to videos with true rgb and xyz, and these have none")
    _, _, robot, bounds, _ = _normalised(arrays)
    yield _colours(arrays["rgb"]), to_unit(_points(arrays["xyz"]), bounds)
    yield robot.rgb, robot.xyz


def _composite(first: Tensor, rendered: Tensor, visible: Tensor, use_robot: bool) -> Tensor:
    return torch.where(visible[:, None] & use_robot, rendered, first)


def _tensors(videos: VideoBatch, device: torch.device) -> dict[str, Tensor]:
    values = {field.name: getattr(videos, field.name) for field in fields(videos)}
    return {k: torch.as_tensor(v).to(device) for k, v in values.items() if v is not None}


def _normalised(arrays: dict[str, Tensor]) -> tuple[Tensor, Tensor, RobotControl, Bounds, Tensor]:
    """First frame and robot in [-1, 1], their bounds, and where the robot is visible over the first
    frame in later frames."""
    rgb, robot_rgb = _colours(arrays["first_rgb"][:, None]), _colours(arrays["robot_rgb"])
    xyz, robot_xyz = _points(arrays["first_xyz"][:, None]), _points(arrays["robot_xyz"])
    mask = arrays["robot_mask"].bool()
    robot_xyz = robot_xyz.masked_fill(~mask[:, None], float("nan"))
    bounds = find_bounds(xyz[:, :, 0], robot_xyz)
    visible = mask & ~(robot_xyz[:, 2] > xyz[:, 2] + DEPTH_TOLERANCE)
    # The first frame shows the robot already.
    visible[:, 0] = False
    robot_rgb = robot_rgb.masked_fill(~mask[:, None], -1.0)
    robot = RobotControl(robot_rgb, to_unit(robot_xyz, bounds), mask)
    return rgb, to_unit(xyz, bounds), robot, bounds, visible


def condition_of(encoded: LatentBatch, config: DiffusionConfig, *, soft: bool) -> Condition:
    """The condition of the transformer.

    Args:
        encoded: The batch.
        config: The model's config.
        soft: Whether a share of the robot's cells gets mask 0.5 (`soft_mask`), as in training.
    """
    known = fuse(encoded.known_rgb, encoded.known_xyz, config)
    mask = first_frame_mask(config).to(known).expand(len(encoded), -1, -1, -1, -1)
    rendered = [r for r in (encoded.robot_rgb, encoded.robot_xyz) if r is not None]
    cells = encoded.robot_mask.to(known)
    return Condition(
        mask=mask,
        latents=known,
        robot_mask=soften(cells, config.soft_mask if soft else 0.0) if rendered else None,
        robot=torch.cat(rendered, 1 if config.fusion == "channel" else -1) if rendered else None,
        control_input=encoded.control_input,
        image=encoded.image,
    )


def _by_modality(rgb: tuple, xyz: tuple) -> tuple[tuple[Any, ...], tuple[Any, ...]]:
    return ("rgb", *rgb), ("xyz", *xyz)


def _colours(video: Tensor) -> Tensor:
    """[B, T, H, W, 3] uint8 to [B, 3, T, H, W] in [-1, 1]."""
    return (video.float() / 127.5 - 1).movedim(-1, 1)


def _points(video: Tensor) -> Tensor:
    return video.float().movedim(-1, 1)


def _then_zeros(first: Tensor, config: DiffusionConfig) -> Tensor:
    empty = first.new_zeros(*first.shape[:2], config.frames - 1, *first.shape[3:])
    return torch.cat([first, empty], 2)


def _pool(weights: Tensor) -> Tensor:
    """[B, T, H, W] to the mean over each cell [B, 1, t, h, w]."""
    padded = torch.cat([weights[:, :1].expand(-1, CELL[0] - 1, -1, -1), weights], 1)
    return torch.nn.functional.avg_pool3d(padded[:, None], CELL)


def _check(arrays: dict[str, Tensor], config: DiffusionConfig) -> None:
    size = (config.height, config.width)
    frames = (config.frames, *size)
    shapes: dict[str, tuple[int, ...]] = {
        "first_rgb": (*size, 3),
        "first_xyz": (*size, 3),
        "robot_rgb": (*frames, 3),
        "robot_xyz": (*frames, 3),
        "robot_mask": frames,
        "rgb": (*frames, 3),
        "xyz": (*frames, 3),
        "loss_weight": frames,
    }
    token_source = CONTROLS[config.control].token_source
    if token_source == "actions":
        shapes[token_source] = (config.frames, config.actions)
    for name, shape in shapes.items():
        value = arrays.get(name)
        if value is not None and tuple(value.shape[1:]) != shape:
            raise InputError(
                f"shape of the videos' {name}", value=tuple(value.shape[1:]), allowed=str(shape)
            )
    if token_source and token_source not in arrays:
        raise InputError(
            f"'{config.control}' control needs {token_source}", hint=f"give `{token_source}`"
        )
    if ("rgb" in arrays) != ("xyz" in arrays):
        raise InputError("the true video needs both rgb and xyz, or neither")
