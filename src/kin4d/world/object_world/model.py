"""RigidWorld: see the parts of the first frame, move them, show them, paint what is missing."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from kin4d.errors import InputError
from kin4d.geometry.pointmap import PointmapVideo
from kin4d.training.checkpoint import save_tensors
from kin4d.training.config import config_of
from kin4d.training.weights import check_state_dict, read_weights, weights_file
from kin4d.world.alignment import align_robot, fill_holes, rigidify_tracks
from kin4d.world.object_world.compositor.compositor import (
    CompositeFrame,
    Compositor,
    parts_that_moved,
)
from kin4d.world.object_world.depth import DepthConfig, DepthNet
from kin4d.world.object_world.dynamics import DynamicsConfig, PartDynamics
from kin4d.world.object_world.dynamics_sample import make_dynamics_sample
from kin4d.world.object_world.refinement import RefineConfig, RefineNet
from kin4d.world.object_world.rollout import rollout_parts
from kin4d.world.object_world.segmentation import (
    NOBODY,
    PartSegmenter,
    SegmenterConfig,
    frame_features,
    split_components,
)
from kin4d.world.object_world.train import VERSION, WORLD
from kin4d.world.observation import Observation

SIZE = (64, 96)
"""Height and width in pixels of the pictures that its networks learn from."""
ROBOT = 1


@dataclass(frozen=True, eq=False, kw_only=True)
class PartMotion:
    """What is imagined of the parts, before anything is drawn.

    Attributes:
        part: [H, W] int: the part each pixel of the first frame shows, -1 for none.
        motions: [T, P, 4, 4] how the parts move since the first frame, camera frame, m.
    """

    part: np.ndarray
    motions: np.ndarray


class ObjectWorldModel:
    """A world of rigid parts that a robot moves.

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
        """Height and width in pixels that it works at best."""
        return SIZE

    @property
    def frames(self) -> None:
        """Frames that it imagines at once: any number."""

    def measured(self, situation: Observation) -> Observation:
        """The situation with geometry where it has none."""
        if np.isfinite(situation.xyz).any():
            return situation
        if self.depth is None:
            raise InputError(
                "the first picture comes without depth, and these weights cannot tell it",
                hint="give --depth, or train the depth: kin4d train object-world --networks depth",
            )
        robot = situation.robot
        points = np.where(robot.mask[0][..., None] > 0, robot.xyz[0], np.nan)
        told = self.depth.measure(situation.image, points, situation.camera, situation.base)
        return replace(situation, xyz=told)

    def move(
        self, situation: Observation, *, part: np.ndarray | None = None, seed: int | None = None
    ) -> PartMotion:
        """How the parts of a situation will move.

        Args:
            situation: What is known.
            part: [H, W] int: the part of each pixel, if it is known; else the segmentation says.
            seed: Of one of many futures; the likeliest one if None.
        """
        chance = None if seed is None else torch.Generator().manual_seed(seed)
        robot = situation.robot.mask[0] > 0
        xyz = situation.to_base(situation.xyz.astype(np.float64))
        if part is None:
            part = split_components(
                self.segmentation.parts(frame_features(situation.image, xyz, robot)), xyz
            )
        seen = np.isfinite(xyz).all(-1) & ~robot
        count = int(part.max()) + 1
        motions = np.tile(np.eye(4), (len(situation), max(count, 0), 1, 1))
        lesson = make_dynamics_sample(
            track=situation.to_base(situation.track),
            xyz=xyz[seen],
            part=part[seen],
            motions=motions,
            seconds=situation.seconds,
            opening=situation.opening,
            lag=situation.lag,
        )
        if lesson is None:
            return PartMotion(part=np.full_like(part, NOBODY), motions=motions[:, :0])
        rolled = rollout_parts(self.dynamics, *lesson.tensors(), lesson.seconds, chance).numpy()
        told = np.tile(np.eye(4), (*rolled.shape[:2], 1, 1))
        told[:, :, :3] = rolled
        motions[:, list(lesson.numbers)] = situation.base @ told @ np.linalg.inv(situation.base)
        return PartMotion(part=part, motions=motions)

    def show(self, situation: Observation, motion: PartMotion) -> list[CompositeFrame]:
        """The frames in which parts move so."""
        moving = parts_that_moved(situation.xyz, motion.part, motion.motions)
        stage = Compositor(situation, motion.part, moving)
        return [stage.show(t, motion.motions[t][moving]) for t in range(len(situation))]

    def imagine(
        self, situation: Observation, *, part: np.ndarray | None = None, seed: int | None = None
    ) -> PointmapVideo:
        """What happens, in colour and in metres. The first frame is the one that is given.

        Args: as of `move`.
        """
        situation = self.measured(align_robot(rigidify_tracks(fill_holes(situation))))
        frames = self.show(situation, self.move(situation, part=part, seed=seed))
        if self.refinement is None:
            rgb = np.stack([one.rgb for one in frames])
            xyz = np.stack([one.xyz for one in frames])
        else:
            rgb, xyz = self.refinement.finish(situation, frames)
        rgb[0], xyz[0] = situation.image, situation.xyz
        return PointmapVideo(
            rgb=rgb,
            xyz=xyz,
            mask=np.stack([one.robot for one in frames]).astype(np.uint8) * ROBOT,
            camera=situation.camera,
            fps=situation.robot.fps,
            names=("robot",),
        )

    def save(self, file: str | Path, about: dict[str, Any]) -> None:
        """Write all networks and their sizes to one .safetensors file."""
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
        said = {"model": WORLD, "version": VERSION, "config": configs, "about": about}
        save_tensors(Path(file), tensors, said)

    @classmethod
    def load(cls, name: str | Path) -> ObjectWorldModel:
        """Read weights: a name that ships, a file, a folder or a hub id."""
        tensors, about = read_weights(
            weights_file(name, "world"),
            model=WORLD,
            version=VERSION,
            train="kin4d train object-world",
        )
        parts = {
            kind: {k.removeprefix(f"{kind}."): v for k, v in tensors.items() if k.startswith(kind)}
            for kind in about["config"]
        }
        return cls(**{kind: _filled(kind, about["config"][kind], parts[kind]) for kind in parts})

    @classmethod
    def joined(cls, begun: ObjectWorldModel | None = None, /, **folders: Path) -> ObjectWorldModel:
        """Of networks that were trained apart: `segmentation`, `dynamics`, ..., by folder or file.

        Those of them that were not are taken from the world they have `begun` from.
        """
        found: dict[str, Any] = {} if begun is None else dict(begun._networks())
        for kind, folder in folders.items():
            tensors, about = read_weights(
                weights_file(folder, "world"),
                model=kind,
                version=VERSION,
                train="kin4d train object-world",
            )
            found[kind] = _filled(kind, about["config"], tensors)
        return cls(**found)

    def _networks(self) -> dict[str, nn.Module]:
        return {kind: getattr(self, kind) for kind in _KINDS if getattr(self, kind) is not None}


_KINDS = {
    "depth": (DepthNet, DepthConfig),
    "segmentation": (PartSegmenter, SegmenterConfig),
    "dynamics": (PartDynamics, DynamicsConfig),
    "refinement": (RefineNet, RefineConfig),
}


def _filled(kind: str, config: dict[str, Any], tensors: dict[str, Tensor]) -> Any:
    """A network with its weights, ready for use."""
    if kind not in _KINDS:
        raise InputError(
            "an object world model has no such network", value=kind, allowed=", ".join(_KINDS)
        )
    network, sizes = _KINDS[kind]
    made = network(config_of(sizes, config))
    check_state_dict(made.state_dict(), tensors)
    made.load_state_dict(tensors)
    return made.requires_grad_(False).eval()
