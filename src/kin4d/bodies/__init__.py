"""Bodies: kinematic maps q -> x(q), known in closed form."""

from kin4d.bodies.analytic import hinge as hinge
from kin4d.bodies.analytic import pendulum as pendulum
from kin4d.bodies.analytic import slider_chain as slider_chain
from kin4d.bodies.articulated import ArticulatedBody as ArticulatedBody
from kin4d.bodies.articulated_base import Link as Link
from kin4d.bodies.body import Body as Body
from kin4d.bodies.body import bake as bake
from kin4d.bodies.body import sweep_joints as sweep_joints
from kin4d.bodies.floating import FloatingBase as FloatingBase
from kin4d.bodies.inertial import Inertial as Inertial
from kin4d.bodies.joint import Joint as Joint
from kin4d.bodies.joint import Mimic as Mimic
from kin4d.bodies.rigid import RigidBody as RigidBody
from kin4d.bodies.robot.attach import attach as attach
from kin4d.bodies.robot.attach import remove_link as remove_link
from kin4d.bodies.robot.registry import list_robots as list_robots
from kin4d.bodies.robot.registry import load_robot as load_robot
from kin4d.bodies.robot.robot_body import RobotBody as RobotBody
