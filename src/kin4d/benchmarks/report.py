"""Report: what a benchmark found, and whether it met its thresholds."""

from __future__ import annotations

import importlib
import platform
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from importlib import metadata
from typing import Any

import kin4d

_RECORDED = (
    "torch",
    "numpy",
    "numba",
    "trimesh",
    "mujoco",
    "pin",
    "usd-core",
    "embreex",
    "mink",
    "warp-lang",
)


@dataclass(frozen=True)
class Check:
    """A measured value against a threshold.

    Attributes:
        name: What was promised, in words.
        value: What was measured.
        threshold: The largest value allowed, or the smallest.
        at_least: Whether larger is better (value >= threshold) or smaller.
    """

    name: str
    value: float
    threshold: float
    at_least: bool = False

    @property
    def passed(self) -> bool:
        """Whether the threshold was met."""
        return self.value >= self.threshold if self.at_least else self.value <= self.threshold

    def to_dict(self) -> dict[str, Any]:
        """JSON-ready form."""
        return {**asdict(self), "pass": self.passed}


@dataclass
class Report:
    """The result of one benchmark.

    Attributes:
        rows: The table: one flat dict per row, the same keys in each table.
        ratios: Figures relative to a reference measured in the same run.
        checks: One per threshold.
        notes: What a reader must know to read the table.
        weights: Hash of the weights used, by model name.
    """

    rows: list[dict[str, Any]] = field(default_factory=list)
    ratios: dict[str, float] = field(default_factory=dict)
    checks: list[Check] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    weights: dict[str, str] = field(default_factory=dict)

    def to_dict(self, *, name: str, seed: int, quick: bool, options: str = "") -> dict[str, Any]:
        """JSON-ready form with everything needed to repeat the run.

        `options` are those of the command that only this benchmark has.
        """
        return {
            "bench": name,
            "command": f"kin4d bench {name}{options}{' --quick' if quick else ''} --seed {seed}",
            "seed": seed,
            "quick": quick,
            "rows": self.rows,
            "ratios": self.ratios,
            "checks": [check.to_dict() for check in self.checks],
            "notes": self.notes,
            "weights": self.weights,
            "versions": versions(),
            "machine": machine(),
        }


def run_parts(package: str, parts: Sequence[str], *, quick: bool, seed: int) -> Report:
    """Run the modules `parts` of a package and join their reports, each row with its part."""
    whole = Report()
    for part in parts:
        report = importlib.import_module(f"{package}.{part}").run(quick=quick, seed=seed)
        whole.rows += [{"part": part, **row} for row in report.rows]
        whole.ratios |= report.ratios
        whole.checks += report.checks
        whole.notes += report.notes
        whole.weights |= report.weights
    return whole


def group_rows(rows: list[dict[str, Any]]) -> list[tuple[tuple[str, ...], list[dict[str, Any]]]]:
    """Rows grouped by their columns, in order of appearance."""
    groups: dict[tuple[str, ...], list[dict[str, Any]]] = {}
    for row in rows:
        groups.setdefault(tuple(row), []).append(row)
    return [*groups.items()]


def versions() -> dict[str, str]:
    """Versions of kin4d, Python and the libraries that matter, where installed."""
    found = {"kin4d": kin4d.__version__, "python": platform.python_version()}
    for package in _RECORDED:
        try:
            found[package] = metadata.version(package)
        except metadata.PackageNotFoundError:
            continue
    return found


def machine() -> dict[str, Any]:
    """What the numbers were measured on."""
    import os

    return {
        "system": platform.system(),
        "processor": _processor(),
        "cores": os.cpu_count(),
    }


def _processor() -> str:
    from pathlib import Path

    info = Path("/proc/cpuinfo")
    if info.is_file():
        for line in info.read_text().splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    return platform.processor() or platform.machine()
