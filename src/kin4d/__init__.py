"""kin4d makes still things move: 4D geometry that obeys kinematics.

Names are imported on first use, so that ``import kin4d`` costs nothing.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

__version__ = "0.1.0"

if TYPE_CHECKING:
    from kin4d.bodies.body import Body as Body
    from kin4d.bodies.body import bake as bake
    from kin4d.bodies.body import sweep_joints as sweep_joints
    from kin4d.bodies.floating import FloatingBase as FloatingBase
    from kin4d.bodies.rigid import RigidBody as RigidBody
    from kin4d.bodies.robot.registry import load_robot as load_robot
    from kin4d.bodies.robot.robot_body import RobotBody as RobotBody
    from kin4d.dynamics.forces import Damping as Damping
    from kin4d.dynamics.forces import Gravity as Gravity
    from kin4d.dynamics.forces import Push as Push
    from kin4d.dynamics.forces import Torque as Torque
    from kin4d.dynamics.forces import Wind as Wind
    from kin4d.dynamics.materials import Material as Material
    from kin4d.dynamics.motion import PrescribedMotion as PrescribedMotion
    from kin4d.dynamics.scene import Actor as Actor
    from kin4d.dynamics.scene import Scene as Scene
    from kin4d.dynamics.simulate import simulate as simulate
    from kin4d.episodes.episode import Episode as Episode
    from kin4d.errors import InputError as InputError
    from kin4d.errors import Kin4dError as Kin4dError
    from kin4d.export import write_clip as write_clip
    from kin4d.export.articulated import write_articulated as write_articulated
    from kin4d.export.html import clip_html as clip_html
    from kin4d.fitting.fit import fit as fit
    from kin4d.geometry.camera import Camera as Camera
    from kin4d.geometry.clip import Clip as Clip
    from kin4d.geometry.mesh import Mesh as Mesh
    from kin4d.geometry.pointmap import PointmapVideo as PointmapVideo
    from kin4d.kinematics.actions import Actions as Actions
    from kin4d.kinematics.ik import solve_ik as solve_ik
    from kin4d.loading import load as load
    from kin4d.neurok.articulate import articulate as articulate
    from kin4d.neurok.body import LearnedBody as LearnedBody
    from kin4d.render.pointmaps import render_bodies as render_bodies
    from kin4d.render.pointmaps import render_clip as render_clip
    from kin4d.scenes.read import load_scene as load_scene
    from kin4d.viewer.player import show as show
    from kin4d.world.imagine import imagine as imagine
    from kin4d.world.imagine import imagine_episode as imagine_episode
    from kin4d.world.model import load_world_model as load_world_model

_HOME = {
    "Actions": "kinematics.actions",
    "Actor": "dynamics.scene",
    "Body": "bodies.body",
    "Camera": "geometry.camera",
    "Clip": "geometry.clip",
    "Damping": "dynamics.forces",
    "Episode": "episodes.episode",
    "FloatingBase": "bodies.floating",
    "Gravity": "dynamics.forces",
    "InputError": "errors",
    "Kin4dError": "errors",
    "LearnedBody": "neurok.body",
    "Material": "dynamics.materials",
    "Mesh": "geometry.mesh",
    "PointmapVideo": "geometry.pointmap",
    "PrescribedMotion": "dynamics.motion",
    "Push": "dynamics.forces",
    "RigidBody": "bodies.rigid",
    "RobotBody": "bodies.robot.robot_body",
    "Scene": "dynamics.scene",
    "Torque": "dynamics.forces",
    "Wind": "dynamics.forces",
    "load": "loading",
    "load_scene": "scenes.read",
    "load_world_model": "world.model",
    "articulate": "neurok.articulate",
    "fit": "fitting.fit",
    "imagine": "world.imagine",
    "imagine_episode": "world.imagine",
    "load_robot": "bodies.robot.registry",
    "bake": "bodies.body",
    "clip_html": "export.html",
    "render_bodies": "render.pointmaps",
    "render_clip": "render.pointmaps",
    "show": "viewer.player",
    "simulate": "dynamics.simulate",
    "solve_ik": "kinematics.ik",
    "sweep_joints": "bodies.body",
    "write_articulated": "export.articulated",
    "write_clip": "export",
}

__all__ = ["__version__", *sorted(_HOME)]  # pyright: ignore[reportUnsupportedDunderAll]


def __getattr__(name: str):
    if name not in _HOME:
        from kin4d.renamed import NAMES

        now = f": it is called kin4d.{NAMES[name]} now" if name in NAMES else ""
        raise AttributeError(f"module 'kin4d' has no attribute '{name}'{now}")
    value = getattr(importlib.import_module(f"kin4d.{_HOME[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
