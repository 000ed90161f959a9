"""PolicyServer: any policy over the openpi websocket protocol."""

from __future__ import annotations

import http
import threading
import time
import traceback
from types import TracebackType
from typing import Any

import numpy as np

import kin4d
from kin4d.errors import InputError
from kin4d.extras import require
from kin4d.policies.array_messages import pack_message, unpack_message
from kin4d.policies.policy import Policy, policy_control


class PolicyServer:
    """Answers observations with a policy's actions.

    On connection it sends its metadata, then one answer for each message. An exception is sent as
    text and ends the connection (code 1011). `GET /healthz` answers OK.

    Args:
        policy: The policy; it is called by one connection at a time.
        host: Address to listen on.
        port: Port; 0 takes a free one, see `PolicyServer.port`.
        api_key: If given, connections without it are refused.
        metadata: Sent besides our own.
    """

    def __init__(
        self,
        policy: Policy,
        *,
        host: str = "127.0.0.1",
        port: int = 8000,
        api_key: str | None = None,
        metadata: dict[str, Any] | None = None,
    ) -> None:
        sync: Any = require("websockets.sync.server", extra="policies", purpose="serving a policy")
        self.policy, self._lock = policy, threading.Lock()
        self._connections: set[Any] = set()
        self._key = None if api_key is None else f"Api-Key {api_key}"
        self.metadata = {
            "kin4d": kin4d.__version__,
            "preset": "kin4d",
            "control": policy_control(policy),
            **(metadata or {}),
        }
        try:
            self._server = sync.serve(
                self._answer_all,
                host,
                port,
                compression=None,
                max_size=None,
                process_request=self._check_request,
            )
        except (OSError, OverflowError) as error:
            raise InputError(
                f"cannot listen on {host}:{port}: {error}",
                hint="another program may use the port; choose another with --port",
            ) from error
        self.host, self.port = host, int(self._server.socket.getsockname()[1])
        self._thread: threading.Thread | None = None

    @property
    def address(self) -> str:
        """For `WebsocketPolicy`."""
        return f"ws://{self.host}:{self.port}"

    def serve_forever(self) -> None:
        """Answer until `close` is called, or Ctrl-C."""
        self._server.serve_forever()

    def close(self) -> None:
        """Stop listening and end all connections."""
        self._server.shutdown()
        for connection in list(self._connections):
            connection.close(1001, "the server is going away")

    def __enter__(self) -> PolicyServer:
        """Answer in a thread of its own."""
        self._thread = threading.Thread(target=self.serve_forever, daemon=True)
        self._thread.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()
        if self._thread is not None:
            self._thread.join(timeout=5)

    def _check_request(self, connection: Any, request: Any) -> Any:
        if request.path == "/healthz":
            return connection.respond(http.HTTPStatus.OK, "OK\n")
        if self._key is not None and request.headers.get("Authorization") != self._key:
            return connection.respond(http.HTTPStatus.UNAUTHORIZED, "a valid API key is needed\n")
        return None

    def _answer_all(self, connection: Any) -> None:
        from websockets.exceptions import ConnectionClosed

        self._connections.add(connection)
        try:
            connection.send(pack_message(self.metadata))
            for data in connection:
                try:
                    answer = self._answer(data)
                except Exception:
                    # Whatever the policy raises is for its caller to read.
                    connection.send(traceback.format_exc())
                    connection.close(1011, "the policy failed")
                    return
                connection.send(answer)
        except ConnectionClosed:
            return
        finally:
            self._connections.discard(connection)

    def _answer(self, data: bytes | str) -> bytes:
        if isinstance(data, str):
            raise InputError("a request is a binary frame", value=data[:40])
        observation = unpack_message(data)
        start = time.perf_counter()
        with self._lock:
            actions = np.asarray(self.policy(observation))
        taken = 1e3 * (time.perf_counter() - start)
        return pack_message({"actions": actions, "server_timing": {"infer_ms": taken}})
