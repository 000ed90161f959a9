"""MessageClient: a connection to a server of the openpi protocol, with time-outs and reconnects."""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import Any

from kin4d.errors import InputError
from kin4d.extras import require
from kin4d.policies.array_messages import pack_message, unpack_message
from kin4d.policies.policy import EpisodeError

_RETRY = 0.2  # s between attempts to connect


class MessageClient:
    """Sends messages to a server and returns its answers.

    After a time-out the connection is dropped, so that a late answer is never taken for the next.

    Args:
        address: "ws://host:port".
        error: Class of what is raised.
        serves: What the server is there for: "policy".
        start: Command that starts one.
        attempts: How often a request is sent if the connection is lost: 1 if the server keeps a
            state that is lost with it.
        timeout: s that the server may take for an answer.
        connect_timeout: s that it may take to accept a connection.
        api_key: Sent as `Authorization: Api-Key ...`.

    Attributes:
        metadata: What the server says about itself.
    """

    def __init__(
        self,
        address: str,
        *,
        error: type[EpisodeError],
        serves: str,
        start: str,
        attempts: int,
        timeout: float = 30.0,
        connect_timeout: float = 10.0,
        api_key: str | None = None,
    ) -> None:
        for name, value in (("timeout", timeout), ("connect_timeout", connect_timeout)):
            if not value > 0:
                raise InputError(f"{name} of a {serves} server, s", value=value, allowed="> 0")
        self.address, self.timeout, self.connect_timeout = address, timeout, connect_timeout
        self._error, self._serves, self._start, self._attempts = error, serves, start, attempts
        self._headers = {"Authorization": f"Api-Key {api_key}"} if api_key else None
        self._connection: Any = None
        self.metadata: dict[str, Any] = {}
        self.connect()

    @property
    def is_connected(self) -> bool:
        """Whether a connection is open, as far as is known."""
        return self._connection is not None

    def close(self) -> None:
        """End the connection."""
        if self._connection is not None:
            self._connection.close()
            self._connection = None

    def ask(self, message: Mapping[str, Any], *, text: bool = False) -> Any:
        """The answer to a message; `text` if the protocol answers it in words."""
        from websockets.exceptions import ConnectionClosed

        data, answer = pack_message(message), b""
        for attempt in range(1, self._attempts + 1):
            if self._connection is None:
                self.connect()
            connection: Any = self._connection
            try:
                connection.send(data)
                answer = connection.recv(timeout=self.timeout)
                break
            except TimeoutError:
                self.close()
                raise self._error(
                    "timeout", f"{self.address} did not answer within {self.timeout:g} s"
                ) from None
            except (ConnectionClosed, OSError) as error:
                self.close()
                if attempt == self._attempts:
                    often = " twice" if attempt > 1 else ""
                    raise self._error(
                        "disconnected", f"{self.address} closed the connection{often}: {error}"
                    ) from None
        if isinstance(answer, str):
            if text:
                return answer
            self.close()
            last = answer.strip().splitlines()[-1:] or ["no message"]
            raise self._error("error", f"the {self._serves} at {self.address} failed: {last[0]}")
        try:
            return unpack_message(answer)
        except InputError as error:
            raise self._error("error", f"the answer of {self.address}: {error}") from None

    def connect(self) -> None:
        """Open the connection and read the metadata, trying until `connect_timeout` is over."""
        client: Any = require(
            "websockets.sync.client",
            extra="policies",
            purpose=f"speaking with {self._serves} servers",
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
                    f"this is not the address of a server: {error}",
                    value=self.address,
                    allowed="ws://host:port",
                ) from None
            except InvalidHandshake as error:
                raise self._error(
                    "refused", f"{self.address} refused the connection: {error}"
                ) from None
            except (OSError, WebSocketException) as error:
                self.close()
                if time.monotonic() + _RETRY > end:
                    raise self._error(
                        "disconnected",
                        f"there is no {self._serves} server at {self.address}: {error}",
                        hint=f"start one, e.g. {self._start}",
                    ) from None
            time.sleep(_RETRY)
        self.metadata = metadata if isinstance(metadata, dict) else {}
