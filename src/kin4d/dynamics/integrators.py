"""Integrators: from one instant to the next. The variational one is meant; others compare.

All keep (q, p), p = G(q) dq/dt, so that impulses are simply added to p.
"""

from __future__ import annotations

from typing import Protocol

import numpy as np

from kin4d.dynamics.actor_state import ActorState
from kin4d.dynamics.barrier import barrier_slope
from kin4d.dynamics.phase_state import PhaseState
from kin4d.dynamics.small_linalg import apply_damping, solve_spd
from kin4d.dynamics.total_forces import TotalForces
from kin4d.errors import InputError


class Integrator(Protocol):
    """Three parts of a step; impulses (contacts, stops) may be added to p between the first two."""

    def begin(self, mover: ActorState, h: float) -> PhaseState:
        """What happens before impulses are known."""
        ...

    def move(
        self, mover: ActorState, phase: PhaseState, time: float, h: float
    ) -> PhaseState | None:
        """From `time` to time + h seconds; None if that fails."""
        ...

    def end(self, mover: ActorState, phase: PhaseState, h: float) -> PhaseState:
        """What happens at the new place, with `mover.loads` taken there."""
        ...


class Variational:
    """Kick, flow, kick: forces in halves around the discrete Euler-Lagrange step of `flow`.

    Args:
        order: 2 for one chord step, 4 for Yoshida's composition of three.
    """

    def __init__(self, order: int) -> None:
        if order not in (2, 4):
            raise InputError("order of the variational integrator", value=order, allowed="2 or 4")
        self.order = order

    def begin(self, mover: ActorState, h: float) -> PhaseState:
        """Half a kick."""
        return kicked(mover.phase, mover.loads, 0.5 * h)

    def move(
        self, mover: ActorState, phase: PhaseState, time: float, h: float
    ) -> PhaseState | None:
        """The conservative flow."""
        order = self.order if mover.map.compiled else 2
        return mover.flow(phase, h, mover.loads, order=order)

    def end(self, mover: ActorState, phase: PhaseState, h: float) -> PhaseState:
        """The other half of the kick."""
        return kicked(phase, mover.loads, 0.5 * h)


class _Ode:
    """Common part of the schemes that know no kicks."""

    def begin(self, mover: ActorState, h: float) -> PhaseState:
        """Nothing."""
        return mover.phase

    def end(self, mover: ActorState, phase: PhaseState, h: float) -> PhaseState:
        """Nothing."""
        return phase


class RungeKutta(_Ode):
    """The classical fourth-order scheme on G qdd + C(q, qd) = Q(t, q, qd), as in the paper."""

    def move(
        self, mover: ActorState, phase: PhaseState, time: float, h: float
    ) -> PhaseState | None:
        """Four evaluations."""
        q, qd = phase.q, phase.velocity
        k1 = acceleration(mover, q, qd, time, h)
        k2 = acceleration(mover, q + h / 2 * qd, qd + h / 2 * k1, time + h / 2, h)
        k3 = acceleration(mover, q + h / 2 * qd + h * h / 4 * k1, qd + h / 2 * k2, time + h / 2, h)
        k4 = acceleration(mover, q + h * qd + h * h / 2 * k2, qd + h * k3, time + h, h)
        return _phase(
            mover,
            q + h * qd + h * h / 6 * (k1 + k2 + k3),
            qd + h / 6 * (k1 + 2 * k2 + 2 * k3 + k4),
        )


class SemiImplicitEuler(_Ode):
    """qd first, then q with the new qd. Gains energy: inertial forces depend on velocity."""

    def move(
        self, mover: ActorState, phase: PhaseState, time: float, h: float
    ) -> PhaseState | None:
        """One evaluation."""
        qd = phase.velocity
        qd = qd + h * acceleration(mover, phase.q, qd, time, h)
        return _phase(mover, phase.q + h * qd, qd)


class ImplicitEuler(_Ode):
    """J(q1)^T (y1 - y0 - h dy0/dt) / h = h Q(q1): loses energy, as proximal steppers do."""

    def move(
        self, mover: ActorState, phase: PhaseState, time: float, h: float
    ) -> PhaseState | None:
        """Newton's method with the metric and the stiffness as Hessian."""
        qd = phase.velocity
        free = phase.y + h * (phase.jacobian @ qd)
        q = phase.q + h * qd
        for _ in range(50):
            y, jacobian = mover.map.embed(q)
            rate = (q - phase.q) / h
            trial = PhaseState.moving(q, rate, y, jacobian)
            loads = _loads(mover, trial, time + h, h)
            slope, curve = _potential(loads, q)
            force = loads.force + jacobian.T @ loads.weight - slope
            normal = trial.metric + h * h * curve
            resistance = loads.resistance(trial.metric)
            if resistance is not None:
                force = force - resistance @ rate
                normal = normal + h * resistance
            step = np.empty(len(q))
            if not solve_spd(normal, h * h * force - jacobian.T @ (y - free), step):
                return None
            q = q + step
            if not np.isfinite(step).all():
                return None
            if np.abs(step).max(initial=0.0) < 1e-11 * (1 + np.abs(q).max(initial=0.0)):
                break
        y, jacobian = mover.map.embed(q)
        return PhaseState(q, jacobian.T @ (y - phase.y) / h, y, jacobian)


INTEGRATORS = {
    "variational": Variational,
    "rk4": RungeKutta,
    "semi_implicit": SemiImplicitEuler,
    "implicit_euler": ImplicitEuler,
}


def kicked(phase: PhaseState, loads: TotalForces, seconds: float) -> PhaseState:
    """Momentum after the loads' force for some seconds; damping implicitly, so never too much."""
    p = phase.p + seconds * loads.force
    if loads.damping is None:
        decay = seconds * loads.decay
        p /= 1.0 + decay + 0.5 * decay * decay  # as in `apply_damping`
    else:
        p = apply_damping(phase.metric, p, loads.damping, loads.decay, seconds)
    return phase.with_momentum(p)


def acceleration(
    mover: ActorState, q: np.ndarray, qd: np.ndarray, time: float, h: float
) -> np.ndarray:
    """qdd [k] of the Euler-Lagrange equation with all loads."""
    y, jacobian = mover.map.embed(q)
    phase = PhaseState.moving(q, qd, y, jacobian)
    loads = _loads(mover, phase, time, h)
    slope, _ = _potential(loads, q)
    force = loads.force - slope + jacobian.T @ (loads.weight - curvature(mover, q, qd))
    resistance = loads.resistance(phase.metric)
    if resistance is not None:
        force = force - resistance @ qd
    out = np.empty(len(q))
    if not solve_spd(phase.metric, force, out):
        out[:] = np.nan
    return out


def curvature(mover: ActorState, q: np.ndarray, qd: np.ndarray) -> np.ndarray:
    """Second derivative `D2y[qd, qd]`, shape (n,); `J^T D2y[qd, qd]` is the Christoffel term.

    The one nested derivative is a fourth-order difference of J(q + s qd) qd in s, which agrees
    with automatic differentiation to about 1e-10 and needs only the compiled Jacobian.
    """
    speed = float(np.abs(qd).max(initial=0.0))
    if speed == 0:
        return np.zeros(mover.map.size)
    s = 1e-3 / speed
    near, far = (
        [mover.map.embed(q + sign * way * s * qd)[1] @ qd for sign in (1, -1)] for way in (1, 2)
    )
    return (8 * (near[0] - near[1]) - (far[0] - far[1])) / (12 * s)


def _loads(mover: ActorState, phase: PhaseState, time: float, h: float) -> TotalForces:
    window = (time - 1e-3 * h, time + 1e-3 * h)
    return mover.loads_at(phase, time, span=window, ahead=window)


def _potential(loads: TotalForces, q: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Slope [k] and second derivative [k, k] of the implicit potential."""
    slope, curve = loads.stiffness @ q - loads.pull, loads.stiffness.copy()
    for i, limit in enumerate(loads.soft_limits):
        first, second = barrier_slope(q[i], *limit)
        slope[i] += first
        curve[i, i] += second
    return slope, curve


def _phase(mover: ActorState, q: np.ndarray, qd: np.ndarray) -> PhaseState | None:
    if not (np.isfinite(q).all() and np.isfinite(qd).all()):
        return None
    y, jacobian = mover.map.embed(q)
    return PhaseState.moving(q, qd, y, jacobian)
