"""Names: one public name for one thing, and retired words that do not come back."""

from __future__ import annotations

import ast
import gc
import re
from collections import defaultdict
from pathlib import Path

SOURCE = Path(__file__).parents[1] / "src" / "kin4d"
HOOKS = {"run", "main"}
"""Functions that every module of a kind has under the same name."""
RETIRED = """
seer gauge painter lesson specimen nobody imaginer teller claimant hair mended retold steadied dice
told mover
""".split()  # noqa: SIM905
MAPS_OLD_NAMES = {"renamed.py", "neurok/pretrained.py", "world/diffusion/latent_video.py"}
"""Files that read what earlier versions wrote, or say what an earlier name is now."""


def public_definitions() -> dict[str, list[str]]:
    """Files that define each public class or top-level function."""
    found = defaultdict(list)
    for file in sorted(SOURCE.rglob("*.py")):
        for node in _parsed(file).body:
            if isinstance(node, ast.ClassDef | ast.FunctionDef) and not node.name.startswith("_"):
                found[node.name].append(str(file.relative_to(SOURCE)))
    return found


def _parsed(file: Path) -> ast.Module:
    """CPython 3.11 counts recursion wrongly if what other tests left is collected meanwhile."""
    gc.disable()
    try:
        return ast.parse(file.read_text())
    finally:
        gc.enable()


def test_no_public_name_is_defined_twice() -> None:
    twice = {name: files for name, files in public_definitions().items() if len(files) > 1}
    assert {name: files for name, files in twice.items() if name not in HOOKS} == {}


def test_retired_words_do_not_come_back() -> None:
    words = re.compile(rf"\b({'|'.join(RETIRED)})s?\b", re.IGNORECASE)
    root = SOURCE.parents[1]
    exempt = {SOURCE / name for name in MAPS_OLD_NAMES}
    exempt |= {Path(__file__), root / "tests" / "test_renamed.py"}
    files = [*SOURCE.rglob("*.py"), *(root / "tests").rglob("*.py"), *(root / "docs").rglob("*.md")]
    found = [
        f"{file.relative_to(root)}:{number}: {line.strip()}"
        for file in sorted({*files, root / "README.md"} - exempt)
        for number, line in enumerate(file.read_text().splitlines(), 1)
        if words.search(line.replace("_", " "))
    ]
    assert found == []
