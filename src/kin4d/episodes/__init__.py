"""Episodes: what a robot did, saw and was told, in metres; their store, and others' layouts."""

from kin4d.episodes.episode import FRAMES, Episode
from kin4d.episodes.store import EpisodeStore
from kin4d.episodes.timing import resample_episode

__all__ = ["FRAMES", "Episode", "EpisodeStore", "resample_episode"]
