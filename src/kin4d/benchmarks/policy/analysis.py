"""Tables and thresholds: how far imagination can stand in for the truth."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from kin4d.benchmarks.policy.contenders import Contender
from kin4d.benchmarks.report import Check, Report
from kin4d.policies.evaluate import EpisodeOutcome, compare_worlds
from kin4d.policies.statistics import bootstrap_interval, mmrv, pearson

_RESAMPLES = 1000


@dataclass(frozen=True, kw_only=True)
class Worlds:
    """Ids of the environments.

    Attributes:
        judged: Whose outcomes are judged.
        truth: Whose outcomes they should be.
    """

    judged: str
    truth: str


def policy_report(
    outcomes: Sequence[EpisodeOutcome], contenders: Sequence[Contender], worlds: Worlds
) -> Report:
    """All tables; controls are in tables of their own.

    Args:
        outcomes: Of all contenders from the same starts in both worlds.
        contenders: The policies.
        worlds: Their names.
    """
    kind = {one.name: one.kind for one in contenders}
    compared = [one for one in outcomes if kind[one.policy] != "control"]
    report = Report()
    report.rows += _rows(compared, worlds, "policy", kind)
    report.rows += _rows(compared, worlds, "task", kind)
    found = compare_worlds(compared, simulated=worlds.judged, real=worlds.truth)
    if not found["episodes"]:
        report.notes.append("no episode was finished in both worlds")
        return report
    success = _paired_success(compared, worlds)
    report.rows += _judges(success, found)
    report.rows += _correlations(compared, kind, worlds)
    report.rows += _controls(outcomes, kind, worlds)
    report.rows += _cells(compared, worlds)
    low, high = _cluster_interval(success, lambda s, r: float(np.abs(s - r).mean()))
    r_low, r_high = _cluster_interval(success, _correlation)
    report.ratios = {
        "episodes": found["episodes"],
        "both succeed": found["both"],
        "imagined success, true failure": found["simulated_only"],
        "imagined failure, true success": found["real_only"],
        "both fail": found["neither"],
        "success gap": found["gap"],
        "success gap, low": found["gap_interval"][0],
        "success gap, high": found["gap_interval"][1],
        "mean absolute gap, low": low,
        "mean absolute gap, high": high,
        "pearson under resampled starts, low": r_low,
        "pearson under resampled starts, high": r_high,
    }
    r = found["pearson"] or {"value": math.nan, "leave_one_out": (math.nan, math.nan)}
    starts = len({(one.task, one.seed) for one in compared})
    tasks = len({one.task for one in compared})
    names = {one.policy for one in compared}
    report.checks = [
        Check("mean absolute success gap", found["mean_absolute_gap"], 0.05),
        Check("Pearson r over policies", r["value"], 0.9, at_least=True),
        Check("lowest r with one policy left out", r["leave_one_out"][0], 0.8, at_least=True),
        Check("MMRV", found["mmrv"], 0.05),
        Check("failure optimism", found["failure_optimism"], 0.20),
        Check("trained policies", sum(kind[one] == "trained" for one in names), 10, at_least=True),
        Check("scripted policies", sum(kind[one] == "scripted" for one in names), 5, at_least=True),
        Check("tasks", tasks, 8, at_least=True),
        Check("starts of each task", starts / tasks, 50, at_least=True),
    ]
    errors = sum(bool(one.error) for one in compared)
    report.notes += [
        f"{errors} of {len(compared)} episodes were ended by an error and left out of both worlds.",
        "Scripted policies share one expert: they are not independent of each other.",
    ]
    return report


def _rows(
    outcomes: Sequence[EpisodeOutcome], worlds: Worlds, by: str, kind: dict[str, str]
) -> list[dict[str, Any]]:
    """Success in both worlds, by policy or by task, with bootstrap intervals."""
    rows = []
    for name in dict.fromkeys(getattr(one, by) for one in outcomes):
        row: dict[str, Any] = {by: name} | ({"kind": kind[name]} if by == "policy" else {})
        for label, world in (("true", worlds.truth), ("imagined", worlds.judged)):
            own = [one for one in outcomes if getattr(one, by) == name and one.env == world]
            values = [float(one.success) for one in own if not one.error]
            low, high = bootstrap_interval(values) if values else (math.nan, math.nan)
            row |= {
                f"{label}": float(np.mean(values)) if values else math.nan,
                f"{label} low": low,
                f"{label} high": high,
            }
        row["gap"] = row["imagined"] - row["true"]
        rows.append({**row, "episodes": len(own)})
    return rows


def _cells(outcomes: Sequence[EpisodeOutcome], worlds: Worlds) -> list[dict[str, Any]]:
    """The same for each policy and task."""
    cells = []
    for task in dict.fromkeys(one.task for one in outcomes):
        own = [one for one in outcomes if one.task == task]
        rows = _rows(own, worlds, "policy", {one.policy: "" for one in own})
        for row in rows:
            row.pop("kind")
            cells.append({"cell": f"{task}, {row.pop('policy')}", **row})
    return cells


def _paired_success(outcomes: Sequence[EpisodeOutcome], worlds: Worlds) -> np.ndarray:
    """[2, policies, starts] imagined and true success; NaN where one of the two is missing."""
    policies = list(dict.fromkeys(one.policy for one in outcomes))
    starts = list(dict.fromkeys((one.task, one.seed) for one in outcomes))
    found = np.full((2, len(policies), len(starts)), np.nan)
    for one in outcomes:
        if not one.error and one.env in (worlds.judged, worlds.truth):
            row = int(one.env == worlds.truth)
            found[row, policies.index(one.policy), starts.index((one.task, one.seed))] = one.success
    found[:, np.isnan(found).any(0)] = np.nan
    return found


def _cluster_interval(success: np.ndarray, statistic: Any) -> tuple[float, float]:
    """95 % interval when starts are drawn again, each with all its policies."""
    rng, values = np.random.default_rng(0), []
    known = np.asarray(~np.isnan(success).any(axis=0))
    filled = np.where(known, success, 0.0)
    for _ in range(_RESAMPLES):
        rows = rng.integers(success.shape[2], size=success.shape[2])
        count = known[:, rows].sum(1)
        if (count == 0).any():
            continue
        s, r = filled[:, :, rows].sum(2) / count
        values.append(statistic(s, r))
    finite = [value for value in values if math.isfinite(value)] or [math.nan]
    low, high = np.percentile(finite, [2.5, 97.5])
    return float(low), float(high)


def _correlation(s: np.ndarray, r: np.ndarray) -> float:
    return pearson(s.tolist(), r.tolist()).value if len(s) > 2 else math.nan


def _judges(success: np.ndarray, found: dict[str, Any]) -> list[dict[str, Any]]:
    """Imagination beside judges that see no rollout."""
    r = np.nanmean(success[1], 1)
    mean = np.full_like(r, r.mean())
    nothing = {"pearson": math.nan, "failure optimism": math.nan}
    return [
        {
            "judge": "imagination",
            "same outcome": found["accuracy"],
            "mean absolute gap": found["mean_absolute_gap"],
            "MMRV": found["mmrv"],
            "pearson": found["pearson"]["value"] if found["pearson"] else math.nan,
            "failure optimism": found["failure_optimism"],
        },
        {
            "judge": "blind: the commoner outcome, the mean of all policies",
            "same outcome": found["blind_floor"],
            "mean absolute gap": found["blind_gap"],
            "MMRV": mmrv(mean.tolist(), r.tolist()),
            **nothing,
        },
        {
            "judge": "trivial: the mean of each task",
            "same outcome": found["task_mean_accuracy"],
            "mean absolute gap": found["blind_gap"],
            "MMRV": mmrv(mean.tolist(), r.tolist()),
            **nothing,
        },
    ]


def _correlations(
    outcomes: Sequence[EpisodeOutcome], kind: dict[str, str], worlds: Worlds
) -> list[dict[str, Any]]:
    """Pearson and Spearman over all policies, and over trained ones alone."""
    rows = []
    for name, kinds in (("all", ("trained", "scripted")), ("trained", ("trained",))):
        own = [one for one in outcomes if kind[one.policy] in kinds]
        found = compare_worlds(own, simulated=worlds.judged, real=worlds.truth)
        if not found["episodes"] or found["pearson"] is None:
            continue
        for measure in ("pearson", "spearman"):
            one = found[measure]
            rows.append(
                {
                    "policies": f"{name}: {one['policies']}",
                    "correlation": measure,
                    "value": one["value"],
                    "one left out, low": one["leave_one_out"][0],
                    "one left out, high": one["leave_one_out"][1],
                    "Fisher low": one["interval"][0],
                    "Fisher high": one["interval"][1],
                    "smallest p": one["smallest_p"],
                    "MMRV": found["mmrv"],
                }
            )
    return rows


def _controls(
    outcomes: Sequence[EpisodeOutcome], kind: dict[str, str], worlds: Worlds
) -> list[dict[str, Any]]:
    """What happens if the expert's actions are swapped for those of another start, or for none."""
    rows = []
    for name in ("expert", *(one for one, what in kind.items() if what == "control")):
        rates = {
            world: [one.success for one in outcomes if (one.policy, one.env) == (name, world)]
            for world in (worlds.truth, worlds.judged)
        }
        if all(rates.values()):
            true, imagined = (float(np.mean(one)) for one in rates.values())
            rows.append({"actions": name, "true success": true, "imagined success": imagined})
    return rows
