"""Statistics against published values, scipy, and cases counted by hand."""

import math

import numpy as np
import pytest
from scipy import stats

from kin4d.errors import InputError
from kin4d.policies.statistics import (
    agreement,
    blind_gap,
    bootstrap_interval,
    mmrv,
    pearson,
    spearman,
)

# SIMPLER's pick_coke_can: rt-2-x, rt-1-converged, rt-1-15pct, rt-1-x, rt-1-begin, octo-base.
REAL = (0.907, 0.853, 0.920, 0.760, 0.133, 0.293)
SIMULATED = (0.787, 0.857, 0.710, 0.567, 0.027, 0.170)


def test_published_values() -> None:
    assert mmrv(SIMULATED, REAL) == pytest.approx(0.0313, abs=5e-5)
    assert mmrv(REAL, SIMULATED) == pytest.approx(0.0618, abs=5e-5)
    assert pearson(SIMULATED, REAL).value == pytest.approx(0.9754, abs=5e-5)
    assert mmrv(REAL, REAL) == 0


def test_correlations_agree_with_scipy() -> None:
    rng = np.random.default_rng(0)
    for count in (4, 7, 12):
        real = rng.integers(0, 6, count) / 5  # with ties
        simulated = 0.7 * real + 0.3 * rng.random(count)
        found, expected = pearson(simulated, real), stats.pearsonr(simulated, real)
        assert found.value == pytest.approx(expected.statistic)
        interval = expected.confidence_interval(0.95)
        assert found.interval == pytest.approx((interval.low, interval.high), abs=1e-6)
        assert spearman(simulated, real).value == pytest.approx(
            stats.spearmanr(simulated, real).statistic
        )


def test_leaving_one_out_and_the_smallest_p() -> None:
    # Four policies that disagree, and one far away that makes the correlation.
    simulated, real = (0.1, 0.2, 0.1, 0.2, 1.0), (0.2, 0.1, 0.1, 0.2, 1.0)
    found = pearson(simulated, real)
    assert found.value > 0.95
    assert found.leave_one_out[0] == pytest.approx(0.0, abs=1e-12)
    assert found.leave_one_out[1] >= found.value
    assert (found.policies, found.smallest_p) == (5, 1 / 120)
    assert np.isnan(pearson((0.1, 0.2, 0.3), (0.1, 0.2, 0.3)).interval).all()
    assert math.isnan(pearson((0.5, 0.5, 0.5), (0.1, 0.2, 0.3)).value)
    assert pearson((0.1, 0.2, 0.3, 0.4), (0.1, 0.2, 0.3, 0.4)).interval[1] == pytest.approx(1)


def test_confusion_of_outcomes() -> None:
    simulated = [True, True, True, False, False]
    real = [True, False, False, True, False]
    found = agreement(simulated, real)
    assert (found.both, found.simulated_only, found.real_only, found.neither) == (1, 2, 1, 1)
    assert found.accuracy == pytest.approx(0.4)
    assert found.gap == pytest.approx(0.2)
    assert found.failure_optimism == pytest.approx(2 / 3)
    assert found.blind_floor == pytest.approx(0.6)
    assert math.isnan(agreement([True], [True]).failure_optimism)


def test_blind_gap() -> None:
    assert blind_gap([0.2, 0.4, 0.9]) == pytest.approx((0.3 + 0.1 + 0.4) / 3)


def test_bootstrap_interval_is_that_of_scipy() -> None:
    values = (np.random.default_rng(1).random(50) < 0.7).astype(float)
    expected = stats.bootstrap(
        (values,), np.mean, method="percentile", n_resamples=2000, rng=np.random.default_rng(2)
    ).confidence_interval
    found = bootstrap_interval(values)
    assert found == pytest.approx((expected.low, expected.high), abs=0.03)
    assert bootstrap_interval(values) == found
    differences = bootstrap_interval(values, values, statistic=lambda a, b: float((a - b).mean()))
    assert differences == (0, 0)


@pytest.mark.parametrize(
    ("simulated", "real"),
    [((0.1, 0.2), (0.1, 0.2)), ((0.1, 0.2, 0.3), (0.1, 0.2)), ((0.1, np.nan, 0.3), (0, 0, 1))],
)
def test_what_has_no_correlation(simulated: tuple, real: tuple) -> None:
    with pytest.raises(InputError, match="success rates"):
        pearson(simulated, real)
    with pytest.raises(InputError, match="outcomes"):
        agreement([], [])
