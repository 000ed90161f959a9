"""Integrators: from one instant to the next. All but the variational one are for comparison.

All keep (q, p), p = M(q) dq/dt, so that impulses are simply added to p.
"""

from __future__ import annotations

from typing import Protocol

import numpy as np

from kin4d.dynamics.barrier import barrier_slope
from kin4d.dynamics.compiled_actor import CompiledActor
from kin4d.dynamics.phase_state import PhaseState
from kin4d.dynamics.scene_state import ActorState
from kin4d.dynamics.small_linalg import apply_damping, solve_spd
from kin4d.dynamics.total_forces import TotalForces
from kin4d.errors import InputError


class Integrator(Protocol):
    """Three parts of a step; impulses (contacts, limits) are added to p between the first two."""

    def begin(self, state: ActorState, h: float) -> ActorState:
        """What happens before impulses are known."""
        ...

    def move(
        self, actor: CompiledActor, state: ActorState, time: float, h: float
    ) -> ActorState | None:
        """From `time` to time + h seconds; None if that fails."""
        ...

    def end(self, state: ActorState, h: float) -> ActorState:
        """What happens at the new configuration, with the forces there."""
        ...


class Variational:
    """Kick, drift, kick: forces in halves around the conservative `variational_step`.

    Args:
        order: 2 for one chord step, 4 for Yoshida's composition of three; None for what suits each
            body.
    """

    def __init__(self, order: int | None) -> None:
        if order not in (None, 2, 4):
            raise InputError("order of the variational integrator", value=order, allowed="2 or 4")
        self.order = order

    def begin(self, state: ActorState, h: float) -> ActorState:
        """Half a kick."""
        return kicked(state, 0.5 * h)

    def move(
        self, actor: CompiledActor, state: ActorState, time: float, h: float
    ) -> ActorState | None:
        """The conservative part."""
        order = self.order or actor.best_order
        if not actor.kinematics.compiled:
            order = 2
        return actor.conservative_step(state, h, order=order)

    def end(self, state: ActorState, h: float) -> ActorState:
        """The other half of the kick."""
        return kicked(state, 0.5 * h)


class _Ode:
    """Common part of the schemes without kicks."""

    def begin(self, state: ActorState, h: float) -> ActorState:
        """Nothing."""
        return state

    def end(self, state: ActorState, h: float) -> ActorState:
        """Nothing."""
        return state


class RungeKutta(_Ode):
    """The classical fourth-order scheme on M qdd + C(q, qd) = Q(t, q, qd), as in the paper."""

    def move(
        self, actor: CompiledActor, state: ActorState, time: float, h: float
    ) -> ActorState | None:
        """Four evaluations."""
        q, qd = state.phase.q, state.phase.velocity
        k1 = acceleration(actor, q, qd, time, h)
        k2 = acceleration(actor, q + h / 2 * qd, qd + h / 2 * k1, time + h / 2, h)
        k3 = acceleration(actor, q + h / 2 * qd + h * h / 4 * k1, qd + h / 2 * k2, time + h / 2, h)
        k4 = acceleration(actor, q + h * qd + h * h / 2 * k2, qd + h * k3, time + h, h)
        q = q + h * qd + h * h / 6 * (k1 + k2 + k3)
        return _moved(actor, state, q, qd + h / 6 * (k1 + 2 * k2 + 2 * k3 + k4))


class SemiImplicitEuler(_Ode):
    """qd first, then q with the new qd. Gains energy: inertial forces depend on velocity."""

    def move(
        self, actor: CompiledActor, state: ActorState, time: float, h: float
    ) -> ActorState | None:
        """One evaluation."""
        qd = state.phase.velocity
        qd = qd + h * acceleration(actor, state.phase.q, qd, time, h)
        return _moved(actor, state, state.phase.q + h * qd, qd)


class ImplicitEuler(_Ode):
    """J(q1)^T (y1 - y0 - h dy0/dt) / h = h Q(q1): loses energy, as proximal steppers do."""

    def move(
        self, actor: CompiledActor, state: ActorState, time: float, h: float
    ) -> ActorState | None:
        """Newton's method with the mass matrix and the stiffness as Hessian."""
        start, qd = state.phase.configuration, state.phase.velocity
        free = start.y + h * (start.jacobian @ qd)
        q = start.q + h * qd
        for _ in range(50):
            at, velocity = actor.kinematics.at(q), (q - start.q) / h
            trial = PhaseState.moving(at, velocity)
            forces = _forces(actor, trial, time + h, h)
            slope, second = _potential(forces, q)
            force = forces.force + at.jacobian.T @ forces.weight - slope
            normal = trial.mass_matrix + h * h * second
            damping = forces.damping_matrix(trial.mass_matrix)
            if damping is not None:
                force = force - damping @ velocity
                normal = normal + h * damping
            step = np.empty(len(q))
            if not solve_spd(normal, h * h * force - at.jacobian.T @ (at.y - free), step):
                return None
            q = q + step
            if not np.isfinite(step).all():
                return None
            if np.abs(step).max(initial=0.0) < 1e-11 * (1 + np.abs(q).max(initial=0.0)):
                break
        end = actor.kinematics.at(q)
        phase = PhaseState(end, end.jacobian.T @ (end.y - start.y) / h)
        return ActorState(phase, state.forces, state.halving)


INTEGRATORS = {
    "variational": Variational,
    "rk4": RungeKutta,
    "semi_implicit": SemiImplicitEuler,
    "implicit_euler": ImplicitEuler,
}


def kicked(state: ActorState, seconds: float) -> ActorState:
    """Momentum after the forces for some seconds; damping implicitly, so never too much."""
    forces, p = state.forces, state.phase.p + seconds * state.forces.force
    if forces.damping is None:
        decay = seconds * forces.decay
        p /= 1.0 + decay + 0.5 * decay * decay  # as in `apply_damping`
    else:
        p = apply_damping(state.phase.mass_matrix, p, forces.damping, forces.decay, seconds)
    return state.with_momentum(p)


def acceleration(
    actor: CompiledActor, q: np.ndarray, qd: np.ndarray, time: float, h: float
) -> np.ndarray:
    """qdd [k] of the Euler-Lagrange equation with all forces."""
    phase = PhaseState.moving(actor.kinematics.at(q), qd)
    forces, jacobian = _forces(actor, phase, time, h), phase.configuration.jacobian
    slope, _ = _potential(forces, q)
    force = forces.force - slope + jacobian.T @ (forces.weight - curvature(actor, q, qd))
    damping = forces.damping_matrix(phase.mass_matrix)
    if damping is not None:
        force = force - damping @ qd
    out = np.empty(len(q))
    if not solve_spd(phase.mass_matrix, force, out):
        out[:] = np.nan
    return out


def curvature(actor: CompiledActor, q: np.ndarray, qd: np.ndarray) -> np.ndarray:
    """D2y[qd, qd], [n] numbers whose pull-back J^T D2y[qd, qd] is the Christoffel term.

    The one nested derivative is a fourth-order difference of J(q + s qd) qd in s, which agrees
    with automatic differentiation to about 1e-10 and needs only the compiled Jacobian.
    """
    speed = float(np.abs(qd).max(initial=0.0))
    if speed == 0:
        return np.zeros(actor.kinematics.size)
    s = 1e-3 / speed
    near, far = (
        [actor.kinematics.embed(q + sign * steps * s * qd)[1] @ qd for sign in (1, -1)]
        for steps in (1, 2)
    )
    return (8 * (near[0] - near[1]) - (far[0] - far[1])) / (12 * s)


def _forces(actor: CompiledActor, phase: PhaseState, time: float, h: float) -> TotalForces:
    window = (time - 1e-3 * h, time + 1e-3 * h)
    return actor.forces_at(phase, time, span=window, ahead=window)


def _potential(forces: TotalForces, q: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Slope [k] and second derivative [k, k] of the implicit potential."""
    slope, second = forces.stiffness @ q - forces.constant_force, forces.stiffness.copy()
    for i, limit in enumerate(forces.soft_limits):
        limit_slope, limit_second = barrier_slope(q[i], *limit)
        slope[i] += limit_slope
        second[i, i] += limit_second
    return slope, second


def _moved(
    actor: CompiledActor, state: ActorState, q: np.ndarray, qd: np.ndarray
) -> ActorState | None:
    if not (np.isfinite(q).all() and np.isfinite(qd).all()):
        return None
    phase = PhaseState.moving(actor.kinematics.at(q), qd)
    return ActorState(phase, state.forces, state.halving)
