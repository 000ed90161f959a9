"""WebsocketPolicy: a policy behind an openpi or RoboArena server."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from kin4d.errors import InputError
from kin4d.policies.message_client import MessageClient
from kin4d.policies.policy import PolicyError
from kin4d.policies.presets import ActionContext, Preset, choose_preset


class WebsocketPolicy(MessageClient):
    """Sends observations to a server and returns its actions.

    A lost connection is opened again and the request repeated once; then a `PolicyError` is raised.

    Args:
        address: "ws://host:port".
        preset: Keys and units of the server; found in its metadata if None. See `PRESETS`.
        options: `timeout`, `connect_timeout` and `api_key`; see `MessageClient`.
    """

    def __init__(self, address: str, *, preset: str | None = None, **options: Any) -> None:
        super().__init__(
            address,
            error=PolicyError,
            serves="policy",
            start="kin4d serve-policy --policy expert --port 8000",
            attempts=2,
            **options,
        )
        try:
            self.preset: Preset = choose_preset(preset, self.metadata)
        except InputError:
            self.close()
            raise

    @property
    def control(self) -> str:
        """How its actions move the arm."""
        return self.preset.control

    def __call__(self, observation: Mapping[str, Any]) -> np.ndarray:
        """[H, D] actions in the environment's units."""
        answer = self.ask(self.preset.request(observation))
        actions = answer.get("actions") if isinstance(answer, dict) else answer
        if not isinstance(actions, np.ndarray) or actions.dtype.kind not in "fiu":
            raise PolicyError(
                "shape",
                f"the answer of {self.address} has no actions",
                value=sorted(map(str, answer)) if isinstance(answer, dict) else type(answer),
                allowed="an array under 'actions'",
            )
        return self.preset.actions(
            actions.astype(np.float64), ActionContext.of_observation(observation)
        )

    def reset(self) -> None:
        """Tell the server that an episode begins, if its protocol has a message for it."""
        if self.preset.reset_message is not None:
            self.ask(self.preset.reset_message, text=True)
