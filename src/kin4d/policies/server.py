"""PolicyServer: any policy over the openpi websocket protocol."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import numpy as np

from kin4d.policies.message_server import MessageServer
from kin4d.policies.policy import Policy, policy_control


class PolicyServer(MessageServer):
    """Answers observations with a policy's actions.

    Args:
        policy: The policy; it is called by one connection at a time.
        metadata: Sent besides our own.
        options: `host`, `port` and `api_key`; see `MessageServer`.
    """

    def __init__(
        self, policy: Policy, *, metadata: dict[str, Any] | None = None, **options: Any
    ) -> None:
        own = {"preset": "kin4d", "control": policy_control(policy)}
        super().__init__(metadata={**own, **(metadata or {})}, **options)
        self.policy = policy

    def open_session(self) -> Callable[[Any], Any]:
        """All connections share the policy."""
        return self._actions

    def _actions(self, observation: Any) -> dict[str, Any]:
        start = time.perf_counter()
        with self._lock:
            actions = np.asarray(self.policy(observation))
        taken = 1e3 * (time.perf_counter() - start)
        return {"actions": actions, "server_timing": {"infer_ms": taken}}
