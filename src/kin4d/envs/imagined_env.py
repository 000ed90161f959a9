"""ImaginedEnv (`kin4d/Imagined-v0`): a world model in closed loop, in the place of a simulator.

The first frame is rendered, like the truth's. Then the world model predicts windows of actions; the
last frame it imagines is the first of the next window. What happens within a window does not depend
on how its actions are cut into chunks: they are always predicted from the window's first frame.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, Protocol, runtime_checkable

import numpy as np

from kin4d.envs.imagined_state import ImaginedState, TrackedBody, track_bodies
from kin4d.envs.mujoco_env import body_poses_of
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


@runtime_checkable
class ImaginesParts(Protocol):
    """A world model that says how the parts move that its video shows."""

    def imagine_parts(
        self, observation: Observation, *, seed: int | None = None, start: int = 0
    ) -> tuple[PointmapVideo, PartMotion]:
        """The video from frame `start` on, and the motion of the parts in all frames."""
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
        self._begin_window(drawn.rgb, drawn.xyz, self._first, scene.start)

    def _begin_window(
        self, rgb: np.ndarray, xyz: np.ndarray, bodies: dict[str, TrackedBody], q: np.ndarray
    ) -> None:
        self._start, self._bodies, self._q = (rgb, xyz), bodies, q[None]
        self._now = (rgb, xyz, q)

    def _carry_out(self, targets: np.ndarray) -> tuple[int, bool]:
        taken = 0
        while taken < len(targets):
            chunk = targets[taken : taken + self.window + 1 - len(self._q)]
            steps, success = self._imagine(chunk)
            taken += steps
            if success:
                return taken, True
        return taken, False

    def _imagine(self, targets: np.ndarray) -> tuple[int, bool]:
        """Predict further targets of this window; begin the next one if they fill it."""
        scene, body, done = self.scene, self.arm.body, len(self._q)
        q, (rgb, xyz) = np.concatenate([self._q, targets]), self._start
        observation = make_observation(
            rgb,
            xyz,
            MeshInstance.of_body(body, q, name="robot"),
            self._camera,
            fps=RATE,
            base=np.asarray(body.root),
            language=scene.instruction,
            threads=1,
        )
        video, parts = self.model.imagine_parts(observation, seed=self.sample, start=done)
        frames = track_bodies(self._bodies, xyz, parts, self._camera.pose)
        for t in range(done, len(q)):
            self._now = (video.rgb[t - done], video.xyz[t - done], q[t])
            if scene.spec.success(ImaginedState(scene, self._first, frames[t], q[t])):
                return t + 1 - done, True
        self._q = q
        if len(q) > self.window:
            self._begin_window(video.rgb[-1], video.xyz[-1], frames[-1], q[-1])
        return len(targets), False

    def _look(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        return self._now
