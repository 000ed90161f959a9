"""ImaginedEnv (`kin4d/Imagined-v0`): a world model in closed loop, in the place of a simulator.

The first frame is rendered, like the truth's. Then the world model predicts windows of actions; the
last frame it imagines is the first of the next window. Within a window, imagination goes on from
where it stopped, so it hardly matters how actions are cut into chunks.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, Protocol, runtime_checkable

import numpy as np

from kin4d.envs.imagined_state import BodyTracker, ImaginedState, TrackedBody
from kin4d.envs.mujoco_env import body_poses_of
from kin4d.envs.servo_response import ServoResponse
from kin4d.envs.task_env import TaskEnv
from kin4d.errors import InputError
from kin4d.geometry.pointmap import PointmapVideo
from kin4d.render.pointmaps import MeshInstance
from kin4d.tasks.render_rollout import TaskRenderer
from kin4d.tasks.task_scene import TaskScene
from kin4d.tasks.trajectory import RATE
from kin4d.world.model import WorldModel, load_world_model
from kin4d.world.object_world.model import PartMotion
from kin4d.world.observation import Observation, make_observation

_FIRST_BODY = 2  # mask id of the first body in a rendered frame


class PartsRollout(Protocol):
    """Imagines one rollout piece by piece."""

    def advance(self, observation: Observation, /) -> tuple[PointmapVideo, PartMotion]:
        """The video of further frames and the motion of the parts in them.

        Of the observation's robot, frame 0 is the rollout's first frame, frame 1 the last known.
        """
        ...


@runtime_checkable
class ImaginesParts(Protocol):
    """A world model that says how the parts move that its video shows."""

    def begin_rollout(self, observation: Observation, *, seed: int | None = None) -> PartsRollout:
        """A rollout that starts with the observation's first frame."""
        ...


class ImaginedEnv(TaskEnv):
    """A task in imagination. Success is read from imagined geometry; see `ImaginedState`.

    Args:
        weights: A world model, or what `load_world_model` takes.
        window: Actions that are predicted from one frame. What a world model remembers, such as
            a grasp, is lost where a window ends.
        sample: Seed of a sample of the world model; the most likely future if None.
        options: As for `TaskEnv`; the image has the size of the world model's.
    """

    def __init__(
        self,
        *,
        weights: str | Path | WorldModel = "tiny",
        window: int = 80,
        sample: int | None = None,
        **options: Any,
    ) -> None:
        model = load_world_model(weights) if isinstance(weights, str | Path) else weights
        if not isinstance(model, ImaginesParts):
            raise InputError(
                "this world model does not say how parts move, so success cannot be read from it",
                value=type(model).__name__,
                allowed="object world models, such as 'tiny'",
            )
        if window < 1:
            raise InputError("window of an imagined environment", value=window, allowed=">= 1")
        height, width = model.size
        for name, size in (("height", height), ("width", width)):
            if options.setdefault(name, size) != size:
                raise InputError(
                    f"{name} of imagined images", value=options[name], allowed=str(size)
                )
        super().__init__(**options)
        self.model, self.window, self.sample = model, window, sample

    def _begin(self, scene: TaskScene) -> None:
        renderer = TaskRenderer(scene, height=self.height, width=self.width)
        poses, actors = body_poses_of(scene.reset()), renderer.actors
        drawn = renderer.draw(actors.joint_transforms(scene.start, poses))
        self._camera = renderer.camera
        self._first = {
            name: TrackedBody(drawn.xyz[drawn.mask == number].astype(np.float64), pose)
            for number, (name, pose) in enumerate(
                zip(actors.bodies, actors.body_poses(poses), strict=True), _FIRST_BODY
            )
        }
        self._servos = ServoResponse(scene)
        self._begin_window(drawn.rgb, drawn.xyz, self._first, scene.start)

    def _begin_window(
        self, rgb: np.ndarray, xyz: np.ndarray, bodies: dict[str, TrackedBody], q: np.ndarray
    ) -> None:
        self._now, self._start, self._left = (rgb, xyz, q), (rgb, xyz, q), self.window
        self._bodies = bodies
        self._rollout = self.model.begin_rollout(self._observe_robot(q[None]), seed=self.sample)
        self._parts = BodyTracker(bodies, xyz, self._camera.pose)

    def _carry_out(self, targets: np.ndarray) -> tuple[int, bool]:
        taken, q = 0, self._servos.follow(targets)
        while taken < len(targets):
            steps, success = self._imagine(q[taken : taken + self._left])
            taken += steps
            if success:
                return taken, True
        return taken, False

    def _imagine(self, arm: np.ndarray) -> tuple[int, bool]:
        """Imagine further frames of this window, with the arm at `arm` [H, k]; begin the next one
        if they fill it."""
        scene, (_, _, first), (_, _, last) = self.scene, self._start, self._now
        q = np.concatenate([first[None], last[None], arm])
        video, parts = self._rollout.advance(self._observe_robot(q))
        for t, bodies in enumerate(self._parts.follow(parts)):
            self._bodies = bodies
            self._now = (video.rgb[t], video.xyz[t], arm[t])
            if scene.spec.success(ImaginedState(scene, self._first, self._bodies, arm[t])):
                return t + 1, True
        self._left -= len(arm)
        if not self._left:
            self._begin_window(*self._now[:2], self._bodies, arm[-1])
        return len(arm), False

    def _observe_robot(self, q: np.ndarray) -> Observation:
        """The window's first frame, and the robot at q [T, k]."""
        (rgb, xyz, _), body = self._start, self.arm.body
        return make_observation(
            rgb,
            xyz,
            MeshInstance.of_body(body, q, name="robot"),
            self._camera,
            fps=RATE,
            base=np.asarray(body.root),
            language=self.scene.instruction,
            threads=1,
        )

    def _look(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        return self._now

    def _body_pose(self, name: str) -> np.ndarray:
        return self._bodies[name].pose
