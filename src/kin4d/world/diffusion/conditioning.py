"""Condition: first frame and robot as inputs of the transformer.

Mask values are those of the paper: 1 for known colours, 0.5 for roughly known geometry, 0 for what
is to be predicted; on the robot 1, or 0.5 for a random share of its cells in training.
"""

from __future__ import annotations

from dataclasses import dataclass, fields, replace

import torch
from torch import Tensor

from kin4d.errors import InputError
from kin4d.world.diffusion.config import CELL, MASK, DiffusionConfig
from kin4d.world.diffusion.control import CONTROLS


@dataclass(frozen=True, eq=False, kw_only=True)
class Condition:
    """Condition of B samples.

    Attributes:
        mask: [B, 4 m, t, h, w'] of the first frame; m modalities are stacked on channels.
        latents: [B, m C, t, h, w'] first frame, followed by the composite or by zeros.
        robot_mask: [B, 1, t, h, w] 1 on the robot's cells, 0.5 on softened ones.
        robot: [B, n C, t, h, w] or [B, C, t, h, n w] latents of the rendered robot, n modalities.
        control_input: Actions [B, T, a] float, hashed words [B, L] int64, or text embeddings
            [B, L, text_dim].
        image: [B, N, image_dim] tokens of an image encoder.
    """

    mask: Tensor
    latents: Tensor
    robot_mask: Tensor | None = None
    robot: Tensor | None = None
    control_input: Tensor | None = None
    image: Tensor | None = None

    def to(self, device: torch.device | str, dtype: torch.dtype | None = None) -> Condition:
        """The condition on a device; floating-point tensors converted to `dtype`."""
        moved = {}
        for field in fields(self):
            value = getattr(self, field.name)
            if value is not None:
                value_dtype = dtype if value.is_floating_point() else None
                moved[field.name] = value.to(device=device, dtype=value_dtype)
        return Condition(**moved)

    def without_robot(self, which: Tensor | None = None) -> Condition:
        """The condition with the robot and its actions set to zero.

        Args:
            which: [B] bool: the samples; all if None.
        """
        size = len(self.mask)
        kept = (
            torch.zeros(size, device=self.mask.device)
            if which is None
            else (~which).to(self.mask.device, torch.float32)
        )
        no_robot = {
            name: value * kept.to(value.dtype).view(-1, *[1] * (value.ndim - 1))
            for name in ("robot_mask", "robot", "control_input")
            if (value := getattr(self, name)) is not None
        }
        return replace(self, **no_robot)


def fuse(rgb: Tensor, xyz: Tensor, config: DiffusionConfig) -> Tensor:
    """Two modalities [B, C, t, h, w] as one tensor: side by side, or stacked on channels."""
    return torch.cat([rgb, xyz], 1 if config.fusion == "channel" else -1)


def split(fused: Tensor, config: DiffusionConfig) -> tuple[Tensor, Tensor]:
    """Inverse of `fuse`."""
    rgb, xyz = fused.chunk(2, 1 if config.fusion == "channel" else -1)
    return rgb, xyz


def first_frame_mask(config: DiffusionConfig) -> Tensor:
    """[1, 4 m, t, h, w']: 1 for colours and 0.5 for geometry in the first latent frame."""
    t, h, w = config.grid
    mask = torch.zeros(1, MASK, t, h, w)
    known, rough = mask.clone(), mask.clone()
    known[:, :, 0], rough[:, :, 0] = 1.0, 0.5
    return fuse(known, rough, config)


def pool_mask(mask: Tensor) -> Tensor:
    """Robot mask of cells, as published: every eighth pixel, the maximum of a cell's four frames.

    Args:
        mask: [B, T, H, W] bool or 0..1.

    Returns:
        [B, 1, t, h, w] float32.
    """
    cells = mask[:, :, :: CELL[1], :: CELL[2]].float()
    later = cells[:, 1:].unflatten(1, (-1, CELL[0])).amax(2)
    return torch.cat([cells[:, :1], later], 1)[:, None]


def soften(mask: Tensor, share: float) -> Tensor:
    """The mask with a random share of its ones set to 0.5."""
    if share == 0:
        return mask
    chosen = (torch.rand(mask.shape, device=mask.device) < share) & (mask == 1)
    return torch.where(chosen, torch.full_like(mask, 0.5), mask)


def ramp(height: int, width: int) -> Tensor:
    """[3, H, W] in [-1, 1]: the uniform pointmap that published models take for the first frame.

    X grows to the right, Y downwards, and Z falls downwards.
    """
    x = torch.linspace(-1, 1, width).expand(height, width)
    y = torch.linspace(-1, 1, height)[:, None].expand(height, width)
    return torch.stack([x, y, -y])


def control_cells(config: DiffusionConfig) -> Tensor:
    """[1, 4 m, t, 1, w'] bool: where the robot's mask replaces that of the first frame."""
    control = CONTROLS[config.control]
    t, _, w = config.grid
    modalities = []
    for modality in ("rgb", "xyz"):
        controlled = torch.zeros(1, MASK, t, 1, w, dtype=torch.bool)
        if modality in control.modalities:
            controlled[:, :, control.from_frame :] = True
        modalities.append(controlled)
    return fuse(modalities[0], modalities[1], config)


def check_condition(condition: Condition, config: DiffusionConfig) -> None:
    """Raise `InputError` if a condition does not fit a config."""
    b = len(condition.mask)
    c, t, h, w = config.fused
    wanted: dict[str, tuple[int, ...]] = {
        "mask": (b, MASK * config.stacked, t, h, w),
        "latents": (b, c, t, h, w),
    }
    control = CONTROLS[config.control]
    if n := len(control.modalities):
        size = (c * n // 2, t, h, w) if config.fusion == "channel" else (c, t, h, w * n // 2)
        wanted |= {"robot_mask": (b, 1, *config.grid), "robot": (b, *size)}
    for name, shape in wanted.items():
        value = getattr(condition, name)
        if value is None or tuple(value.shape) != shape:
            got = None if value is None else tuple(value.shape)
            raise InputError(f"shape of the condition's '{name}'", value=got, allowed=str(shape))
    if control.token_source and condition.control_input is None:
        raise InputError(
            f"'{config.control}' control needs {control.token_source}",
            hint="give them as `control_input`",
        )
    if config.image_dim and condition.image is None:
        raise InputError(
            "this model needs the tokens of an image encoder",
            hint="give them as `image`; see `image_tokens`",
        )
