"""Kinds of creatures, each a random anatomy."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from kin4d.objects.creatures.anatomy import Anatomy
from kin4d.objects.creatures.gliders import bird, fish, snake
from kin4d.objects.creatures.walkers import biped, insect, quadruped

KINDS: dict[str, Callable[[np.random.Generator], Anatomy]] = {
    "biped": biped,
    "quadruped": quadruped,
    "bird": bird,
    "fish": fish,
    "snake": snake,
    "insect": insect,
}
"""Anatomies by kind."""

GLIDES = frozenset({"bird", "fish", "snake"})
"""Kinds that glide ahead; the others walk, with their feet on the ground."""
