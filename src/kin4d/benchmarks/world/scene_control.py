"""Physics-guided imagination on articulated episodes: scene control against robot-only control.

The mechanics run from the first frame's state and are given what robot control is given, too: the
arm's motion and the commands of the gripper. The true later poses of the bodies are in a row of
their own, as the most that scene control could reach.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Any

import numpy as np

from kin4d.benchmarks.report import Check, Report
from kin4d.benchmarks.world.metrics import Score, WorldMetrics, average
from kin4d.benchmarks.world.tables import shown
from kin4d.dynamics.compiled_actor import DivergedStep
from kin4d.dynamics.integrators import Variational
from kin4d.dynamics.simulator import Simulator
from kin4d.envs.mujoco_env import body_poses_of
from kin4d.envs.task_mechanics import TaskMechanics
from kin4d.episodes.episode import Episode
from kin4d.geometry.clip import Clip
from kin4d.geometry.skin import SkinAnimation
from kin4d.tasks.task import named_task
from kin4d.tasks.task_scene import TaskScene
from kin4d.world.object_world.model import ObjectWorldModel
from kin4d.world.scene_motion import scene_motion

ARTICULATED = (
    "open_drawer",
    "close_drawer",
    "open_door",
    "close_door",
    "open_lid",
    "close_lid",
    "press_button",
)
"""Tasks with a joint."""

ROBOT, SCENE, TRUE = "robot", "scene", "scene, true poses"
GAIN = 0.25
_ALL = "all"
_STEP = 1 / 240  # s, the longest of the mechanics

_NOTE = (
    "Control of imagination on articulated episodes: 'robot' predicts how parts move from the "
    "robot's motion; 'scene' is given the motion of the scene's bodies, which our mechanics "
    "computed from the first frame's state, the same measured motion of the arm and the commanded "
    "gripper; 'scene, true poses' is given the recorded ones. All are painted by the same "
    "compositor and refinement. The bodies' shapes, masses and joints and where they are at the "
    "start are known to the mechanics, not to 'robot'."
)


def compare_controls(episodes: Iterable[Episode], model: ObjectWorldModel) -> Report:
    """Rows of both controls, over all episodes, by task and by kind of episode.

    Args:
        episodes: Of tasks in `ARTICULATED`; those in which no part that is seen moves are left out.
        model: Paints, and predicts for robot control.
    """
    scores: dict[str, list[Score]] = {ROBOT: [], SCENE: [], TRUE: []}
    members: list[tuple[str, str, str]] = []  # the groups that an episode is in
    failed = 0
    for episode in episodes:
        metrics = WorldMetrics(episode)
        if not metrics.trackers:
            continue
        observation, scene = metrics.observation, task_scene(episode)
        clips, whole = mechanics_clips(episode, scene)
        failed += not whole
        videos = {
            ROBOT: model.imagine(observation),
            SCENE: model.imagine(observation, motion=scene_motion(observation, clips)),
            TRUE: model.imagine(
                observation, motion=scene_motion(observation, true_clips(episode, scene))
            ),
        }
        members.append((_ALL, episode.task, str(episode.meta.get("kind", "?"))))
        for name, video in videos.items():
            scores[name].append({**metrics.things(video), **metrics.colours(video)})
    report = Report()
    if not members:
        return report
    for group in dict.fromkeys(own[level] for level in range(3) for own in members):
        for name, found in scores.items():
            some = [one for one, own in zip(found, members, strict=True) if group in own]
            report.rows.append({"episodes": group, "control": name, **_figures(some)})
    off = {name: average(found, "off last") for name, found in scores.items()}
    gain = 1 - off[SCENE] / off[ROBOT]
    report.ratios = {"object displacement error, scene of robot control": off[SCENE] / off[ROBOT]}
    title = "scene control: displacement error below robot control's, articulated (share)"
    report.checks.append(Check(title, gain, GAIN, at_least=True))
    report.notes.append(_NOTE)
    if failed:
        report.notes.append(f"The mechanics diverged in {failed} episodes; bodies then stay.")
    return report


def _figures(scores: list[Score]) -> dict[str, Any]:
    columns = {
        "displacement px": "off last",
        "over frames px": "off",
        "true way px": "way last",
        "mask IoU": "IoU",
        "lost": "lost",
        "PSNR things": "PSNR things",
        "PSNR": "PSNR",
    }
    return {"clips": len(scores)} | {
        title: shown(average(scores, figure)) for title, figure in columns.items()
    }


def task_scene(episode: Episode) -> TaskScene:
    """The scene that an episode of a task began in."""
    assert episode.seed is not None
    return named_task(episode.task).build(episode.seed, arm=episode.robot)


def mechanics_clips(episode: Episode, scene: TaskScene) -> tuple[list[Clip], bool]:
    """The bodies as our mechanics move them, and whether it got to the end.

    The arm goes where it was measured, as in the pointmaps of robot control. The fingers are
    commanded: what they hold stops them.
    """
    assert episode.joints is not None
    assert episode.actions is not None
    assert episode.actions.gripper is not None
    arm, mechanics, fps = scene.arm, TaskMechanics(scene), episode.fps
    q = episode.joints.copy()
    q[:, arm.grip] = arm.closed + episode.actions.gripper * (arm.opened - arm.closed)
    q[0] = scene.start
    substeps = int(np.ceil(1 / (fps * _STEP)))
    simulator = Simulator(mechanics.scene, Variational(2), 1 / (fps * substeps))
    simulator.drive("arm", replace(mechanics.motion(q), fps=fps))
    state = simulator.initial_state()
    poses = [mechanics.body_poses(state)]
    try:
        for _ in range(len(q) - 1):
            for _ in range(substeps):
                state = simulator.step(state)
            poses.append(mechanics.body_poses(state))
    except DivergedStep:
        still = [poses[-1]] * (len(q) - len(poses))
        return _clips(scene, np.stack([*poses, *still]), fps), False
    return _clips(scene, np.stack(poses), fps), True


def true_clips(episode: Episode, scene: TaskScene) -> list[Clip]:
    """The bodies as they were recorded."""
    assert episode.parts is not None
    start, camera = body_poses_of(scene.reset()), episode.video.camera
    poses = np.tile(start, (len(episode), 1, 1, 1))
    moves = camera.pose @ episode.parts.motions @ camera.world_to_camera
    names = [name for obj in scene.objects for name in obj.bodies]
    for part, name in enumerate(names):
        body = scene.model.body(name).id
        poses[:, body] = moves[:, part] @ start[body]
    return _clips(scene, poses, episode.fps)


def _clips(scene: TaskScene, poses: np.ndarray, fps: float) -> list[Clip]:
    """A clip of every body that is drawn, of poses [T, B, 4, 4] of MuJoCo's bodies."""
    found = []
    for obj in scene.objects:
        for name, mesh in zip(obj.bodies, obj.meshes, strict=True):
            moves = poses[:, scene.model.body(name).id]
            skin = SkinAnimation(
                joints=np.zeros((len(mesh.vertices), 1), np.int64),
                weights=np.ones((len(mesh.vertices), 1), np.float32),
                names=(name,),
                transforms=moves[:, None],
            )
            vertices = mesh.vertices @ moves[:, :3, :3].swapaxes(1, 2) + moves[:, None, :3, 3]
            found.append(Clip(mesh=mesh, vertices=vertices, fps=fps, skin=skin))
    return found
