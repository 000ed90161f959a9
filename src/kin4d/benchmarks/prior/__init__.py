"""What a mesh can do: a mesh in a random state, no target; which motions does a method predict?

With two baselines, one model and the truth an object takes about four seconds of two busy cores: a
set of 60 takes four minutes.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from kin4d.benchmarks.prior.baselines import BASELINES, Predictor, Weights
from kin4d.benchmarks.prior.cases import prior_case_specs
from kin4d.benchmarks.prior.run import run_prior_cases
from kin4d.benchmarks.prior.tables import prior_report
from kin4d.benchmarks.report import Report
from kin4d.neurok.joint_pretrained import MODEL
from kin4d.training.weights import weights_file


def run(
    *,
    quick: bool,
    seed: int,
    objects: Sequence[Path] = (),
    weights: Sequence[str] = ("small",),
    images: Path | None = None,
    split: str = "test",
    count: int = 60,
) -> Report:
    """Every row on every set of objects.

    Args:
        quick: Four objects of each set.
        seed: Of the choice of objects, states and samples.
        objects: Folders of URDF objects; Articraft's is split by category, others are used whole.
        weights: Models to evaluate with `kin4d.articulate`; the thresholds are about the first.
        images: A folder for contact sheets of what the first model predicts.
        split: "test", or "dev" for choosing.
        count: Objects of each set.
    """
    digests = {Path(name).stem: _digest(name) for name in weights}
    rows = [Predictor(Path(name).stem, Weights(name)) for name in weights]
    specs = prior_case_specs(count=4 if quick else count, objects=objects, split=split, seed=seed)
    results, left_out = run_prior_cases(
        specs, [*BASELINES, *rows], seed=seed, workers=0 if quick else None
    )
    report = prior_report(results, main=rows[0].name if rows else "")
    report.notes += left_out
    report.weights = digests
    if images is not None and rows:
        from kin4d.benchmarks.prior.images import draw_predictions

        draw_predictions(images, specs, rows[0], seed=seed, count=2 if quick else 10)
    return report


def _digest(name: str) -> str:
    """16 hex digits of the SHA-256 of a weights file."""
    import hashlib

    return hashlib.sha256(weights_file(name, MODEL).read_bytes()).hexdigest()[:16]
