"""ObjectWorldModel: segment the parts, predict their motion, composite and refine the frames."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from torch import Tensor, nn

from kin4d.errors import InputError
from kin4d.geometry.pointmap import PointmapVideo
from kin4d.reading import reading
from kin4d.training.build import build_from_weights
from kin4d.training.checkpoint import save_tensors
from kin4d.training.config import config_of
from kin4d.training.weights import read_weights, weights_file
from kin4d.world.object_world.compositor.compositor import (
    CompositeFrame,
    Compositor,
    parts_that_moved,
)
from kin4d.world.object_world.depth import DepthConfig, DepthNet
from kin4d.world.object_world.dynamics import DynamicsConfig, PartDynamics
from kin4d.world.object_world.dynamics_sample import DynamicsSample, make_dynamics_sample
from kin4d.world.object_world.part_rollout import rollout_parts
from kin4d.world.object_world.refinement import RefineConfig, RefineNet
from kin4d.world.object_world.released_parts import drop_released
from kin4d.world.object_world.segmentation import (
    BACKGROUND,
    PartSegmenter,
    SegmenterConfig,
    frame_features,
    split_components,
)
from kin4d.world.object_world.standing_pieces import add_standing_pieces, moving_points
from kin4d.world.object_world.train import VERSION, WORLD
from kin4d.world.observation import Observation
from kin4d.world.observation_cleanup import clean_observation

if TYPE_CHECKING:
    from kin4d.world.object_world.object_rollout import ObjectRollout

SIZE = (64, 96)
"""Height and width in pixels of the images that its networks are trained on."""
ROBOT = 1


@dataclass(frozen=True, eq=False, kw_only=True)
class PartMotion:
    """Predicted motion of the parts.

    Attributes:
        part: [H, W] int: part of each pixel of the first frame, -1 for none.
        motions: [T, P, 4, 4] motion of the parts since the first frame, camera frame, m.
    """

    part: np.ndarray
    motions: np.ndarray


class ObjectWorldModel:
    """Predicts videos of rigid parts that a robot moves.

    Args:
        segmentation: Predicts part masks from the first frame.
        dynamics: Predicts how the parts move.
        refinement: Corrects composited frames; None leaves them as they are.
        depth: Predicts depth where none is measured; None requires measured depth.
    """

    def __init__(
        self,
        segmentation: PartSegmenter,
        dynamics: PartDynamics,
        refinement: RefineNet | None = None,
        depth: DepthNet | None = None,
    ) -> None:
        self.segmentation, self.dynamics, self.refinement, self.depth = (
            segmentation,
            dynamics,
            refinement,
            depth,
        )

    @property
    def size(self) -> tuple[int, int]:
        """Height and width in pixels of its images."""
        return SIZE

    @property
    def frames(self) -> None:
        """Frames of its window: any number."""

    def with_depth(self, observation: Observation) -> Observation:
        """The observation with predicted depth if it has none."""
        if np.isfinite(observation.xyz).any():
            return observation
        if self.depth is None:
            raise InputError(
                "the first image comes without depth, and these weights do not predict it",
                hint="give --depth, or train one: kin4d train object-world --networks depth",
            )
        robot = observation.robot
        points = np.where(robot.mask[0][..., None] > 0, robot.xyz[0], np.nan)
        predicted = self.depth.predict(
            observation.image, points, observation.camera, observation.support_in_camera
        )
        return replace(observation, xyz=predicted)

    def predict_motion(
        self, observation: Observation, *, part: np.ndarray | None = None, seed: int | None = None
    ) -> PartMotion:
        """Predict the motion of the parts.

        Args:
            observation: The input.
            part: [H, W] int: part of each pixel, if known; else predicted by the segmenter.
            seed: Seed of a sample; the most likely motion if None.
        """
        generator = None if seed is None else torch.Generator().manual_seed(seed)
        part = self.segment_parts(observation) if part is None else part
        motions = np.tile(np.eye(4), (len(observation), max(int(part.max()) + 1, 0), 1, 1))
        sample = self.dynamics_sample(observation, part)
        if sample is None:
            return PartMotion(part=np.full_like(part, BACKGROUND), motions=motions[:, :0])
        poses = rollout_parts(self.dynamics, *sample.tensors(), sample.seconds, generator).numpy()
        poses = drop_released(sample, poses)
        motions[:, list(sample.part_ids)] = poses_in_camera(observation, poses)
        return PartMotion(part=part, motions=motions)

    def segment_parts(self, observation: Observation, *, measured: bool = False) -> np.ndarray:
        """[H, W] int: part of each pixel of the first frame, -1 for none.

        Args:
            observation: The input.
            measured: Whether its depth was measured: what stands on the support is then seen in
                it, even if the network misses it.
        """
        xyz = observation.to_support(observation.xyz.astype(np.float64))
        robot = observation.robot.mask[0] > 0
        features = frame_features(observation.image, xyz, robot)
        part = split_components(self.segmentation.predict(features), xyz)
        if not measured:
            return part
        path = moving_points(observation.to_support(observation.robot_points))
        return add_standing_pieces(part, xyz, robot, path)

    def dynamics_sample(
        self,
        observation: Observation,
        part: np.ndarray,
        *,
        frames: slice = slice(None),
        path: np.ndarray | None = None,
    ) -> DynamicsSample | None:
        """What the dynamics network is given of an observation; None if it shows no part.

        Args:
            observation: The input.
            part: [H, W] int: part of each pixel.
            frames: Those of the robot's motion.
            path: See `make_dynamics_sample`.
        """
        xyz = observation.to_support(observation.xyz.astype(np.float64))
        visible = np.isfinite(xyz).all(-1) & (observation.robot.mask[0] == 0)
        robot_points = observation.to_support(observation.robot_points[frames])
        measured = (observation.gripper_opening, observation.ee_tracking_error)
        opening, error = (None if one is None else one[frames] for one in measured)
        still = np.tile(np.eye(4), (len(robot_points), max(int(part.max()) + 1, 0), 1, 1))
        return make_dynamics_sample(
            robot_points=robot_points,
            xyz=xyz[visible],
            part=part[visible],
            motions=still,
            seconds=observation.seconds,
            gripper_opening=opening,
            ee_tracking_error=error,
            path=path,
        )

    def begin_rollout(self, observation: Observation, *, seed: int | None = None) -> ObjectRollout:
        """A rollout that is given the robot's motion piece by piece.

        Args:
            observation: The first frame; of its robot only that frame counts.
            seed: Seed of a sample; the most likely motion if None.
        """
        from kin4d.world.object_world.object_rollout import ObjectRollout

        return ObjectRollout(self, observation, seed=seed)

    def render(self, observation: Observation, motion: PartMotion) -> list[CompositeFrame]:
        """Composite the frames of a part motion."""
        moving = parts_that_moved(observation.xyz, motion.part, motion.motions)
        compositor = Compositor(observation, motion.part, moving)
        return [compositor.render(t, motion.motions[t][moving]) for t in range(len(observation))]

    def imagine(
        self,
        observation: Observation,
        *,
        part: np.ndarray | None = None,
        motion: PartMotion | None = None,
        seed: int | None = None,
    ) -> PointmapVideo:
        """Predict the video. Its first frame is the given one.

        Args: as of `imagine_parts`.
        """
        return self.imagine_parts(observation, part=part, motion=motion, seed=seed)[0]

    def imagine_parts(
        self,
        observation: Observation,
        *,
        part: np.ndarray | None = None,
        motion: PartMotion | None = None,
        seed: int | None = None,
    ) -> tuple[PointmapVideo, PartMotion]:
        """Predict the video, and the motion of all parts.

        Args:
            observation: The input.
            part: As of `predict_motion`.
            motion: Parts and how they move, if something else decides; see `scene_motion`.
            seed: As of `predict_motion`.
        """
        measured = bool(np.isfinite(observation.xyz).any())
        observation = self.with_depth(clean_observation(observation))
        if motion is None:
            part = self.segment_parts(observation, measured=measured) if part is None else part
            motion = self.predict_motion(observation, part=part, seed=seed)
        video = self.finish(observation, self.render(observation, motion))
        video.rgb[0], video.xyz[0] = observation.image, observation.xyz
        return video, motion

    def finish(self, observation: Observation, frames: list[CompositeFrame]) -> PointmapVideo:
        """The video of composited frames, refined if there is a network for it."""
        if self.refinement is None:
            rgb = np.stack([frame.rgb for frame in frames])
            xyz = np.stack([frame.xyz for frame in frames])
        else:
            rgb, xyz = self.refinement.refine(observation, frames)
        return PointmapVideo(
            rgb=rgb,
            xyz=xyz,
            mask=np.stack([frame.robot for frame in frames]).astype(np.uint8) * ROBOT,
            camera=observation.camera,
            fps=observation.robot.fps,
            names=("robot",),
        )

    def save(self, file: str | Path, metadata: dict[str, Any]) -> None:
        """Write all networks and their configs to one .safetensors file."""
        networks = self._networks()
        tensors = {
            f"{name}.{key}": value.contiguous()
            for name, network in networks.items()
            for key, value in network.state_dict().items()
        }
        configs: dict[str, Any] = {
            name: network.config.to_dict()  # pyright: ignore[reportCallIssue, reportAttributeAccessIssue]
            for name, network in networks.items()
        }
        header = {"model": WORLD, "version": VERSION, "config": configs, "about": metadata}
        save_tensors(Path(file), tensors, header)

    @classmethod
    def load(cls, name: str | Path) -> ObjectWorldModel:
        """Read weights: a name that ships, a file, a folder or a hub id."""
        file = weights_file(name, "world")
        with reading(file, "file of weights"):
            tensors, metadata = read_weights(
                file, model=WORLD, version=VERSION, train="kin4d train object-world"
            )
            networks = {}
            for kind, config in metadata["config"].items():
                part = {
                    k.removeprefix(f"{kind}."): v
                    for k, v in tensors.items()
                    if k.startswith(f"{kind}.")
                }
                networks[kind] = _load_network(kind, config, part)
            return cls(**networks)

    @classmethod
    def from_networks(
        cls, initial: ObjectWorldModel | None = None, /, **folders: Path
    ) -> ObjectWorldModel:
        """Join networks trained separately: `segmentation`, `dynamics`, ..., by folder or file.

        The others are taken from the `initial` model.
        """
        networks: dict[str, Any] = {} if initial is None else dict(initial._networks())
        for kind, folder in folders.items():
            tensors, metadata = read_weights(
                weights_file(folder, "world"),
                model=kind,
                version=VERSION,
                train="kin4d train object-world",
            )
            networks[kind] = _load_network(kind, metadata["config"], tensors)
        return cls(**networks)

    def _networks(self) -> dict[str, nn.Module]:
        return {kind: getattr(self, kind) for kind in _NETWORKS if getattr(self, kind) is not None}


def poses_in_camera(observation: Observation, poses: np.ndarray) -> np.ndarray:
    """[..., 4, 4] motions in the camera frame of motions [..., 3, 4] in the support frame."""
    whole = np.tile(np.eye(4), (*poses.shape[:-2], 1, 1))
    whole[..., :3, :] = poses
    support = observation.support_in_camera
    return support @ whole @ np.linalg.inv(support)


_NETWORKS = {
    "depth": (DepthNet, DepthConfig),
    "segmentation": (PartSegmenter, SegmenterConfig),
    "dynamics": (PartDynamics, DynamicsConfig),
    "refinement": (RefineNet, RefineConfig),
}


def _load_network(kind: str, config: dict[str, Any], tensors: dict[str, Tensor]) -> Any:
    """A network with its weights, in evaluation mode."""
    if kind not in _NETWORKS:
        raise InputError(
            "an object world model has no such network", value=kind, allowed=", ".join(_NETWORKS)
        )
    network, config_class = _NETWORKS[kind]
    values = config_of(config_class, config)
    return build_from_weights(lambda: network(values), tensors)
