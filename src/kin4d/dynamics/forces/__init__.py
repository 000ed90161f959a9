"""Forces: small objects with one method. Adding one is adding one file."""

from kin4d.dynamics.forces.actuator import Actuator as Actuator
from kin4d.dynamics.forces.damping import Damping as Damping
from kin4d.dynamics.forces.drag import DragConstraint as DragConstraint
from kin4d.dynamics.forces.force import ActorConstants as ActorConstants
from kin4d.dynamics.forces.force import Force as Force
from kin4d.dynamics.forces.force import ForceContext as ForceContext
from kin4d.dynamics.forces.force import ForceTerms as ForceTerms
from kin4d.dynamics.forces.gravity import Gravity as Gravity
from kin4d.dynamics.forces.joint_friction import JointFriction as JointFriction
from kin4d.dynamics.forces.limits import Limits as Limits
from kin4d.dynamics.forces.membrane import Membrane as Membrane
from kin4d.dynamics.forces.push import Push as Push
from kin4d.dynamics.forces.spring import Spring as Spring
from kin4d.dynamics.forces.torque import Torque as Torque
from kin4d.dynamics.forces.wind import Wind as Wind
