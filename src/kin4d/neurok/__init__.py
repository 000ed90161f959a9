"""NeuROK: a learned, low-dimensional kinematic state for any mesh."""

from kin4d.neurok.config import PRESETS as PRESETS
from kin4d.neurok.config import NeurokConfig as NeurokConfig
from kin4d.neurok.model import Neurok as Neurok
