"""WebsocketPolicy: a policy behind an openpi or RoboArena server, with time-outs and reconnects."""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import Any

import numpy as np

from kin4d.errors import InputError
from kin4d.extras import require
from kin4d.policies.array_messages import pack_message, unpack_message
from kin4d.policies.policy import PolicyError
from kin4d.policies.presets import ActionContext, Preset, choose_preset

_RETRY = 0.2  # s between attempts to connect


class WebsocketPolicy:
    """Sends observations to a server and returns its actions.

    A lost connection is opened again and the request repeated once; then a `PolicyError` is raised.
    After a time-out the connection is dropped, so that a late answer is never taken for the next.

    Args:
        address: "ws://host:port".
        preset: Keys and units of the server; found in its metadata if None. See `PRESETS`.
        timeout: s that the server may take for an answer.
        connect_timeout: s that it may take to accept a connection.
        api_key: Sent as `Authorization: Api-Key ...`.
    """

    def __init__(
        self,
        address: str,
        *,
        preset: str | None = None,
        timeout: float = 30.0,
        connect_timeout: float = 10.0,
        api_key: str | None = None,
    ) -> None:
        for name, value in (("timeout", timeout), ("connect_timeout", connect_timeout)):
            if not value > 0:
                raise InputError(f"{name} of a policy server, s", value=value, allowed="> 0")
        self.address, self.timeout, self.connect_timeout = address, timeout, connect_timeout
        self._headers = {"Authorization": f"Api-Key {api_key}"} if api_key else None
        self._connection: Any = None
        self.metadata: dict[str, Any] = {}
        self._connect()
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
        answer = self._ask(self.preset.request(observation))
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
            self._ask(self.preset.reset_message, text=True)

    def close(self) -> None:
        """End the connection."""
        if self._connection is not None:
            self._connection.close()
            self._connection = None

    def _ask(self, message: Mapping[str, Any], *, text: bool = False) -> Any:
        """The answer to a message; `text` if the protocol answers it in words."""
        from websockets.exceptions import ConnectionClosed

        data, answer = pack_message(message), b""
        for attempt in range(2):
            if self._connection is None:
                self._connect()
            connection: Any = self._connection
            try:
                connection.send(data)
                answer = connection.recv(timeout=self.timeout)
                break
            except TimeoutError:
                self.close()
                raise PolicyError(
                    "timeout", f"{self.address} did not answer within {self.timeout:g} s"
                ) from None
            except (ConnectionClosed, OSError) as error:
                self.close()
                if attempt:
                    raise PolicyError(
                        "disconnected", f"{self.address} closed the connection twice: {error}"
                    ) from None
        if isinstance(answer, str):
            if text:
                return answer
            self.close()
            last = answer.strip().splitlines()[-1:] or ["no message"]
            raise PolicyError("error", f"the policy at {self.address} failed: {last[0]}")
        try:
            return unpack_message(answer)
        except InputError as error:
            raise PolicyError("error", f"the answer of {self.address}: {error}") from None

    def _connect(self) -> None:
        """Open the connection and read the metadata, trying until `connect_timeout` is over."""
        client: Any = require(
            "websockets.sync.client", extra="policies", purpose="speaking with policy servers"
        )
        from websockets.exceptions import InvalidHandshake, InvalidURI, WebSocketException

        end = time.monotonic() + self.connect_timeout
        while True:
            left = max(end - time.monotonic(), _RETRY)
            try:
                self._connection = client.connect(
                    self.address,
                    compression=None,
                    max_size=None,
                    additional_headers=self._headers,
                    open_timeout=left,
                    proxy=None,
                )
                metadata = unpack_message(self._connection.recv(timeout=left))
                break
            except InvalidURI as error:
                raise InputError(
                    f"this is not the address of a policy server: {error}",
                    value=self.address,
                    allowed="ws://host:port",
                ) from None
            except InvalidHandshake as error:
                raise PolicyError(
                    "refused", f"{self.address} refused the connection: {error}"
                ) from None
            except (OSError, WebSocketException) as error:
                self.close()
                if time.monotonic() + _RETRY > end:
                    raise PolicyError(
                        "disconnected",
                        f"there is no policy server at {self.address}: {error}",
                        hint="start one, e.g. kin4d serve-policy --policy expert --port 8000",
                    ) from None
            time.sleep(_RETRY)
        self.metadata = metadata if isinstance(metadata, dict) else {}
