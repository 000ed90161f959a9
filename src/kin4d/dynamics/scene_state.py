"""SceneState: everything that a step starts from and ends in."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from kin4d.dynamics.phase_state import PhaseState
from kin4d.dynamics.total_forces import TotalForces


class Halving(NamedTuple):
    """How an actor's steps are halved where soft limits set in.

    Attributes:
        depth: Steps are made of 2^depth shorter ones.
        steps_left: For so many steps to come; then depth falls by one.
    """

    depth: int = 0
    steps_left: int = 0


class ActorState(NamedTuple):
    """One actor at one instant.

    Attributes:
        phase: Coordinates and momentum.
        forces: What acts on it.
        halving: How its steps are halved.
    """

    phase: PhaseState
    forces: TotalForces
    halving: Halving

    def with_momentum(self, p: np.ndarray) -> ActorState:
        """The same with another momentum [k]."""
        return ActorState(self.phase.with_momentum(p), self.forces, self.halving)


class WarmStart(NamedTuple):
    """Impulses [C, 3] (N s) of the last step on the contact points of a pair's first shape, in
    contact frames: those on positions and those on velocities, see `ContactSolver`."""

    position: np.ndarray
    velocity: np.ndarray


class SceneState(NamedTuple):
    """All actors of a scene at one instant. A step makes a new one and changes none.

    Attributes:
        time: Seconds.
        force_window: Seconds before and after `time` for which forces are taken.
        actors: In the order of the scene.
        warm_starts: One per pair of shapes that can touch.
        contact_counts: [actors] how many points of each touched in the last step.
    """

    time: float
    force_window: tuple[float, float]
    actors: tuple[ActorState, ...]
    warm_starts: tuple[WarmStart, ...]
    contact_counts: np.ndarray

    def to_arrays(self) -> dict[str, np.ndarray]:
        """Everything as named arrays, for `numpy.savez`; `Simulator.from_arrays` reads them."""
        out = {
            "time": np.array([self.time, *self.force_window]),
            "contact_counts": self.contact_counts,
            "halving": np.array([state.halving for state in self.actors]),
        }
        for i, state in enumerate(self.actors):
            for name, array in zip(PHASE_ARRAYS, state.phase.arrays, strict=True):
                out[f"actor{i}/{name}"] = array
            for name, array in state.forces.to_arrays().items():
                out[f"actor{i}/forces/{name}"] = array
        for i, warm in enumerate(self.warm_starts):
            out[f"pair{i}"] = np.stack(warm)
        return out


PHASE_ARRAYS = ("q", "p", "y", "jacobian", "mass_matrix")
"""Names of `PhaseState.arrays`."""
