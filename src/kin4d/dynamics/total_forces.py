"""TotalForces: the sum of all forces on an actor at one instant."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from kin4d.dynamics.forces.force import Force, ForceContext


@dataclass(slots=True)
class TotalForces:
    """See `ForceTerms` for the parts.

    Attributes:
        force: [k] generalised force of everything that is neither weight nor implicit.
        weight: [n] covector on the embedding.
        constant_force: [k] and stiffness [k, k] of the implicit part.
        stiffness: See constant_force.
        soft_limits: [k, 4].
        damping: [k, k] or None, and `decay` (1/s): a force -(damping + decay M) dq/dt.
        decay: See damping.
        hard_limits: [k, 3] or None.
        position_targets: (index of the surface point, position [3] m) of each.
        energy: Joules.
    """

    force: np.ndarray
    weight: np.ndarray
    constant_force: np.ndarray
    stiffness: np.ndarray
    soft_limits: np.ndarray
    damping: np.ndarray | None = None
    decay: float = 0.0
    hard_limits: np.ndarray | None = None
    position_targets: tuple[tuple[int, np.ndarray], ...] = ()
    energy: float = 0.0

    def copy(self) -> TotalForces:
        """The same, to add to."""
        # Written out: once per actor and step, a loop over the fields costs three times as much.
        return TotalForces(
            self.force, self.weight, self.constant_force, self.stiffness, self.soft_limits,
            self.damping, self.decay, self.hard_limits, self.position_targets, self.energy,
        )  # fmt: skip

    def to_arrays(self) -> dict[str, np.ndarray]:
        """Everything as named arrays; what is None is left out."""
        out = {"decay": np.array(self.decay), "energy": np.array(self.energy)}
        for name in FORCE_ARRAYS:
            if (array := getattr(self, name)) is not None:
                out[name] = array
        out["target_index"] = np.array([index for index, _ in self.position_targets], np.int64)
        out["target"] = np.array([point for _, point in self.position_targets]).reshape(-1, 3)
        return out

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, np.ndarray]) -> TotalForces:
        """What `to_arrays` gave."""
        return cls(
            **{name: arrays[name] for name in FORCE_ARRAYS if name in arrays},
            decay=float(arrays["decay"]),
            energy=float(arrays["energy"]),
            position_targets=tuple(
                zip(arrays["target_index"].tolist(), arrays["target"], strict=True)
            ),
        )

    def damping_matrix(self, mass_matrix: np.ndarray) -> np.ndarray | None:
        """[k, k] all damping where the mass matrix is given; None if there is none."""
        if not self.decay:
            return self.damping
        return self.decay * mass_matrix + (0.0 if self.damping is None else self.damping)


FORCE_ARRAYS = (
    "force", "weight", "constant_force", "stiffness", "soft_limits", "damping", "hard_limits"
)  # fmt: skip
"""Fields of `TotalForces` that are arrays, or None."""


class ForceAccumulator:
    """Sums forces; the constant ones are evaluated here, once.

    Args:
        forces: Everything that acts on an actor, prepared for it.
        start: The actor at the start of the run.
    """

    def __init__(self, forces: Sequence[Force], start: ForceContext) -> None:
        kinematics, k = start.kinematics, len(start.q)
        zero = TotalForces(
            force=np.zeros(k),
            weight=np.zeros(kinematics.size),
            constant_force=np.zeros(k),
            stiffness=np.zeros((k, k)),
            soft_limits=np.tile([-np.inf, np.inf, 0.0, 1.0], (k, 1)),
        )
        self._changing = [force for force in forces if not force.constant]
        self._base = self._add(zero, [force for force in forces if force.constant], start)
        # The energy of a weight is linear in y: `total` adds it where y is known.
        self._base.energy += float(self._base.weight @ start.phase.configuration.y)

    def total(self, context: ForceContext) -> TotalForces:
        """Everything that acts at one instant."""
        out = self._add(self._base, self._changing, context)
        out.energy -= float(self._base.weight @ context.phase.configuration.y)
        return out

    def _add(self, base: TotalForces, forces: list[Force], context: ForceContext) -> TotalForces:
        out = base.copy()
        for force in forces:
            terms = force.load(context)
            out.energy += terms.energy
            out.decay += terms.decay
            if terms.weight is not None:
                out.weight = out.weight + context.kinematics.pull_back(terms.weight)
                out.energy -= float(np.vdot(terms.weight, context.points))
            if terms.points is not None:
                covector = context.kinematics.pull_back(terms.points)
                out.force = out.force + context.phase.configuration.jacobian.T @ covector
            if terms.coordinates is not None:
                out.force = out.force + terms.coordinates
            if terms.attached is not None:
                out.force = out.force + terms.attached @ context.attached_point(force)[1]
            if terms.elements is not None:
                out.force = out.force + terms.elements.ravel() @ context.element_jacobians
            if (added := terms.stiffness) is not None:
                out.stiffness = out.stiffness + (np.diag(added) if added.ndim == 1 else added)
            if terms.constant_force is not None:
                out.constant_force = out.constant_force + terms.constant_force
            if terms.damping is not None:
                out.damping = terms.damping if out.damping is None else out.damping + terms.damping
            if terms.soft_limits is not None:
                out.soft_limits = terms.soft_limits
            if terms.hard_limits is not None:
                out.hard_limits = terms.hard_limits
            if terms.position_target is not None:
                target = (context.attachment_index(force), terms.position_target)
                out.position_targets = (*out.position_targets, target)
        return out
