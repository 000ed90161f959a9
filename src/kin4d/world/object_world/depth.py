"""DepthNet: predicts depth of the first image, for observations without measured depth.

Camera and robot are known, so the network predicts log depth relative to the empty support
plane.
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
    """Sizes of the depth network.

    Attributes:
        widths: Channels of its U-Net.
    """

    widths: tuple[int, ...] = (40, 80, 120)

    def to_dict(self) -> dict:
        """For JSON."""
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
    """Predicts depth.

    Args:
        config: Sizes.
    """

    def __init__(self, config: DepthConfig) -> None:
        super().__init__()
        self.config = config
        self.network = Unet(_INPUTS, 1, config.widths)

    def forward(self, view: Tensor) -> Tensor:
        """[B, H, W] log depth (m) of inputs [B, 9, H, W]."""
        return view[:, 6] + 0.3 * self.network(view)[:, 0]

    @torch.no_grad()
    def predict(
        self, image: np.ndarray, robot: np.ndarray, camera: Camera, support: np.ndarray
    ) -> np.ndarray:
        """[H, W, 3] float32 m in the camera frame: the point of every pixel.

        Args:
            image: [H, W, 3] uint8.
            robot: [H, W, 3] m: points of the robot in that image, NaN elsewhere.
            camera: Camera of the image.
            support: [4, 4] pose of the support frame in the camera frame; see `Observation`.
        """
        predicted = self(depth_input(image, robot, camera, support)[None])[0].exp().numpy()
        points = (predicted[..., None] * camera.rays()).astype(np.float32)
        return np.where(np.isfinite(robot), robot, points)


def depth_input(
    image: np.ndarray, robot: np.ndarray, camera: Camera, support: np.ndarray
) -> Tensor:
    """[9, H, W] network input: colour, ray direction, table depth, robot depth and mask.

    Args: as of `DepthNet.predict`.
    """
    to_support = np.linalg.inv(support)
    directions = camera.rays() @ to_support[:3, :3].T
    camera_position = to_support[:3, 3]
    with np.errstate(divide="ignore", invalid="ignore"):
        table = np.where(directions[..., 2] < 0, -camera_position[2] / directions[..., 2], _FAR)
    table = np.log(np.clip(table, _NEAR, _FAR))[..., None]
    on_robot = np.isfinite(robot[..., 2:])
    depth = np.log(np.clip(np.where(on_robot, robot[..., 2:], 1.0), _NEAR, _FAR))
    planes = [image / 127.5 - 1, directions, table, on_robot * (depth - table), on_robot]
    stacked = np.concatenate([np.asarray(plane, np.float32) for plane in planes], axis=-1)
    return torch.from_numpy(stacked).permute(2, 0, 1).contiguous()


def depth_loss(
    network: nn.Module, batch: DepthBatch, done: float
) -> tuple[Tensor, dict[str, Tensor]]:
    """Mean absolute error of log depth, and of its image gradients."""
    predicted, true = network(batch.view), batch.depth
    known = torch.isfinite(true)
    error = torch.where(known, predicted - true, 0.0)
    steps = error.diff(dim=1).abs().mean() + error.diff(dim=2).abs().mean()
    return error.abs().mean() + steps, {"off": error.abs().mean(), "steps": steps}


@torch.no_grad()
def evaluate_depth(network: DepthNet, batches: list[DepthBatch]) -> dict[str, float]:
    """`mm`: median error of depth; `off_table_mm`: the same where objects stand on the table."""
    errors, above = [], []
    for batch in batches:
        predicted, true = network(batch.view).exp(), batch.depth.exp()
        error = (predicted - true).abs()
        known = torch.isfinite(true)
        errors.append(error[known])
        above.append(error[known & ((batch.depth - batch.view[:, 6]).abs() > 0.02)])
    return {
        "mm": float(1000 * torch.cat(errors).median()),
        "off_table_mm": float(1000 * torch.cat(above).median()),
    }
