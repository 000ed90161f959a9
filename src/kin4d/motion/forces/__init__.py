"""Forces: small objects with one method. Adding one is adding one file."""

from kin4d.motion.forces.actuator import Actuator as Actuator
from kin4d.motion.forces.damping import Damping as Damping
from kin4d.motion.forces.force import Force as Force
from kin4d.motion.forces.force import Load as Load
from kin4d.motion.forces.force import State as State
from kin4d.motion.forces.gravity import Gravity as Gravity
from kin4d.motion.forces.handle import Handle as Handle
from kin4d.motion.forces.limits import Limits as Limits
from kin4d.motion.forces.membrane import Membrane as Membrane
from kin4d.motion.forces.push import Push as Push
from kin4d.motion.forces.stiffness import Stiffness as Stiffness
from kin4d.motion.forces.torque import Torque as Torque
from kin4d.motion.forces.wind import Wind as Wind
