"""The one-way flow of DESIGN: a package imports only packages above it in the table."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

SOURCE = Path(__file__).parents[1] / "src" / "kin4d"
HELPERS = {"errors", "extras", "files", "isolation", "progress", "reading", "request_guard"}
# In order: a package imports only packages above it, and of those only the ones listed.
MAY_IMPORT = {
    "geometry": set(),
    "training": set(),
    "storage": set(),
    "bodies": {"geometry"},
    "export": {"geometry", "bodies"},
    "kinematics": {"geometry", "bodies"},
    "dynamics": {"geometry", "bodies", "kinematics"},
    "render": {"geometry", "bodies"},
    "calibration": {"geometry", "bodies", "kinematics", "render"},
    "neurok": {"geometry", "bodies", "training"},
    "fitting": {"geometry", "bodies", "kinematics", "neurok"},
    "episodes": {"geometry", "storage", "export", "bodies", "kinematics", "render", "calibration"},
    "world": {
        "geometry",
        "training",
        "export",
        "bodies",
        "kinematics",
        "render",
        "calibration",
        "episodes",
    },
    "objects": {"geometry", "storage", "bodies", "render", "neurok"},
    "tasks": {"geometry", "storage", "kinematics", "render", "episodes", "objects"},
    "scenes": {"geometry", "export", "bodies", "kinematics", "dynamics", "episodes"},
}
ABOVE_ALL = {"policies", "envs", "benchmarks", "viewer", "cli"}


def imported_packages(file: Path) -> set[str]:
    """First components of every ``kin4d.X`` that `file` imports, wherever in the file."""
    found = set()
    for node in ast.walk(ast.parse(file.read_text())):
        if isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{file}: relative import; write the full name"
            names = [f"{node.module}.{alias.name}" for alias in node.names]
        elif isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        else:
            continue
        found |= {name.split(".")[1] for name in names if name.startswith("kin4d.")}
    return found


def test_imports_follow_the_layout() -> None:
    known = set(MAY_IMPORT) | ABOVE_ALL
    wrong = []
    for file in SOURCE.rglob("*.py"):
        package = file.relative_to(SOURCE).parts[0]
        if package.endswith(".py"):
            continue
        assert package in known, f"{package} is not in the layout table"
        allowed = MAY_IMPORT.get(package, known) | {package} | HELPERS | {"__version__"}
        wrong += [f"{file}: {name}" for name in imported_packages(file) & (known - allowed)]
    assert wrong == []


def test_table_has_no_cycles() -> None:
    above: set[str] = set()
    for package, allowed in MAY_IMPORT.items():
        assert allowed <= above, f"{package} may import {allowed - above}, which come after it"
        above.add(package)


def test_helpers_import_only_helpers() -> None:
    for name in HELPERS:
        assert imported_packages(SOURCE / f"{name}.py") <= HELPERS


def test_no_source_file_is_too_long() -> None:
    lengths = {file: len(file.read_text().splitlines()) for file in SOURCE.rglob("*.py")}
    assert {str(file): n for file, n in lengths.items() if n > 400} == {}


def test_import_is_light() -> None:
    code = (
        "import sys, time; start = time.perf_counter(); import kin4d; "
        "print(time.perf_counter() - start, 'torch' in sys.modules, kin4d.Mesh.__name__, "
        "'torch' in sys.modules)"
    )
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    seconds, torch_early, name, torch_late = out.stdout.split()
    assert float(seconds) < 0.3
    assert (torch_early, name, torch_late) == ("False", "Mesh", "False")


def test_every_public_name_resolves() -> None:
    import kin4d

    assert [name for name in kin4d.__all__ if not hasattr(kin4d, name)] == []
