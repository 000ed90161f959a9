"""Statistics of a judge: do outcomes in a simulated world agree with outcomes in the real one?

"Simulated" is the world that is judged (here: imagination), "real" the one it should agree with
(here: MuJoCo). Success rates are means over episodes, one number for each policy.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from kin4d.errors import InputError

_RESAMPLES = 2000


def mmrv(simulated: Sequence[float], real: Sequence[float]) -> float:
    """Mean maximum rank violation of policies' success rates: 0 if the order is right.

    For each policy, the largest real gap to a policy that the simulation puts on the wrong side of
    it; the mean over policies (SIMPLER, arXiv 2405.05941). Not symmetric in its arguments.
    """
    s, r = _paired(simulated, real, least=1)
    gap = np.abs(r[:, None] - r[None])
    violated = (s[:, None] > s[None]) != (r[:, None] > r[None])
    return float((gap * violated).max(1).mean())


@dataclass(frozen=True, kw_only=True)
class Correlation:
    """A correlation over policies, and how far it can be trusted.

    Attributes:
        value: From -1 to 1; NaN if all simulated or all real rates are equal.
        policies: How many it is of.
        leave_one_out: Lowest and highest value when any one policy is left out.
        interval: 95 % by Fisher's z with k - 3 degrees of freedom; NaN for fewer than four.
        smallest_p: 1 / k!, the smallest p a permutation test of k policies can give.
    """

    value: float
    policies: int
    leave_one_out: tuple[float, float]
    interval: tuple[float, float]
    smallest_p: float


def pearson(simulated: Sequence[float], real: Sequence[float]) -> Correlation:
    """Linear correlation of success rates."""
    return _correlation(simulated, real, _linear)


def spearman(simulated: Sequence[float], real: Sequence[float]) -> Correlation:
    """Correlation of the ranks of success rates; ties share their mean rank."""
    return _correlation(simulated, real, lambda s, r: _linear(_ranks(s), _ranks(r)))


@dataclass(frozen=True, kw_only=True)
class Agreement:
    """Outcomes of the same episodes in two worlds.

    Attributes:
        episodes: How many.
        both: Successes in both.
        simulated_only: Successes in simulation that fail in reality.
        real_only: Successes in reality that fail in simulation.
        neither: Failures in both.
    """

    episodes: int
    both: int
    simulated_only: int
    real_only: int
    neither: int

    @property
    def accuracy(self) -> float:
        """Share of episodes with the same outcome."""
        return (self.both + self.neither) / self.episodes

    @property
    def gap(self) -> float:
        """Success rate in simulation minus that in reality."""
        return (self.simulated_only - self.real_only) / self.episodes

    @property
    def failure_optimism(self) -> float:
        """Share of real failures that simulation calls a success; NaN without failures."""
        failures = self.simulated_only + self.neither
        return self.simulated_only / failures if failures else math.nan

    @property
    def blind_floor(self) -> float:
        """Accuracy of a judge that never sees a rollout and gives the commoner real outcome."""
        successes = self.both + self.real_only
        return max(successes, self.episodes - successes) / self.episodes


def agreement(simulated: Sequence[bool], real: Sequence[bool]) -> Agreement:
    """Count the outcomes of episodes that begin alike in both worlds."""
    s, r = (np.asarray(values, bool) for values in (simulated, real))
    if s.shape != r.shape or s.ndim != 1 or not len(s):
        raise InputError(
            "outcomes of the two worlds", value=(s.shape, r.shape), allowed="[N >= 1] of each"
        )
    return Agreement(
        episodes=len(s),
        both=int((s & r).sum()),
        simulated_only=int((s & ~r).sum()),
        real_only=int((~s & r).sum()),
        neither=int((~s & ~r).sum()),
    )


def blind_gap(real: Sequence[float]) -> float:
    """Mean absolute gap of a judge that gives every policy the mean real success rate."""
    rates = np.asarray(real, np.float64)
    return float(np.abs(rates - rates.mean()).mean())


def bootstrap_interval(
    *samples: Sequence[float],
    statistic: Callable[..., float] = lambda values: float(np.mean(values)),
    resamples: int = _RESAMPLES,
    seed: int = 0,
) -> tuple[float, float]:
    """95 % percentile interval of a statistic under resampling of episodes.

    Args:
        samples: One or more sequences of equal length; their rows are drawn together.
        statistic: Of the resampled sequences; their mean by default.
        resamples: How often.
        seed: Of the draws.
    """
    columns = [np.asarray(values, np.float64) for values in samples]
    if not columns or not len(columns[0]) or len({len(values) for values in columns}) > 1:
        raise InputError("samples to resample", allowed="equally many of each, at least one")
    rng = np.random.default_rng(seed)
    rows = rng.integers(0, len(columns[0]), (resamples, len(columns[0])))
    found = [statistic(*(values[row] for values in columns)) for row in rows]
    low, high = np.nanpercentile(found, [2.5, 97.5])
    return float(low), float(high)


def _correlation(
    simulated: Sequence[float],
    real: Sequence[float],
    measure: Callable[[np.ndarray, np.ndarray], float],
) -> Correlation:
    s, r = _paired(simulated, real, least=3)
    count, value = len(s), measure(s, r)
    without = [measure(np.delete(s, i), np.delete(r, i)) for i in range(count)]
    known = [one for one in without if math.isfinite(one)] or [math.nan]
    return Correlation(
        value=value,
        policies=count,
        leave_one_out=(min(known), max(known)),
        interval=_fisher_interval(value, count),
        smallest_p=1 / math.factorial(count),
    )


def _fisher_interval(value: float, count: int) -> tuple[float, float]:
    if count < 4 or not math.isfinite(value):
        return math.nan, math.nan
    if abs(value) >= 1:
        return value, value
    reach = 1.959964 / math.sqrt(count - 3)
    z = math.atanh(value)
    return math.tanh(z - reach), math.tanh(z + reach)


def _linear(s: np.ndarray, r: np.ndarray) -> float:
    s, r = s - s.mean(), r - r.mean()
    size = math.sqrt(float(s @ s) * float(r @ r))
    return float(np.clip(s @ r / size, -1, 1)) if size > 1e-12 else math.nan


def _ranks(values: np.ndarray) -> np.ndarray:
    below = (values[:, None] > values[None]).sum(1)
    return below + 0.5 * ((values[:, None] == values[None]).sum(1) - 1)


def _paired(
    simulated: Sequence[float], real: Sequence[float], *, least: int
) -> tuple[np.ndarray, np.ndarray]:
    s, r = (np.asarray(values, np.float64) for values in (simulated, real))
    if s.shape != r.shape or s.ndim != 1 or len(s) < least:
        raise InputError(
            "success rates of policies",
            value=(s.shape, r.shape),
            allowed=f"[k >= {least}] simulated and as many real ones",
        )
    if not (np.isfinite(s).all() and np.isfinite(r).all()):
        raise InputError("success rates hold NaN or infinite values")
    return s, r
