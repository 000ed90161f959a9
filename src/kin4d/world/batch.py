"""Clips and Encoded: what a world model learns from and begins with, in pixels and in latents."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any

import numpy as np
import torch
from torch import Tensor

from kin4d.errors import InputError
from kin4d.world.codec import AnyCodec
from kin4d.world.conditioning import Condition, first_frame_mask, fuse, pool_mask, ramp, soften
from kin4d.world.config import CELL, WorldConfig
from kin4d.world.control import CONTROLS, Robot
from kin4d.world.normalise import Bounds, find_bounds, to_unit

Array = np.ndarray | Tensor

_DEEPER = 0.005  # m: a robot this little behind the first frame's surface is still drawn


@dataclass(frozen=True, eq=False, kw_only=True)
class Clips:
    """B clips of plain arrays, laid out as in `PointmapVideo`; points are NaN where unseen.

    Attributes:
        first_rgb: [B, H, W, 3] uint8.
        first_xyz: [B, H, W, 3] m, camera frame.
        robot_rgb, robot_xyz, robot_mask: [B, T, H, W(, 3)] the robot alone, in every frame.
        rgb, xyz: [B, T, H, W, 3] what happened; None if it is to be imagined.
        moves: [B, T, H, W] weight of each pixel in the loss, 1 where nothing special happens;
            None for 1 everywhere.
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
    moves: Array | None = None
    actions: Array | None = None
    words: Array | None = None
    image: Array | None = None

    def __len__(self) -> int:
        return len(self.first_rgb)


@dataclass(frozen=True, eq=False, kw_only=True)
class Encoded:
    """B clips as latents of a codec [B, C, t, h, w], for one control and start; made once, kept.

    Attributes:
        known_rgb, known_xyz: The condition: the first frame, then nothing or what the flow starts
            from.
        robot_rgb, robot_xyz: The drawn robot, for the modalities the control tells.
        robot_mask: [B, 1, t, h, w].
        rgb, xyz: What happened.
        moves: [B, 1, t, h, w] weights of cells.
        said: Actions or words.
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
    moves: Tensor | None = None
    said: Tensor | None = None
    image: Tensor | None = None

    def __len__(self) -> int:
        return len(self.known_rgb)

    @property
    def bounds(self) -> Bounds:
        """Of each clip."""
        return Bounds(self.centre, self.scale)

    def tensors(self) -> dict[str, Tensor]:
        """By name, as files keep them; `Encoded(**tensors)` is the way back."""
        values = {field.name: getattr(self, field.name) for field in fields(self)}
        return {name: value for name, value in values.items() if value is not None}

    def to(self, device: torch.device | str) -> Encoded:
        """On a device."""
        return Encoded(**{name: value.to(device) for name, value in self.tensors().items()})


def encode_clips(clips: Clips, config: WorldConfig, codec: AnyCodec) -> Encoded:
    """Clips as latents."""
    tensors: dict[str, Any] = {
        field.name: None if (v := getattr(clips, field.name)) is None else torch.as_tensor(v)
        for field in fields(clips)
    }
    _check(tensors, config)
    control = CONTROLS[config.control]
    rgb, robot_rgb = _colours(tensors["first_rgb"][:, None]), _colours(tensors["robot_rgb"])
    xyz, robot_xyz = _points(tensors["first_xyz"][:, None]), _points(tensors["robot_xyz"])
    mask = tensors["robot_mask"].bool()
    robot_xyz = robot_xyz.masked_fill(~mask[:, None], float("nan"))
    bounds = find_bounds(xyz[:, :, 0], robot_xyz)
    shown = mask & ~(robot_xyz[:, 2] > xyz[:, 2] + _DEEPER)
    xyz, robot_xyz = to_unit(xyz, bounds), to_unit(robot_xyz, bounds)
    robot = Robot(robot_rgb.masked_fill(~mask[:, None], -1.0), robot_xyz, mask)
    out: dict[str, Tensor | None] = {"robot_mask": pool_mask(mask)}
    if config.start == "composite":
        for name, first, drawn in (("rgb", rgb, robot.rgb), ("xyz", xyz, robot.xyz)):
            over = shown[:, None] & (name in control.reveals)
            # The first frame is the first frame: its robot is in it already.
            video = torch.where(over, drawn, first)
            out[f"known_{name}"] = codec.encode(torch.cat([first, video[:, :, 1:]], 2), name)
    elif config.first == "pointmap":
        for name, first in (("rgb", rgb), ("xyz", xyz)):
            out[f"known_{name}"] = codec.encode(_then_nothing(first, config), name)
    else:
        # The published form: both halves in one wide video, scaled as colours are.
        geometry = ramp(config.height, config.width).to(rgb)[None, :, None].expand_as(rgb)
        wide = _then_nothing(torch.cat([rgb, geometry], -1), config)
        out["known_rgb"], out["known_xyz"] = codec.encode(wide, "rgb").chunk(2, -1)
    for name in control.halves:
        assert control.draw is not None
        out[f"robot_{name}"] = codec.encode(*control.draw(robot, name))
    if tensors["rgb"] is not None:
        out["rgb"] = codec.encode(_colours(tensors["rgb"]), "rgb")
        out["xyz"] = codec.encode(to_unit(_points(tensors["xyz"]), bounds), "xyz")
    if tensors["moves"] is not None:
        out["moves"] = _pool(tensors["moves"].float())
    said = tensors[control.says] if control.says else None
    return Encoded(
        **{name: value for name, value in out.items() if value is not None},
        said=said.float() if control.says == "actions" else said,
        image=tensors["image"],
        centre=bounds.centre,
        scale=bounds.scale,
    )  # type: ignore[arg-type]


def condition_of(encoded: Encoded, config: WorldConfig, *, soft: bool) -> Condition:
    """What the transformer is told.

    Args:
        encoded: Clips.
        config: Of the model.
        soft: Distrust a share of the robot's cells, as in training.
    """
    known = fuse(encoded.known_rgb, encoded.known_xyz, config)
    mask = first_frame_mask(config).to(known).expand(len(encoded), -1, -1, -1, -1)
    drawn = [r for r in (encoded.robot_rgb, encoded.robot_xyz) if r is not None]
    cells = encoded.robot_mask.to(known)
    return Condition(
        mask=mask,
        latents=known,
        robot_mask=soften(cells, config.soft_mask if soft else 0.0) if drawn else None,
        robot=torch.cat(drawn, 1 if config.fusion == "channel" else -1) if drawn else None,
        said=encoded.said,
        image=encoded.image,
    )


def _colours(video: Tensor) -> Tensor:
    """[B, T, H, W, 3] uint8 to [B, 3, T, H, W] in [-1, 1]."""
    return (video.float() / 127.5 - 1).movedim(-1, 1)


def _points(video: Tensor) -> Tensor:
    return video.float().movedim(-1, 1)


def _then_nothing(first: Tensor, config: WorldConfig) -> Tensor:
    empty = first.new_zeros(*first.shape[:2], config.frames - 1, *first.shape[3:])
    return torch.cat([first, empty], 2)


def _pool(weights: Tensor) -> Tensor:
    """[B, T, H, W] to the mean over each cell [B, 1, t, h, w]."""
    spread = torch.cat([weights[:, :1].expand(-1, CELL[0] - 1, -1, -1), weights], 1)
    return torch.nn.functional.avg_pool3d(spread[:, None], CELL)


def _check(tensors: dict[str, Any], config: WorldConfig) -> None:
    size = (config.height, config.width)
    frames = (config.frames, *size)
    shapes = {
        "first_rgb": (*size, 3),
        "first_xyz": (*size, 3),
        "robot_rgb": (*frames, 3),
        "robot_xyz": (*frames, 3),
        "robot_mask": frames,
        "rgb": (*frames, 3),
        "xyz": (*frames, 3),
        "moves": frames,
        "actions": (config.frames, config.actions),
    }
    for name, shape in shapes.items():
        value = tensors[name]
        if value is not None and tuple(value.shape[1:]) != shape:
            raise InputError(f"clips' {name}", value=tuple(value.shape[1:]), allowed=str(shape))
    says = CONTROLS[config.control].says
    if says and tensors[says] is None:
        raise InputError(f"{config.control} control needs the clips' {says}")
    if (tensors["rgb"] is None) != (tensors["xyz"] is None):
        raise InputError("clips need both rgb and xyz of what happened, or neither")
