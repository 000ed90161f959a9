"""load_policy: a policy by what a user types."""

from __future__ import annotations

import importlib
import sys
from pathlib import Path
from typing import Any, cast

from kin4d.errors import InputError
from kin4d.policies.policy import Policy
from kin4d.policies.websocket_policy import WebsocketPolicy

FORMS = (
    "the folder of a trained policy, ws://host:port, lerobot:PATH, module:callable, expert, "
    "expert:SIGMA (m)"
)


def load_policy(
    name: str, *, preset: str | None = None, timeout: float = 30.0, api_key: str | None = None
) -> Policy:
    """The policy of a name.

    Args:
        name: Folder or .safetensors file of `kin4d train policy`, "ws://host:port" (openpi or
            RoboArena server), "lerobot:PATH", "module:callable", or "expert", with noise as
            "expert:0.0057" (m per action).
        preset: Keys and units of a server; see `kin4d.policies.presets`.
        timeout: s that a server may take for an answer.
        api_key: For a server that asks for one.
    """
    if name.startswith(("ws://", "wss://")):
        return WebsocketPolicy(name, preset=preset, timeout=timeout, api_key=api_key)
    if preset is not None:
        raise InputError("only servers have presets", value=preset, hint="leave out --preset")
    if Path(name).is_dir() or name.endswith(".safetensors"):
        from kin4d.policies.learned.learned_policy import LearnedPolicy

        return LearnedPolicy(name)
    kind, _, rest = name.partition(":")
    if kind == "expert":
        from kin4d.policies.scripted import ScriptedPolicy

        return ScriptedPolicy(sigma=_sigma(rest) if rest else 0.0)
    if kind == "lerobot" and rest:
        from kin4d.policies.lerobot_policy import LerobotPolicy

        return LerobotPolicy(rest)
    if not kind or not rest:
        raise InputError("this does not name a policy", value=name, allowed=FORMS)
    return _imported(kind, rest)


def _sigma(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        raise InputError("noise of a scripted policy, m", value=text, allowed=">= 0") from None


def _imported(module: str, attribute: str) -> Policy:
    """A callable of a module, which may lie in the working directory."""
    if str(Path.cwd()) not in sys.path:
        sys.path.insert(0, str(Path.cwd()))
    try:
        found = importlib.import_module(module)
    except ImportError as error:
        raise InputError(f"cannot import a policy: {error}", value=module, allowed=FORMS) from error
    for name in attribute.split("."):
        if not hasattr(found, name):
            raise InputError(f"{module} has no '{attribute}'", allowed=FORMS)
        found = getattr(found, name)
    # A class is a policy once it is made; a function is one already.
    policy: Any = found() if isinstance(found, type) else found
    if callable(policy):
        return cast(Policy, policy)
    raise InputError(f"{module}:{attribute} is not callable", allowed="obs -> [H, D] actions")
