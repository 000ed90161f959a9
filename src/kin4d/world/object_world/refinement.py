"""RefineNet: corrects colour and depth of composited frames (shadows, disocclusions, shading).

Its input is one composited frame and the first frame.
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
_CHANGED = 0.1  # of colours between -1 and 1: where a frame differs from the first


@dataclass(frozen=True, kw_only=True)
class RefineConfig:
    """Sizes of the refinement network.

    Attributes:
        widths: Channels of its U-Net.
    """

    widths: tuple[int, ...] = (40, 80, 120)

    def to_dict(self) -> dict:
        """For JSON."""
        return {key: list(value) for key, value in asdict(self).items()}


class RefineNet(nn.Module):
    """Corrects composited frames.

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
        correction = self.network(view)
        return torch.cat([view[:, :3] + correction[:, :3], 0.2 * correction[:, 3:]], 1)

    @torch.no_grad()
    def refine(
        self, observation: Observation, frames: list[CompositeFrame], *, batch: int = 16
    ) -> tuple[np.ndarray, np.ndarray]:
        """Colours [T, H, W, 3] uint8 and points [T, H, W, 3] float32 m of composited frames."""
        rgb, xyz = [], []
        for start in range(0, len(frames), batch):
            chunk = frames[start : start + batch]
            predicted = self(torch.stack([refine_input(observation, frame) for frame in chunk]))
            predicted = predicted.permute(0, 2, 3, 1).numpy()
            rgb.append(np.rint((np.clip(predicted[..., :3], -1, 1) + 1) * 127.5).astype(np.uint8))
            depth = np.stack([frame.xyz for frame in chunk]) * np.exp(predicted[..., 3:])
            on_robot = np.stack([frame.robot for frame in chunk])[..., None]
            xyz.append(np.where(on_robot, [frame.xyz for frame in chunk], depth).astype(np.float32))
        return np.concatenate(rgb), np.concatenate(xyz)


def refine_input(observation: Observation, composite: CompositeFrame) -> Tensor:
    """[19, H, W] network input: a composited frame, the first frame, and masks."""
    now = frame_features(composite.rgb, observation.to_support(composite.xyz), composite.robot)
    robot = observation.robot.mask[0] > 0
    first = frame_features(observation.image, observation.to_support(observation.xyz), robot)
    planes = [composite.moved, composite.guessed, composite.shadow]
    flags = torch.from_numpy(np.stack(planes).astype(np.float32))
    return torch.cat([now, first, flags])


@dataclass(frozen=True, eq=False)
class RefineBatch:
    """B composited frames and their ground truth.

    Attributes:
        view: [B, 19, H, W]; see `refine_input`.
        rgb: [B, 3, H, W] between -1 and 1.
        depth: [B, H, W] logarithm of the true depth over the composited one; NaN where unknown.
        robot: [B, H, W] bool: true robot mask.
    """

    view: Tensor
    rgb: Tensor
    depth: Tensor
    robot: Tensor


def refine_loss(
    refiner: nn.Module, batch: RefineBatch, done: float
) -> tuple[Tensor, dict[str, Tensor]]:
    """Error of colours, image gradients and depths; changed pixels have more weight."""
    predicted = refiner(batch.view)
    changed = (batch.rgb - batch.view[:, 8:11]).abs().amax(1) > _CHANGED
    weight = 0.25 + changed.float()
    colour = ((predicted[:, :3] - batch.rgb).abs().mean(1) * weight).mean()
    edges = sum(
        ((predicted[:, :3].diff(dim=k) - batch.rgb.diff(dim=k)).abs()).mean() for k in (2, 3)
    )
    depth_error = (predicted[:, 3] - batch.depth).abs()
    known = torch.isfinite(batch.depth)
    depth = (depth_error.nan_to_num(0.0) * weight * known).mean()
    region = changed & ~batch.robot
    error = (predicted[:, :3].clamp(-1, 1) - batch.rgb).square().mean(1)[region].mean()
    total = colour + 0.5 * edges + 4.0 * depth
    return total, {"colour": colour, "depth": depth, "changed_db": -10 * (error / 4).log10()}


@torch.no_grad()
def evaluate_refinement(refiner: RefineNet, batches: list[RefineBatch]) -> dict[str, float]:
    """PSNR of changed pixels without the robot, dB: refined, and as composited."""
    refined_db, composite = [], []
    for batch in batches:
        predicted = refiner(batch.view)[:, :3].clamp(-1, 1)
        changed = (batch.rgb - batch.view[:, 8:11]).abs().amax(1) > _CHANGED
        for number, region in enumerate(changed & ~batch.robot):
            if region.any():
                for figures, rgb in ((refined_db, predicted), (composite, batch.view[:, :3])):
                    error = (rgb[number] - batch.rgb[number]).square().mean(0)[region].mean()
                    figures.append(float(-10 * (error / 4 + 1e-6).log10()))
    return {"changed_db": float(np.mean(refined_db)), "composite_db": float(np.mean(composite))}
