"""Creatures without end: skeletons of several kinds with random proportions, in one smooth skin."""

from kin4d.objects.creatures.creature import Creature, make_creature
from kin4d.objects.creatures.kinds import KINDS

__all__ = ["KINDS", "Creature", "make_creature"]
