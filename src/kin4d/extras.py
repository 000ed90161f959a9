"""Optional dependencies: imported on use, and a missing one says exactly what to install."""

from __future__ import annotations

import importlib
from types import ModuleType

from kin4d.errors import MissingExtraError


def require(module: str, *, extra: str, purpose: str) -> ModuleType:
    """Import `module`, or raise `MissingExtraError` naming the extra that brings it.

    Args:
        module: Dotted module name, e.g. ``"pxr.Usd"``.
        extra: The extra of this package that installs it, e.g. ``"usd"``.
        purpose: What the user was trying to do, e.g. ``"writing USD"``.
    """
    try:
        return importlib.import_module(module)
    except ImportError as error:
        raise MissingExtraError(
            f"{purpose} needs the optional package '{module.partition('.')[0]}': {error}",
            hint=f'run: pip install "kin4d[{extra}]"',
        ) from error
