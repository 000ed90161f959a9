"""NeuROK: a learned, low-dimensional kinematic state for any mesh."""

from kin4d.neurok.articulate import articulate as articulate
from kin4d.neurok.body import LearnedBody as LearnedBody
from kin4d.neurok.config import PRESETS as PRESETS
from kin4d.neurok.config import NeurokConfig as NeurokConfig
from kin4d.neurok.joint_distribution import JointDistribution as JointDistribution
from kin4d.neurok.joint_distribution import predict_joints as predict_joints
from kin4d.neurok.model import Neurok as Neurok
from kin4d.neurok.pretrained import from_pretrained as from_pretrained
from kin4d.neurok.pretrained import save_pretrained as save_pretrained
