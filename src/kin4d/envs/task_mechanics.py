"""TaskMechanics: a task's scene for our own mechanics.

What collides, weighs and moves is read from the task's definition: the same boxes and cylinders,
masses, joints and friction as MuJoCo has. The arm follows its commands until they take more force
than its motors have.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from scipy.spatial.transform import Rotation

from kin4d.bodies.articulated import ArticulatedBody
from kin4d.bodies.articulated_base import Link
from kin4d.bodies.capabilities import FloatingRoot, RigidLinks
from kin4d.bodies.floating import FloatingBase
from kin4d.bodies.inertial import Inertial
from kin4d.bodies.joint import Joint
from kin4d.dynamics.forces import Damping, Gravity, JointFriction
from kin4d.dynamics.materials import Material
from kin4d.dynamics.motion import PrescribedMotion
from kin4d.dynamics.scene import Actor, Scene
from kin4d.dynamics.scene_state import SceneState
from kin4d.envs.mujoco_env import body_poses_of
from kin4d.geometry.mesh import Mesh
from kin4d.geometry.primitives import box, cylinder
from kin4d.tasks.task_scene import TaskScene
from kin4d.tasks.trajectory import RATE

_BOX, _HINGE, _FREE = 6, 3, 0  # MuJoCo's numbers of a box, a hinge and a free joint
_GRIP_FORCE, _JOINT_FORCE = 25.0, 87.0  # N, N m: those of the servos in MuJoCo
# Handles are a centimetre thick, and fingers fit behind them: coarser shapes let fingers slip off
# them or catch in them.
_ARM_POINTS, _ARM_CELLS = 1000, 60
_FIXTURE_POINTS, _FIXTURE_CELLS = 2000, 80
# Friction of two bodies is the geometric mean: pads grip props with 1.6 and fixtures with 0.5,
# props slide on each other and on the table with 0.5.
_PADS = Material(name="pads", friction=5.12, damping=0.0, restitution=0.0)
_PROPS = Material(name="prop", friction=0.5, damping=0.0, restitution=0.0)
_FIXTURES = Material(name="fixture", friction=0.05, damping=0.0, restitution=0.0)


class TaskMechanics:
    """Actors and obstacles of a task, and where its bodies are in a state of them.

    Args:
        scene: The task.

    Attributes:
        scene: For `Simulator`; the arm is its first actor.
    """

    def __init__(self, scene: TaskScene) -> None:
        self._task, self._model = scene, scene.model
        self._start = body_poses_of(scene.reset())
        self._actors: dict[int, tuple[int, int]] = {}  # body: number of its actor, of its link
        actors, obstacles = [self._arm(scene.start[None])], list[Mesh]()
        for obj in scene.objects:
            numbers = [int(self._model.body(name).id) for name in obj.bodies]
            joints = [int(self._model.body_jntadr[one]) for one in numbers]
            if joints == [-1]:
                mesh = self._shape(numbers[0])
                obstacles += [] if mesh is None else [mesh.transformed(self._start[numbers[0]])]
                continue
            self._actors |= {body: (len(actors), link) for link, body in enumerate(numbers)}
            free = self._model.jnt_type[joints[-1]] == _FREE
            actors.append(self._prop(*numbers) if free else self._fixture(obj.name, *numbers))
        self.scene = Scene(actors, ground=0.0, obstacles=obstacles, gravity=False, surface=_PROPS)

    def motion(self, q: np.ndarray) -> PrescribedMotion:
        """The arm's commands [T, k] since the start, which is the first row."""
        arm = self._task.arm
        limit = dict.fromkeys(arm.body.coordinates, _JOINT_FORCE)
        limit[arm.body.coordinates[arm.grip]] = _GRIP_FORCE
        return PrescribedMotion(q, fps=RATE, max_force=limit)

    def body_poses(self, state: SceneState) -> np.ndarray:
        """[B, 4, 4] world poses of the task's bodies, in MuJoCo's order; the arm's are missing."""
        poses = self._start.copy()
        for body, (number, link) in self._actors.items():
            actor, q = self.scene.named_actors[number].body, torch.from_numpy(self.q(state, number))
            with torch.no_grad():
                if isinstance(actor, FloatingRoot):
                    poses[body] = actor.root_pose(q).numpy() @ self._start[body]
                else:
                    assert isinstance(actor, RigidLinks)
                    poses[body] = actor.link_poses(q)[link].numpy()
        return poses

    def q(self, state: SceneState, number: int = 0) -> np.ndarray:
        """[k] coordinates of an actor; of the arm by default."""
        return state.actors[number].phase.q.copy()

    def success(self, state: SceneState) -> bool:
        """Whether the task is done."""
        return bool(self._task.spec.success(MechanicsState(self._task, self, state)))

    def joint(self, name: str, state: SceneState) -> float:
        """Value of a fixture's joint, rad or m."""
        body = int(self._model.jnt_bodyid[self._model.joint(name).id])
        return float(self.q(state, self._actors[body][0])[0])

    def _arm(self, q: np.ndarray) -> Actor:
        arm = self._task.arm
        return Actor(
            arm.body,
            name="arm",
            material=_PADS,
            motion=self.motion(q),
            contact_links=tuple(arm.touch),
            contacts=_ARM_POINTS,
            contact_cells=_ARM_CELLS,
        )

    def _prop(self, body: int) -> Actor:
        name = self._model.body(body).name
        link = Link(name, self._shape(body), self._inertial(body))
        rigid = ArticulatedBody([link], [], root=self._start[body], name=name)
        return Actor(FloatingBase(rigid), name=name, material=_PROPS, forces=[Gravity()])

    def _fixture(self, name: str, base: int, part: int) -> Actor:
        """Base and part, without gravity: their weight is compensated."""
        model: Any = self._model
        number = model.joint(name).id
        revolute, column = model.jnt_type[number] == _HINGE, int(model.jnt_dofadr[number])
        origin = np.eye(4)
        origin[:3, 3] = model.body_pos[part]
        joint = Joint(
            name=name,
            kind="revolute" if revolute else "prismatic",
            parent="base",
            child="part",
            origin=origin,
            axis=model.jnt_axis[number],
            limits=tuple(model.jnt_range[number].tolist()),
        )
        armature, inertial = float(model.dof_armature[column]), self._inertial(part)
        inertial = Inertial(
            inertial.mass + (0.0 if revolute else armature),
            inertial.center,
            inertial.inertia + (armature * np.eye(3) if revolute else 0.0),
        )
        links = [Link("base", self._shape(base)), Link("part", self._shape(part), inertial)]
        body = ArticulatedBody(links, [joint], root=self._start[base], name=name)
        return Actor(
            body,
            name=name,
            material=_FIXTURES,
            q=[self._task.values[name]],
            forces=[
                Damping(viscosity=float(model.dof_damping[column])),
                JointFriction(float(model.dof_frictionloss[column])),
            ],
            contacts=_FIXTURE_POINTS,
            contact_cells=_FIXTURE_CELLS,
        )

    def _shape(self, body: int) -> Mesh | None:
        """What a body collides as, in its own frame."""
        model: Any = self._model
        meshes = []
        for geom in np.flatnonzero(model.geom_bodyid == body):
            size, pose = model.geom_size[geom], np.eye(4)
            solid = (
                box(tuple((2 * size).tolist()))
                if model.geom_type[geom] == _BOX
                else cylinder(size[0], 2 * size[1])
            )
            turn = Rotation.from_quat(model.geom_quat[geom], scalar_first=True)
            pose[:3, :3], pose[:3, 3] = turn.as_matrix(), model.geom_pos[geom]
            meshes.append(solid.transformed(pose))
        return Mesh.concatenate(meshes, name=model.body(body).name) if meshes else None

    def _inertial(self, body: int) -> Inertial:
        model: Any = self._model
        turn = Rotation.from_quat(model.body_iquat[body], scalar_first=True).as_matrix()
        moments = np.diag(model.body_inertia[body])
        return Inertial(
            float(model.body_mass[body]), np.array(model.body_ipos[body]), turn @ moments @ turn.T
        )


class MechanicsState:
    """What success tests ask (see `TaskState`), of a state of our mechanics.

    Args:
        task: The task.
        mechanics: Its actors.
        state: Where they are.
    """

    def __init__(self, task: TaskScene, mechanics: TaskMechanics, state: SceneState) -> None:
        self._task, self._mechanics, self._state = task, mechanics, state
        self._poses, self._q = mechanics.body_poses(state), mechanics.q(state)

    def pose(self, name: str) -> np.ndarray:
        """[4, 4] world pose of a body."""
        return self._poses[self._task.model.body(name).id]

    def position(self, name: str) -> np.ndarray:
        """[3] m: where a body's frame is."""
        return self.pose(name)[:3, 3]

    def joint(self, name: str) -> float:
        """Value of a fixture's joint, rad or m."""
        return self._mechanics.joint(name, self._state)

    @property
    def grasp(self) -> np.ndarray:
        """[3] m: where the grasp frame's origin is."""
        return self._task.arm.grasp_pose(self._q)[:3, 3]

    @property
    def opening(self) -> float:
        """Of the gripper: 0 closed to 1 open."""
        return self._task.arm.opening(self._q)
