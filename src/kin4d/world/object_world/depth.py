"""Gauge: how far away everything in the first picture is, where nobody measured it.

The camera is known, and so is the robot in it: what stands on the table at the robot's foot is
told as a change against the bare table.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass

import numpy as np
import torch
from torch import Tensor, nn

from kin4d.geometry.camera import Camera
from kin4d.world.object_world.unet import Unet

_INPUTS = 3 + 3 + 1 + 2
_NEAR, _FAR = 0.05, 4.0


@dataclass(frozen=True, kw_only=True)
class DepthConfig:
    """Sizes of a network.

    Attributes:
        widths: Of its network.
    """

    widths: tuple[int, ...] = (40, 80, 120)

    def to_dict(self) -> dict:
        """As JSON takes it."""
        return {key: list(value) for key, value in asdict(self).items()}


@dataclass(frozen=True, eq=False)
class DepthBatch:
    """B first frames.

    Attributes:
        view: [B, 9, H, W]; see `depth_input`.
        depth: [B, H, W] logarithm of the true depth (m); NaN where unknown.
    """

    view: Tensor
    depth: Tensor


class DepthNet(nn.Module):
    """Tells depth.

    Args:
        config: Sizes.
    """

    def __init__(self, config: DepthConfig) -> None:
        super().__init__()
        self.config = config
        self.network = Unet(_INPUTS, 1, config.widths)

    def forward(self, view: Tensor) -> Tensor:
        """[B, H, W] logarithm of depth (m) of views [B, 9, H, W]."""
        return view[:, 6] + 0.3 * self.network(view)[:, 0]

    @torch.no_grad()
    def measure(
        self, image: np.ndarray, robot: np.ndarray, camera: Camera, base: np.ndarray
    ) -> np.ndarray:
        """[H, W, 3] float32 m in the camera frame: where all that a picture shows is.

        Args:
            image: [H, W, 3] uint8.
            robot: [H, W, 3] m: points of the robot in that picture, NaN elsewhere.
            camera: Of the picture.
            base: [4, 4] the robot's base in the camera frame.
        """
        told = self(depth_input(image, robot, camera, base)[None])[0].exp().numpy()
        points = (told[..., None] * camera.rays()).astype(np.float32)
        return np.where(np.isfinite(robot), robot, points)


def depth_input(image: np.ndarray, robot: np.ndarray, camera: Camera, base: np.ndarray) -> Tensor:
    """[9, H, W] what a network is told: colour, direction, depth of the bare table, robot, if any.

    Args: as of `Gauge.measure`.
    """
    to_base = np.linalg.inv(base)
    ways = camera.rays() @ to_base[:3, :3].T
    eye = to_base[:3, 3]
    with np.errstate(divide="ignore", invalid="ignore"):
        table = np.where(ways[..., 2] < 0, -eye[2] / ways[..., 2], _FAR)
    table = np.log(np.clip(table, _NEAR, _FAR))[..., None]
    there = np.isfinite(robot[..., 2:])
    depth = np.log(np.clip(np.where(there, robot[..., 2:], 1.0), _NEAR, _FAR))
    planes = [image / 127.5 - 1, ways, table, there * (depth - table), there]
    stacked = np.concatenate([np.asarray(plane, np.float32) for plane in planes], axis=-1)
    return torch.from_numpy(stacked).permute(2, 0, 1).contiguous()


def depth_loss(
    network: nn.Module, depths: DepthBatch, done: float
) -> tuple[Tensor, dict[str, Tensor]]:
    """Mean error of the logarithm of depth, and of its steps from pixel to pixel."""
    told, true = network(depths.view), depths.depth
    known = torch.isfinite(true)
    off = torch.where(known, told - true, 0.0)
    steps = off.diff(dim=1).abs().mean() + off.diff(dim=2).abs().mean()
    return off.abs().mean() + steps, {"off": off.abs().mean(), "steps": steps}


@torch.no_grad()
def evaluate_depth(network: DepthNet, depths: list[DepthBatch]) -> dict[str, float]:
    """`mm`: median error of depth; `off_table_mm`: where things stand above the table."""
    errors, above = [], []
    for one in depths:
        told, true = network(one.view).exp(), one.depth.exp()
        error = (told - true).abs()
        known = torch.isfinite(true)
        errors.append(error[known])
        above.append(error[known & ((one.depth - one.view[:, 6]).abs() > 0.02)])
    return {
        "mm": float(1000 * torch.cat(errors).median()),
        "off_table_mm": float(1000 * torch.cat(above).median()),
    }
