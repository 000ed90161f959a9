"""DrivenActor: an actor that follows a prescribed motion, made ready to step."""

from __future__ import annotations

import numpy as np

from kin4d.dynamics.compiled_actor import CompiledActor
from kin4d.dynamics.config import StepConfig
from kin4d.dynamics.forces import Limits
from kin4d.dynamics.phase_state import PhaseState
from kin4d.dynamics.scene import Actor
from kin4d.dynamics.scene_state import ActorState


class DrivenActor(CompiledActor):
    """Its coordinates are where the motion says. Towards impulses they are infinitely heavy, but
    for the yielding ones: these move with their own inertia, and a motor of limited force takes
    them to where they should be (a row of `ContactSolver`).

    Args:
        actor: An actor with a motion.
        config: See `CompiledActor`.

    Attributes:
        yielding: [n] coordinates whose force is limited.
        max_force: [n] N m or N.
    """

    def __init__(self, actor: Actor, config: StepConfig) -> None:
        assert actor.motion is not None
        self.motion = actor.motion
        limits = actor.motion.force_limits(actor.body)
        self.yielding = np.flatnonzero(np.isfinite(limits))
        self.max_force = limits[self.yielding]
        bounds = np.tile([-np.inf, np.inf], (len(limits), 1))
        bounds[self.yielding] = actor.body.limits.numpy()[self.yielding]
        own = [Limits(restitution=0.0, bounds=bounds)] if len(self.yielding) else []
        super().__init__(actor, own, config)

    def pushed(self, state: ActorState, impulse: np.ndarray) -> ActorState:
        """The state after generalised impulses [k]: only what yields changes its speed."""
        if not len(self.yielding):
            return state
        velocity = state.phase.velocity.copy()
        velocity[self.yielding] += self._yielding_inverse(state) @ impulse[self.yielding]
        return state.with_momentum(state.phase.mass_matrix @ velocity)

    def write_inverse_mass(self, state: ActorState, h: float, out: np.ndarray) -> None:
        """[k, k]: zero but for what yields."""
        if len(self.yielding):
            out[np.ix_(self.yielding, self.yielding)] = self._yielding_inverse(state)

    def motor_targets(self, time: float) -> np.ndarray:
        """[n] where the yielding coordinates should be, within their limits."""
        low, high = self.actor.body.limits.numpy()[self.yielding].T
        return np.clip(self.motion.at(time)[self.yielding], low, high)

    def follow(self, state: ActorState, time: float, h: float) -> ActorState:
        """The state `h` seconds after `time`: straight to where the motion leads."""
        start = state.phase
        velocity = (self.motion.at(time + h) - start.q) / h
        velocity[self.yielding] = start.velocity[self.yielding]
        configuration = self.kinematics.at(start.q + h * velocity)
        return ActorState(PhaseState.moving(configuration, velocity), state.forces, state.halving)

    def _yielding_inverse(self, state: ActorState) -> np.ndarray:
        return np.linalg.inv(state.phase.mass_matrix[np.ix_(self.yielding, self.yielding)])
