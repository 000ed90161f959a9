"""Episodes: what a robot did, its camera saw and the instruction, in metres; stores and formats."""

from kin4d.episodes.episode import FRAMES, Episode
from kin4d.episodes.store import EpisodeStore
from kin4d.episodes.timing import resample_episode

__all__ = ["FRAMES", "Episode", "EpisodeStore", "resample_episode"]
