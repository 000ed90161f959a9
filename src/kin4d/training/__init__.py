"""Training: one loop for every model here, and the checkpoints it can be killed and resumed by."""

from kin4d.training.checkpoint import load_tensors as load_tensors
from kin4d.training.checkpoint import save_tensors as save_tensors
from kin4d.training.loop import TrainConfig as TrainConfig
from kin4d.training.loop import train as train
