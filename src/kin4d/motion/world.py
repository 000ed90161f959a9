"""World: all movers of a scene, stepped together."""

from __future__ import annotations

import numpy as np

from kin4d.motion.contact.response import Contacts
from kin4d.motion.integrators import Integrator
from kin4d.motion.mover import Diverged, Mover, Phase
from kin4d.motion.scene import Scene

_FAST = 1e4  # m/s, and sizes per second: nothing here moves so fast.


class World:
    """The running state of a scene.

    Args:
        scene: What takes part.
        integrator: How to step.
        h: Seconds per step.
    """

    def __init__(self, scene: Scene, integrator: Integrator, h: float) -> None:
        self.scene, self.integrator, self.h, self.time = scene, integrator, h, 0.0
        shared = scene.shared_forces
        self.movers = [Mover(actor, actor.all_forces(shared)) for actor in scene.cast]
        for mover in self.movers:
            self._load(mover, mover.phase)
        self.contacts = Contacts(scene, self.movers)

    def step(self) -> None:
        """All movers from `time` to time + h."""
        h, integrator = self.h, self.integrator
        begun = [integrator.begin(mover, h) for mover in self.movers]
        ended = [self._move(*pair) for pair in zip(self.movers, begun, strict=True)]
        ended = self.contacts.resolve(begun, ended, h, self._move)
        self.time += h
        for mover, phase in zip(self.movers, ended, strict=True):
            phase = mover.rechart(phase)
            self._load(mover, phase)
            mover.phase = integrator.end(mover, phase, h)
            self._check(mover)

    def _move(self, mover: Mover, begun: Phase) -> Phase:
        phase = self.integrator.move(mover, begun, self.time, self.h)
        if phase is None:
            raise Diverged(f"no solution for the coordinates of '{mover.actor.name}'")
        return phase

    def _load(self, mover: Mover, phase: Phase) -> None:
        half, now = 0.5 * self.h, self.time
        mover.loads = mover.loads_at(
            phase,
            mover.rates(phase),
            now,
            span=(max(now - half, 0.0), now + half),
            ahead=(now, now + self.h),
        )

    def energies(self) -> list[tuple[float, float]]:
        """Kinetic and potential energy (J) of each mover; `Diverged` if one has exploded."""
        out = []
        for mover in self.movers:
            kinetic = mover.kinetic(mover.phase)
            speed = np.sqrt(2 * kinetic / mover.map.mass.sum())
            if not speed < max(_FAST, _FAST * mover.size):
                raise Diverged(f"the kinetic energy of '{mover.actor.name}' is {kinetic:.3g} J")
            out.append((kinetic, mover.loads.energy))
        return out

    def _check(self, mover: Mover) -> None:
        """Raise `Diverged` if a quantity is not finite."""
        phase, name = mover.phase, mover.actor.name
        if np.isfinite(float(phase.q @ phase.q) + float(phase.p @ phase.p)):
            return
        for what, values in (("coordinates", phase.q), ("momentum", phase.p)):
            if not np.isfinite(values).all():
                coordinate = mover.actor.body.coordinates[int((~np.isfinite(values)).argmax())]
                raise Diverged(f"{what} of '{name}' are not finite, first '{coordinate}'")
