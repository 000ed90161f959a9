"""StepConfig and ContactConfig: what can be set about steps and contacts, with defaults."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True)
class ChordTolerances:
    """When a chord step is exact, and short, enough; see `chord_step`.

    Attributes:
        solution: Squared distance to the solution that may be left, of the step's own length.
        limit_energy: Energy that soft limits may add or take in a step, of the kinetic energy.
        curvature: Height of the path over its chord, of the chord's length.
    """

    solution: float
    limit_energy: float
    curvature: float

    @property
    def values(self) -> tuple[float, float, float]:
        """As compiled code takes them."""
        return self.solution, self.limit_energy, self.curvature


@dataclass(frozen=True, kw_only=True)
class StepConfig:
    """How steps are checked and halved. Lengths are relative to an actor's bounding-box diagonal.

    Attributes:
        second_order: Tolerances of the second-order step: its own error is far larger than what
            they leave of a solution.
        fourth_order: Those of the fourth-order one: it loses its order where soft limits set in
            suddenly or light parts turn sharply.
        max_halvings: How often a step that fails is halved before the run counts as diverged.
        max_kept_halvings: How many halvings for soft limits are kept for the steps that follow.
        kept_steps: How many steps they are kept for: a step and its reverse must be halved alike,
            or energy is lost at every bounce.
        max_tolerance_halvings: How often a step is halved to meet a tolerance.
        velocity_horizon: Seconds; errors of velocity count as the distance they lead to in it.
        limit_rest_distance: rad or m; coordinates that near to a hard limit count as resting there
            when a step is compared with its halves.
        max_speed: m/s, and bounding-box diagonals per second, above which a run has diverged.
    """

    second_order: ChordTolerances = ChordTolerances(
        solution=1e-13, limit_energy=float("inf"), curvature=0.15
    )
    fourth_order: ChordTolerances = ChordTolerances(
        solution=1e-24, limit_energy=3e-6, curvature=0.05
    )
    max_halvings: int = 8
    max_kept_halvings: int = 4
    kept_steps: int = 2400
    max_tolerance_halvings: int = 12
    velocity_horizon: float = 0.05
    limit_rest_distance: float = 1e-6
    max_speed: float = 1e4


@dataclass(frozen=True, kw_only=True)
class ContactConfig:
    """How contacts, hard limits and position targets are found and solved.

    Lengths are relative to an actor's bounding-box diagonal unless a unit is given.

    Attributes:
        margin: Points nearer to a shape than this are candidates.
        max_contacts: Contacts kept of one pair: enough for a rigid face and for what deforms.
        max_contacts_per_joint: How many more for each joint: every link may lie on the ground.
        max_overlap: Deeper than this at the start is refused as a mistake.
        recovery_speed: 1/s, at which smaller overlaps are let out.
        limit_recovery_rate: 1/s, part of the excess over a hard limit that is taken back, at most.
        iterations: How often a step is repeated with new impulses: they follow from a linear
            picture, and the motion may curve.
        sweeps: Sweeps of projected Gauss-Seidel over all constraints, at most.
        accuracy: By which contacts may be violated per step.
        near: rad or m from a hard limit, or relative distance to a target, that counts as there.
        max_target_error: By which a point may miss its position target before the step fails.
    """

    margin: float = 0.02
    max_contacts: int = 8
    max_contacts_per_joint: int = 2
    max_overlap: float = 0.01
    recovery_speed: float = 0.1
    limit_recovery_rate: float = 50.0
    iterations: int = 4
    sweeps: int = 100
    accuracy: float = 3e-7
    near: float = 1e-4
    max_target_error: float = 0.01
