"""Bodies: kinematic maps q -> x(q), known in closed form."""

from kin4d.bodies.analytic import hinge as hinge
from kin4d.bodies.analytic import pendulum as pendulum
from kin4d.bodies.analytic import slider_chain as slider_chain
from kin4d.bodies.body import Body as Body
from kin4d.bodies.body import play as play
from kin4d.bodies.body import sweep as sweep
from kin4d.bodies.floating import Floating as Floating
from kin4d.bodies.inertial import Inertial as Inertial
from kin4d.bodies.joint import Joint as Joint
from kin4d.bodies.joint import Mimic as Mimic
from kin4d.bodies.linked import Link as Link
from kin4d.bodies.mount import mount as mount
from kin4d.bodies.mount import prune as prune
from kin4d.bodies.rigid import RigidBody as RigidBody
from kin4d.bodies.robot import RobotBody as RobotBody
from kin4d.bodies.robot_names import load_robot as load_robot
from kin4d.bodies.robot_names import robot_names as robot_names
from kin4d.bodies.tree import TreeBody as TreeBody
