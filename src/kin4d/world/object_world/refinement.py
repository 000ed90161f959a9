"""Painter: what the stage cannot know. Shadows, what comes into sight, how the light falls.

It looks at one staged frame at a time and at the first frame, and corrects colour and depth.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass

import numpy as np
import torch
from torch import Tensor, nn

from kin4d.world.object_world.compositor.compositor import CompositeFrame
from kin4d.world.object_world.segmentation import frame_features
from kin4d.world.object_world.unet import Unet
from kin4d.world.observation import Observation

_INPUTS = 8 + 8 + 3
_DIFFERS = 0.1  # of colours between -1 and 1: where the first frame no longer holds


@dataclass(frozen=True, kw_only=True)
class RefineConfig:
    """Sizes of a refiner.

    Attributes:
        widths: Of its network.
    """

    widths: tuple[int, ...] = (40, 80, 120)

    def to_dict(self) -> dict:
        """As JSON takes it."""
        return {key: list(value) for key, value in asdict(self).items()}


class RefineNet(nn.Module):
    """Corrects staged frames.

    Args:
        config: Sizes.
    """

    def __init__(self, config: RefineConfig) -> None:
        super().__init__()
        self.config = config
        self.network = Unet(_INPUTS, 4, config.widths)

    def forward(self, view: Tensor) -> Tensor:
        """[B, 4, H, W]: corrected colour between -1 and 1, and the logarithm of a factor on depth.

        Args:
            view: [B, 19, H, W]; see `refine_input`.
        """
        said = self.network(view)
        return torch.cat([view[:, :3] + said[:, :3], 0.2 * said[:, 3:]], 1)

    @torch.no_grad()
    def finish(
        self, situation: Observation, frames: list[CompositeFrame], *, batch: int = 16
    ) -> tuple[np.ndarray, np.ndarray]:
        """Colours [T, H, W, 3] uint8 and points [T, H, W, 3] float32 m of staged frames."""
        rgb, xyz = [], []
        for start in range(0, len(frames), batch):
            some = frames[start : start + batch]
            told = self(torch.stack([refine_input(situation, one) for one in some]))
            told = told.permute(0, 2, 3, 1).numpy()
            rgb.append(np.rint((np.clip(told[..., :3], -1, 1) + 1) * 127.5).astype(np.uint8))
            depth = np.stack([one.xyz for one in some]) * np.exp(told[..., 3:])
            exact = np.stack([one.robot for one in some])[..., None]
            xyz.append(np.where(exact, [one.xyz for one in some], depth).astype(np.float32))
        return np.concatenate(rgb), np.concatenate(xyz)


def refine_input(situation: Observation, staged: CompositeFrame) -> Tensor:
    """[19, H, W]: what a refiner is told of a staged frame and of the first."""
    now = frame_features(staged.rgb, situation.to_base(staged.xyz), staged.robot)
    robot = situation.robot.mask[0] > 0
    first = frame_features(situation.image, situation.to_base(situation.xyz), robot)
    planes = [staged.moved, staged.guessed, staged.shadow]
    flags = torch.from_numpy(np.stack(planes).astype(np.float32))
    return torch.cat([now, first, flags])


@dataclass(frozen=True, eq=False)
class RefineBatch:
    """B staged frames and what they should have been.

    Attributes:
        view: [B, 19, H, W]; see `refine_input`.
        rgb: [B, 3, H, W] between -1 and 1.
        depth: [B, H, W] logarithm of the true depth over the staged one; NaN where unknown.
        robot: [B, H, W] bool: where the robot truly is.
    """

    view: Tensor
    rgb: Tensor
    depth: Tensor
    robot: Tensor


def refine_loss(
    refiner: nn.Module, canvases: RefineBatch, done: float
) -> tuple[Tensor, dict[str, Tensor]]:
    """How far colours, edges and depths are off; what changed counts more."""
    told = refiner(canvases.view)
    changed = (canvases.rgb - canvases.view[:, 8:11]).abs().amax(1) > _DIFFERS
    weight = 0.25 + changed.float()
    colour = ((told[:, :3] - canvases.rgb).abs().mean(1) * weight).mean()
    edges = sum(((told[:, :3].diff(dim=k) - canvases.rgb.diff(dim=k)).abs()).mean() for k in (2, 3))
    off = (told[:, 3] - canvases.depth).abs()
    known = torch.isfinite(canvases.depth)
    depth = (off.nan_to_num(0.0) * weight * known).mean()
    where = changed & ~canvases.robot
    error = (told[:, :3].clamp(-1, 1) - canvases.rgb).square().mean(1)[where].mean()
    total = colour + 0.5 * edges + 4.0 * depth
    return total, {"colour": colour, "depth": depth, "changed_db": -10 * (error / 4).log10()}


@torch.no_grad()
def evaluate_refinement(refiner: RefineNet, canvases: list[RefineBatch]) -> dict[str, float]:
    """Decibels where the first frame no longer holds and no robot is: painted, and as staged."""
    painted, staged = [], []
    for one in canvases:
        told = refiner(one.view)[:, :3].clamp(-1, 1)
        changed = (one.rgb - one.view[:, 8:11]).abs().amax(1) > _DIFFERS
        for number, where in enumerate(changed & ~one.robot):
            if where.any():
                for found, picture in ((painted, told), (staged, one.view[:, :3])):
                    error = (picture[number] - one.rgb[number]).square().mean(0)[where].mean()
                    found.append(float(-10 * (error / 4 + 1e-6).log10()))
    return {"changed_db": float(np.mean(painted)), "staged_db": float(np.mean(staged))}
