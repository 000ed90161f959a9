"""The child process: reads damaged inputs one by one under a limit of memory, and says how each
ended. It may die of one; the parent goes on with another child."""

from __future__ import annotations

import json
import os
import shutil
import sys
import tempfile
import traceback
import warnings
from pathlib import Path
from typing import Any

import numpy as np

from kin4d.benchmarks.reliability.loaders import LOADERS
from kin4d.benchmarks.reliability.mutations import mutate
from kin4d.errors import Kin4dError

MEMORY = 2 * 1024**3
"""Bytes that reading one input may take."""


def main() -> None:
    """Arguments: a loader and a folder. Each line is the seed of an input, answered by a line."""
    name, home = sys.argv[1], Path(sys.argv[2])
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # what libraries print is not an answer
    warnings.simplefilter("ignore")
    valid = Path(tempfile.mkdtemp(prefix="valid", dir=home))
    target = LOADERS[name].write(valid)
    # Modules and kernels are loaded before limits are set.
    LOADERS[name].load(target)
    _limit_memory()
    print("ready", file=answers, flush=True)
    for line in sys.stdin:
        start = _processor_time()
        outcome = _one(name, int(line), valid, target.relative_to(valid), home / "input")
        outcome["seconds"] = _processor_time() - start
        print(json.dumps(outcome), file=answers, flush=True)


def _processor_time() -> float:
    """s, with that of children that have ended."""
    return sum(os.times()[:4])


def _limit_memory() -> None:
    import resource

    pages = int(Path("/proc/self/statm").read_text().split()[0])
    most = pages * os.sysconf("SC_PAGE_SIZE") + MEMORY
    _, hard = resource.getrlimit(resource.RLIMIT_AS)
    resource.setrlimit(resource.RLIMIT_AS, (most, hard))


def _one(name: str, seed: int, valid: Path, target: Path, folder: Path) -> dict[str, Any]:
    shutil.rmtree(folder, ignore_errors=True)
    shutil.copytree(valid, folder)
    how = mutate(folder, np.random.default_rng(seed))
    try:
        LOADERS[name].load(folder / target)
        return {"end": "result", "how": how}
    except Kin4dError as error:
        return {"end": "refused", "how": how, "what": str(error)[:300]}
    except (Exception, SystemExit) as error:
        frames = traceback.extract_tb(error.__traceback__)
        ours = [f"{Path(f.filename).name}:{f.lineno}" for f in frames if "kin4d" in f.filename]
        place = ours[-1] if ours else "?"
        return {
            "end": "stray",
            "how": how,
            "what": f"{type(error).__name__}: {error}"[:300],
            "at": place,
        }


if __name__ == "__main__":
    main()
