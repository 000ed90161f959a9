"""Success in imagination: joints and poses are read from the parts that a world model moves."""

from functools import cache

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from kin4d.envs.imagined_env import ImaginedEnv
from kin4d.envs.imagined_state import BodyTracker, ImaginedState, TrackedBody
from kin4d.geometry.pointmap import PointmapVideo
from kin4d.tasks.task import named_task
from kin4d.tasks.task_scene import TaskScene
from kin4d.world.object_world.model import PartMotion

SEED = 920_000_000


@cache
def scene_of(task: str) -> TaskScene:
    return named_task(task).build(SEED)


def bodies_at_start(scene: TaskScene) -> dict[str, TrackedBody]:
    data, found = scene.reset(), {}
    for obj in scene.objects:
        for name in obj.bodies:
            pose = np.eye(4)
            pose[:3, :3] = data.body(name).xmat.reshape(3, 3)
            pose[:3, 3] = data.body(name).xpos
            found[name] = TrackedBody(np.zeros((0, 3)), pose)
    return found


@pytest.mark.parametrize("task", ["open_drawer", "close_drawer", "open_door", "open_lid"])
def test_joints_are_read_as_mujoco_has_them(task: str) -> None:
    scene = scene_of(task)
    first, data = bodies_at_start(scene), scene.reset()
    import mujoco

    for value in np.linspace(*scene.model.jnt_range[scene.model.joint("fixture").id], 4):
        data.joint("fixture").qpos = value
        mujoco.mj_kinematics(scene.model, data)
        part, pose = data.body("fixture/part"), np.eye(4)
        pose[:3, :3], pose[:3, 3] = part.xmat.reshape(3, 3), part.xpos
        now = {**first, "fixture/part": TrackedBody(np.zeros((0, 3)), pose)}
        state = ImaginedState(scene, first, now, scene.start)
        assert state.joint("fixture") == pytest.approx(value, abs=1e-9)
        assert scene.spec.success(state) == scene.success(data)


def test_a_body_moves_with_the_part_that_lies_where_it_was_seen() -> None:
    y, x = np.mgrid[0:8, 0:12] * 0.005
    xyz = np.stack([x, y, np.ones_like(x)], -1)
    part = np.full((8, 12), -1)
    part[:, :4], part[:, 8:] = 0, 1
    lift = np.eye(4)
    lift[1, 3] = -0.1
    turn = np.eye(4)
    turn[:3, :3] = Rotation.from_euler("z", 90, degrees=True).as_matrix()
    still = np.eye(4)
    parts = PartMotion(part=part, motions=np.stack([[still, still], [lift, turn]]))
    bodies = {
        "left": TrackedBody(xyz[:, :4].reshape(-1, 3), np.eye(4)),
        "right": TrackedBody(xyz[:, 8:].reshape(-1, 3), np.eye(4)),
        "table": TrackedBody(xyz[:, 6:7].reshape(-1, 3) + np.array([0, 0, 0.1]), np.eye(4)),
        "hidden": TrackedBody(np.zeros((0, 3)), np.eye(4)),
    }
    first, last = BodyTracker(bodies, xyz, np.eye(4)).follow(parts)
    assert all(np.array_equal(one.pose, np.eye(4)) for one in first.values())
    np.testing.assert_allclose(last["left"].pose, lift)
    np.testing.assert_allclose(last["right"].pose, turn)
    np.testing.assert_allclose(last["left"].points, bodies["left"].points + np.array([0, -0.1, 0]))
    for name in ("table", "hidden"):
        assert np.array_equal(last[name].pose, np.eye(4))


class Levitation:
    """A world model in which everything on the table rises at `speed` m per frame."""

    size, frames = (64, 96), None

    def __init__(self, speed: float) -> None:
        self.speed = speed

    def imagine(self, observation, *, seed=None) -> PointmapVideo:
        return observation.robot

    def begin_rollout(self, observation, *, seed=None) -> "Rising":
        return Rising(observation, self.speed)


class Rising:
    """A rollout of `Levitation`."""

    def __init__(self, observation, speed: float) -> None:
        self.first, self.speed, self.frames = observation, speed, 0
        above = observation.to_support(observation.xyz)[..., 2] > 0.01
        self.part = np.where(above & (observation.robot.mask[0] == 0), 0, -1)

    def advance(self, observation) -> tuple[PointmapVideo, PartMotion]:
        count = len(observation) - 2
        motions = np.tile(np.eye(4), (count, 1, 1, 1))
        up = observation.support_in_camera[:3, 2]
        frames = self.frames + 1 + np.arange(count)
        self.frames += count
        motions[:, 0, :3, 3] = self.speed * frames[:, None] * up
        xyz = np.tile(self.first.xyz, (count, 1, 1, 1))
        xyz[:, self.part == 0] += motions[:, 0, None, :3, 3].astype(np.float32)
        video = PointmapVideo(
            rgb=np.tile(self.first.image, (count, 1, 1, 1)), xyz=xyz,
            mask=observation.robot.mask[2:], camera=observation.camera,
            fps=observation.robot.fps, names=("robot",),
        )  # fmt: skip
        return video, PartMotion(part=self.part, motions=motions)


@pytest.mark.parametrize(("speed", "expected"), [(0.004, 16), (0.0, None), (-0.004, None)])
def test_success_is_what_the_world_model_shows(speed: float, expected: int | None) -> None:
    env = ImaginedEnv(weights=Levitation(speed), task="lift", window=6, max_steps=30)
    env.reset(seed=SEED)
    _, reward, done, _, info = env.step_chunk(np.tile([0, 0, 0, 0, 0, 0, 1.0], (30, 1)))
    assert (done, reward) == (expected is not None, float(expected is not None))
    # More than 6 cm are wanted: 16 frames of 4 mm, over three windows.
    assert info["steps"] == (expected or 30)
